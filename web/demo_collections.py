"""The demo: which collections it fills, from which files. Its documents are invented, and stay apart from all others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "demo"
"""Documents of a kind in `<kind>.jsonl`, and example queries."""

QUERIES: Final = FOLDER / "queries.json"
_PREFIX: Final = "demo-"


def demo_name(kind: str) -> str:
    """The name of the demo's collection of a kind."""
    return f"{_PREFIX}{kind}"


def demo_files() -> Mapping[str, Path]:
    """The file of each of the demo's collections, by name; its stem is the kind."""
    return {demo_name(path.stem): path for path in sorted(FOLDER.glob("*.jsonl"))}
