"""The recipes of the papers have the papers' settings; what a processor's time made smaller is said in the recipe's file."""

from __future__ import annotations

from typing import Any, Final

import pytest

from encoders.training.kinds import load_any_recipe

CLAIMS: Final = {
    "kind": "cross-encoder",
    "objective": "two-class-pairs",
    "choose": "first",
    "varied": "pair",
    "batch": 24,
}
CAPR: Final = {"objective": "whole-batch", "negatives": 0, "epochs": 50, "batch": 32}
TOWERS: Final = {**CAPR, "pooling": "cls", "similarity": "dot", "temperature": 1.0, "markers": "tokens"}
LONG: Final = {**TOWERS, "batch": 8, "windows": "surroundings", "positions": 4096, "attention_window": 512}
CDV: Final = {"hidden": 512, "discourse": 256, "dimension": 128, "batch": 16, "learning_rate": 1e-3, "decay": 0.975}
RECIPES: Final[dict[str, dict[str, Any]]] = {
    "claims-cross-0-1": {**CLAIMS, "variants": 0, "negatives": 1},
    "claims-cross-4-10": {**CLAIMS, "variants": 4, "negatives": 10},
    "claims-cross-20-50": {**CLAIMS, "variants": 20, "negatives": 50},
    "capr-bi": {**TOWERS, "kind": "bi-encoder", "towers": "separate"},
    "capr-bi-shared": {**TOWERS, "kind": "bi-encoder", "towers": "shared"},
    "capr-poly": {**TOWERS, "kind": "poly-encoder", "towers": "separate"},
    "capr-cross": {**CAPR, "kind": "cross-encoder"},
    "capr-longformer-bi": {**LONG, "kind": "bi-encoder", "towers": "separate"},
    "capr-longformer-poly": {**LONG, "kind": "poly-encoder", "towers": "separate"},
    "cdv-fasttext": {**CDV, "sentences": "words", "epochs": 14},
    "cdv-pooled": {**CDV, "sentences": "pooled", "fine_tune_epochs": 0},
    "cdv-finetuned": {**CDV, "sentences": "pooled", "fine_tune_epochs": 1},
    "radiology-triplet": {
        "kind": "bi-encoder",
        "objective": "triplet",
        "pooling": "mean",
        "similarity": "cosine",
        "margin": 0.5,
        "batch": 128,
        "negatives": 0,
        "learning_rate": 2e-5,
        "weight_decay": 0.01,
        "epochs": 10,
    },
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_its_papers_settings(name: str) -> None:
    found = load_any_recipe(name).as_json()
    assert {key: found[key] for key in RECIPES[name]} == RECIPES[name]


def test_the_fine_tuned_recipe_adds_its_second_step_and_nothing_else() -> None:
    first, both = (load_any_recipe(name).as_json() for name in ("cdv-pooled", "cdv-finetuned"))
    changed = {key for key in both if both[key] != first[key]} - {"name"}
    assert changed
    assert all(key.startswith("fine_tune_") for key in changed)
