"""Recipes of every kind, and the run of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoders.training.matching.recipe import KIND, MatcherRecipe, parse_matcher_recipe
from encoders.training.recipe import Recipe, parse_recipe, read_recipe
from encoders.training.run_folder import Log


def load_any_recipe(source: Path | str, changes: Sequence[str] = ()) -> Recipe | MatcherRecipe:
    """A recipe by path or name, of whichever kind it says. Raises as `encoders.training.recipe.read_recipe` does."""
    values, name = read_recipe(source, changes)
    return (parse_matcher_recipe if values.get("kind") == KIND else parse_recipe)(values, name)


def start_run(
    recipe: Recipe | MatcherRecipe,
    data: Path,
    out: Path,
    evaluated: Path | None = None,
    watch: Log | None = None,
    unknown_ancestry: bool = False,
) -> dict[str, Any]:
    """Train by a recipe of any kind, with the packages that its run needs; returns the report."""
    if isinstance(recipe, MatcherRecipe):  # it starts from no model, so there is no ancestry to allow
        from encoders.training.runs.matcher import train_matcher

        return train_matcher(recipe, data, out, evaluated, watch)
    from encoders.training.runs.train import train

    return train(recipe, data, out, evaluated=evaluated, watch=watch, unknown_ancestry=unknown_ancestry)
