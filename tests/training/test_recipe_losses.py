"""A recipe's loss is its paper's formula on the model's own scores, computed here pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import BI, CROSS, write_base, write_pairs  # noqa: E402

from encoders.training.architectures.checkpoint import Checkpoint  # noqa: E402
from encoders.training.architectures.scoring import compute_logits, score_all, score_pairs  # noqa: E402
from encoders.training.data.batches import Example, load_pairs, plan_batches  # noqa: E402
from encoders.training.objectives.losses import Objective  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
TOWERS = replace(BI, pooling="cls", similarity="dot", temperature=0.5, objective="whole-batch", negatives=0)
RECIPES = {
    "CAPR's bi-encoder": TOWERS,
    "CAPR's poly-encoder": replace(TOWERS, kind="poly-encoder"),
    "CAPR's cross-encoder": replace(CROSS, objective="whole-batch", negatives=0),
    "contrastive": replace(BI, temperature=0.5),
    "RADIOLOGY's triplets": replace(BI, objective="triplet", margin=0.9),
    "CLAIMS' two classes": replace(CROSS, objective="two-class-pairs", negatives=2),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("losses")
    write_base(home / "bert", initializer_range=0.3)
    write_pairs(home / "pairs")
    return home


def unlikelihood(row: Sequence[float], right: int) -> float:
    """-log of the softmax's value at `right`."""
    return math.log(sum(map(math.exp, row))) - row[right]


def score_rows(ready: Checkpoint, recipe: Recipe, batch: Sequence[Example]) -> tuple[list[list[float]], list[str]]:
    """The scores of each query with all passages of the batch, all first ones before all second ones, and their names."""
    most = max(len(item.texts) for item in batch)
    passages = [item.texts[at] for at in range(most) for item in batch]
    queries = [item.query for item in batch]
    if recipe.kind == "cross-encoder":
        rows: Any = torch.stack(
            [score_pairs(ready.model, ready.tokenizer, [query] * len(passages), passages, recipe) for query in queries]
        )
    else:
        rows = score_all(ready.model, ready.tokenizer, queries, passages, recipe)
    return rows.tolist(), [item.ids[at] for at in range(most) for item in batch]


def by_hand(ready: Checkpoint, recipe: Recipe, batch: Sequence[Example]) -> float:
    if recipe.objective == "two-class-pairs":
        queries, texts = [item.query for item in batch], [item.texts[0] for item in batch]
        logits = compute_logits(ready.model, ready.tokenizer, queries, texts, recipe).tolist()
        classes = [int(item.ids[0] in item.relevant) for item in batch]
        return sum(map(unlikelihood, logits, classes)) / len(batch)
    rows, names = score_rows(ready, recipe, batch)
    losses = []
    for own, (item, row) in enumerate(zip(batch, rows, strict=True)):
        wrong = [score for at, score in enumerate(row) if at != own and names[at] not in item.relevant]
        if recipe.objective == "triplet":  # the margin to the nearest wrong passage (R4)
            losses.append(max(0.0, max(wrong) - row[own] + recipe.margin))
            continue
        others = [score for at, score in enumerate(row) if at != own] if recipe.objective == "whole-batch" else wrong
        temperature = 1.0 if recipe.kind == "cross-encoder" else recipe.temperature
        losses.append(unlikelihood([score / temperature for score in (row[own], *others)], 0))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("name", RECIPES)
def test_the_loss_is_the_formula_on_the_models_scores(home: Path, name: str) -> None:
    recipe = replace(RECIPES[name], base=str(home / "bert"), dropout=0.0, batch=6)
    batch = list(plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)[0])
    if recipe.objective != "two-class-pairs":  # another pair's answer is right for the first query, too
        batch[0] = replace(batch[0], relevant=batch[0].relevant | {batch[3].ids[0]})
    torch.manual_seed(0)
    ready = load_initial(recipe)
    ready.model.eval()
    with torch.inference_mode():
        found = float(Objective(ready.model, ready.tokenizer, recipe).loss(batch))
        assert found == pytest.approx(by_hand(ready, recipe, batch), rel=1e-4)
    assert found > 0
