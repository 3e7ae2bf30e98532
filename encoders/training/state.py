"""What a run needs to go on exactly: weights, optimiser, random numbers and the early stop, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from encoders.training.recipe import Recipe
from mappings.errors import Conflict

STATE, BEST = "state.pt", "best.pt"
FREE = ("name", "save_every")
"""Settings that may change between a run and its resumption: no weight depends on them, as it does on `threads`, by
which sums are split."""


def identity(recipe: Recipe, inputs: Mapping[str, str]) -> dict[str, Any]:
    """What a state belongs to: the settings, and the inputs by hash: each file of pairs, the base, the teacher."""
    settings = {name: value for name, value in recipe.as_json().items() if name not in FREE}
    return {"recipe": settings, "inputs": dict(inputs)}


def keep(run: Path, model: Any, optimiser: Any, progress: Mapping[str, Any], whose: Mapping[str, Any]) -> None:
    """Write the state aside, then put it in the place of the last one: a kill leaves one or the other, whole.

    `progress` is what the loop counts: the step, and how its early stop stands.
    """
    state = {
        **progress,
        "whose": whose,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "rng": torch.get_rng_state(),
        "device_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    _write(run / STATE, state)


def restore(run: Path, model: Any, optimiser: Any, whose: Mapping[str, Any]) -> dict[str, Any] | None:
    """Put the last state back; what the loop had counted, or None for a run that begins.

    Raises `Conflict` that names what is not as it was: a setting, or an input.
    """
    path = run / STATE
    if not path.is_file():
        return None
    state = torch.load(path, weights_only=True, map_location=model.device)
    _compare(path, state.get("whose"), whose)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    torch.set_rng_state(state["rng"].cpu())
    if torch.cuda.is_available() and state["device_rng"]:
        torch.cuda.set_rng_state_all([item.cpu() for item in state["device_rng"]])
    return {name: value for name, value in state.items() if isinstance(value, int | float)}


def check(run: Path, whose: Mapping[str, Any]) -> None:
    """Raise `Conflict` as `restore` does, before anything of the run is touched."""
    path = run / STATE
    if path.is_file():
        _compare(path, _owner(path), whose)


def begun_in(run: Path) -> str:
    """The precision that the run's state was computed in, so that one of `auto` goes on as it began; "" where none is."""
    path = run / STATE
    whose = (_owner(path) if path.is_file() else None) or {}
    return str(whose.get("recipe", {}).get("precision", ""))


def _owner(path: Path) -> Any:
    """Whose a state is, without its weights; None where it does not say."""
    return torch.load(path, weights_only=True, mmap=True, map_location="cpu").get("whose")


def keep_best(run: Path, model: Any) -> None:
    """Keep the weights as the best so far."""
    _write(run / BEST, model.state_dict())


def restore_best(run: Path, model: Any) -> None:
    """Put the best weights back."""
    model.load_state_dict(torch.load(run / BEST, weights_only=True, map_location=model.device))


def _write(path: Path, content: Any) -> None:
    aside = path.with_suffix(".partial")
    torch.save(content, aside)
    aside.replace(path)


def _compare(path: Path, had: Any, whose: Mapping[str, Any]) -> None:
    if had is None:
        raise Conflict(f"{path} is of an older version: train into another folder", field="run")
    for part, what in (("recipe", "the recipe's setting"), ("inputs", "the input")):
        for name in sorted({*had[part], *whose[part]}):
            before, now = had[part].get(name), whose[part].get(name)
            if before != now:
                raise Conflict(
                    f"{path} was trained with other input: {what} {name!r} was {before!r} and is {now!r};"
                    " give it back as it was, or train into another folder",
                    field=name,
                )
