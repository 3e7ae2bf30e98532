"""What a run was: settings, data, versions and figures, in `record.json` of its folder."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

import orjson

from encoders.training.recipe import Recipe

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "onnx", "onnxruntime")
RECORD = "record.json"
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class Record:
    """The record of a run in `folder`, written at its begin, and when it ends or is refused."""

    folder: Path
    recipe: Recipe
    data: Mapping[str, str]
    device: str
    began: float = field(default_factory=monotonic)

    def write(self, status: str, figures: Mapping[str, Any] = NOTHING) -> None:
        """Write the record. `status` is running, finished or failed; `figures` may be the cause of a failure, too.

        `seconds` are those since this process began the run, which may have been resumed.
        """
        content = {
            "status": status,
            "recipe": self.recipe.as_json(),
            "data": dict(self.data),
            "revision": revision(),
            "python": platform.python_version(),
            "packages": versions(),
            "device": self.device,
            "seconds": round(monotonic() - self.began, 1),
            **figures,
        }
        aside = self.folder / f"{RECORD}.partial"
        aside.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        aside.replace(self.folder / RECORD)


def hashes(folder: Path, recipe: Recipe) -> dict[str, str]:
    """The SHA-256 of each task's file of pairs, by its name; files that are not there are for the reader to name."""
    found = {}
    for task in recipe.tasks:
        path = folder / f"{task}.jsonl"
        if path.is_file():
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def versions() -> dict[str, str]:
    """The versions of the packages that decide what a step computes."""
    return {name: metadata.version(name) for name in PACKAGES if _installed(name)}


def revision() -> str | None:
    """The commit of this code, with "+" where files differ from it; None outside of its repository."""
    git = shutil.which("git")
    if git is None or _git(git, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    head, changed = _git(git, "rev-parse", "HEAD"), _git(git, "status", "--porcelain", "--untracked-files=no")
    return head + ("+" if changed else "") if head else None


def _git(git: str, *arguments: str) -> str | None:
    """What git says in this file's folder; None where it fails, as outside of a repository."""
    done = subprocess.run(  # noqa: S603 - the arguments are this file's own
        [git, "-C", str(Path(__file__).parent), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
