"""What a run needs to go on exactly: weights, optimiser, random numbers and the early stop, and whose they are."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from encoders.training.recipe import Recipe
from mappings.errors import Conflict

STATE, BEST = "state.pt", "best.pt"
RESULTS = ("report.json", "checkpoint")
"""What a finished run leaves, and a begun one does not have."""
_DAMAGES = (RuntimeError, OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, pickle.UnpicklingError)
"""What torch raises for a file that is cut off, or that is none of its own."""
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

    Raises `Conflict` that names what is not as it was: a setting, an input, or the file itself, which is damaged.
    """
    path = run / STATE
    if not path.is_file():
        return None
    state = _read(path)
    _compare(path, state.get("whose"), whose)
    try:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available() and state["device_rng"]:
            torch.cuda.set_rng_state_all(state["device_rng"])
    except _DAMAGES as error:
        raise _damaged(path, error) from None
    return {name: value for name, value in state.items() if isinstance(value, int | float)}


def check(run: Path, whose: Mapping[str, Any]) -> None:
    """Raise `Conflict` as `restore` does, before anything of the run is touched; so for a finished run without a state."""
    path = run / STATE
    if path.is_file():
        _compare(path, _read(path, mapped=True).get("whose"), whose)
    elif any((run / name).exists() for name in RESULTS):
        raise Conflict(f"{run} holds a finished run, without its {STATE}: train into another folder", field="OUT")


def begun_in(run: Path) -> str:
    """The precision that the run's state was computed in, so that one of `auto` goes on as it began; "" where none is."""
    path = run / STATE
    whose = (_read(path, mapped=True).get("whose") if path.is_file() else None) or {}
    return str(whose.get("recipe", {}).get("precision", ""))


def keep_best(run: Path, model: Any) -> None:
    """Keep the weights as the best so far."""
    _write(run / BEST, model.state_dict())


def restore_best(run: Path, model: Any) -> None:
    """Put the best weights back. Raises `Conflict` where they are damaged or gone."""
    path = run / BEST
    try:
        model.load_state_dict(_read(path))
    except FileNotFoundError:
        raise Conflict(f"{path} is gone: restore it from a copy, or train into another folder", field="OUT") from None
    except _DAMAGES as error:
        raise _damaged(path, error) from None


def _read(path: Path, mapped: bool = False) -> dict[str, Any]:
    """What was kept, on the processor; `mapped` reads the weights when they are asked for. Raises `Conflict`."""
    try:
        found = torch.load(path, weights_only=True, mmap=mapped, map_location="cpu")
    except FileNotFoundError:
        raise
    except _DAMAGES as error:
        raise _damaged(path, error) from None
    whose = found.get("whose") if isinstance(found, dict) else ""
    if whose is not None and not (isinstance(whose, dict) and {"recipe", "inputs"} <= whose.keys()):
        raise _damaged(path, "it holds something else")
    return dict(found)


def _damaged(path: Path, cause: object) -> Conflict:
    said = (str(cause).splitlines() or [""])[0]
    anew = "remove it to begin anew" if path.name == STATE else "train into another folder"
    return Conflict(f"{path} is damaged{f' ({said})' * bool(said)}: {anew}, or restore it from a copy", field=path.name)


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
