"""Save and restore what an exact resumption needs: weights, optimiser, random numbers and early stop.

A state records the identity of its run, the settings and inputs that the weights depend on, and is refused to any other.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from encoders.training.recipe import Recipe
from encoders.training.run_folder import CHECKPOINT, REPORT
from mappings.errors import Conflict, Unavailable

STATE, BEST = "state.pt", "best.pt"
RESULTS = (REPORT, CHECKPOINT)
"""What only a finished run has."""
_READ_ERRORS = (
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    pickle.UnpicklingError,
)
"""What torch raises for a truncated file or one of another format."""
FREE = ("name", "save_every")
"""Settings that can change before a resumption, because no weight depends on them (as on `threads`, which split sums)."""


def make_identity(recipe: Recipe, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The identity of a run: its settings and `inputs`, which name the pair files by hash, the base, teacher and prior."""
    settings = {name: value for name, value in recipe.as_json().items() if name not in FREE}
    return {"recipe": settings, "inputs": dict(inputs)}


def save_state(run: Path, model: Any, optimiser: Any, progress: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Replace the saved state atomically: a kill leaves the old or the new one complete.

    `progress` has the loop's counters: the step and the state of the early stop.
    """
    state = {
        **progress,
        "whose": identity,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "rng": torch.get_rng_state(),
        "device_rng": [torch.cuda.get_rng_state()] if torch.cuda.is_available() else [],
    }
    _write(run / STATE, state)


def restore_state(run: Path, model: Any, optimiser: Any, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """Restore the saved state and return the loop's counters; None for a new run.

    Raises `Conflict`, which names the setting or input that has changed, or the damaged file.
    """
    path = run / STATE
    if not path.is_file():
        return None
    state = _read(path)
    _compare(path, state.get("whose"), identity)
    try:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available() and state["device_rng"]:
            torch.cuda.set_rng_state(state["device_rng"][0])  # this process's GPU, whatever its number
    except _READ_ERRORS as error:
        raise _damaged(path, error) from None
    return {name: value for name, value in state.items() if isinstance(value, int | float)}


def check_state(run: Path, identity: Mapping[str, Any]) -> None:
    """Raise `Conflict` as `restore_state` does, but change nothing; also for a finished run without a state."""
    path = run / STATE
    if path.is_file():
        _compare(path, _read(path, mapped=True).get("whose"), identity)
    elif any((run / name).exists() for name in RESULTS):
        raise Conflict(f"{run} contains a finished run without its {STATE}: train into another folder", field="OUT")


def saved_precision(run: Path) -> str:
    """The precision of the saved state, so that a run with `auto` continues in it; "" if there is no state."""
    path = run / STATE
    identity = (_read(path, mapped=True).get("whose") if path.is_file() else None) or {}
    return str(identity.get("recipe", {}).get("precision", ""))


def save_best(run: Path, model: Any) -> None:
    """Save the weights as the best so far."""
    _write(run / BEST, model.state_dict())


def restore_best(run: Path, model: Any) -> None:
    """Restore the best weights. Raises `Conflict` if they are damaged or missing."""
    path = run / BEST
    try:
        model.load_state_dict(_read(path))
    except FileNotFoundError:
        raise Conflict(
            f"{path} is missing: restore it from a copy, or train into another folder", field="OUT"
        ) from None
    except _READ_ERRORS as error:
        raise _damaged(path, error) from None


def _read(path: Path, mapped: bool = False) -> dict[str, Any]:
    """The content of a saved file, on the CPU; `mapped` reads weights lazily. Raises `Conflict`."""
    try:
        found = torch.load(path, weights_only=True, mmap=mapped, map_location="cpu")
    except FileNotFoundError:
        raise
    except _READ_ERRORS as error:
        raise _damaged(path, error) from None
    identity = found.get("whose") if isinstance(found, dict) else ""
    if identity is not None and not (isinstance(identity, dict) and {"recipe", "inputs"} <= identity.keys()):
        raise _damaged(path, "it is not a training state")
    return dict(found)


def _damaged(path: Path, cause: object) -> Conflict:
    reason = (str(cause).splitlines() or [""])[0]
    remedy = "remove it to start again" if path.name == STATE else "train into another folder"
    message = f"{path} is damaged{f' ({reason})' * bool(reason)}: {remedy}, or restore it from a copy"
    return Conflict(message, field=path.name)


def _write(path: Path, content: Any) -> None:
    """Raises `Unavailable` where that fails, as on a full disk; what was there stays."""
    partial = path.with_suffix(".partial")
    try:
        torch.save(content, partial)
        partial.replace(path)
    except (OSError, RuntimeError) as error:  # torch's own writer raises the latter
        partial.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [""])[0]
        message = f"{path} can't be written ({reason}): make room; the same command then goes on from the last state"
        raise Unavailable(message, field=path.name) from error


def _compare(path: Path, saved: Any, identity: Mapping[str, Any]) -> None:
    if saved is None:
        raise Conflict(f"{path} was written by an older version: train into another folder", field="run")
    for part, what in (("recipe", "the recipe's setting"), ("inputs", "the input")):
        for name in sorted({*saved[part], *identity[part]}):
            before, now = saved[part].get(name), identity[part].get(name)
            if before != now:
                raise Conflict(
                    f"{path} was trained with other input: {what} {name!r} was {before!r} and is now {now!r};"
                    " restore it, or train into another folder",
                    field=name,
                )
