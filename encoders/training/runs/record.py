"""The record of a run, `record.json` in its folder: settings, data, versions, status and figures."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from encoders.training.recipe import Recipe
from encoders.training.run_folder import RECORD

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "onnx", "onnxruntime")
NO_FIGURES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run was. `status` is running, finished or failed; `data` maps each pair file to its SHA-256.

    `recipe` is the recipe as JSON. `seconds` count from the last start or resumption. `figures` are the results of a
    finished run, or the `cause` of a failure; in the JSON object they are on the top level.
    """

    status: str
    recipe: Mapping[str, Any]
    data: Mapping[str, str]
    revision: str | None
    python: str
    packages: Mapping[str, str]
    device: str
    seconds: float = 0.0
    figures: Mapping[str, Any] = field(default_factory=lambda: NO_FIGURES)

    @classmethod
    def start(cls, recipe: Recipe, data: Mapping[str, str], device: str) -> RunRecord:
        """The record of a run that starts now, with this process's versions."""
        return cls("running", recipe.as_json(), data, find_revision(), platform.python_version(), versions(), device)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunRecord:
        """The record in a JSON object. Raises `KeyError` if a field is missing."""
        known = {name: content[name] for name in _FIELDS}
        return cls(**known, figures={name: content[name] for name in content if name not in known})

    def as_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {name: getattr(self, name) for name in _FIELDS} | dict(self.figures)

    def ended(self, status: str, seconds: float, figures: Mapping[str, Any]) -> RunRecord:
        """The record after the run has finished or failed."""
        return replace(self, status=status, seconds=round(seconds, 1), figures=figures)

    def write(self, folder: Path) -> None:
        """Replace the record in a run's folder atomically."""
        partial = folder / f"{RECORD}.partial"
        partial.write_bytes(orjson.dumps(self.as_json(), default=dict, option=orjson.OPT_INDENT_2))
        partial.replace(folder / RECORD)


_FIELDS = ("status", "recipe", "data", "revision", "python", "packages", "device", "seconds")


def hash_pairs(folder: Path, recipe: Recipe, further: Sequence[str] = ()) -> dict[str, str]:
    """The SHA-256 of each task's pair file and of the `further` files, by name. Missing ones are skipped: reading reports them."""
    found = {}
    for name in (*(f"{task}.jsonl" for task in recipe.tasks), *further):
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def versions() -> dict[str, str]:
    """The versions of the packages that affect what a step computes."""
    return {name: metadata.version(name) for name in PACKAGES if _is_installed(name)}


def find_revision() -> str | None:
    """The commit of this code, followed by "+" if files differ from it; None outside its repository."""
    git = shutil.which("git")
    if git is None or _git(git, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    head, changed = _git(git, "rev-parse", "HEAD"), _git(git, "status", "--porcelain", "--untracked-files=no")
    return head + ("+" if changed else "") if head else None


def _git(git: str, *arguments: str) -> str | None:
    """The output of git in this file's folder; None if it fails, as outside a repository."""
    done = subprocess.run(  # noqa: S603 - the arguments are constants of this file
        [git, "-C", str(Path(__file__).parent), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
