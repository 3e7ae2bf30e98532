"""Reads the tab-separated lexicons: comment lines begin with `#` and name origin and licence."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LEXICONS: Final = Path(__file__).parent.parent / "lexicons"


def rows(name: str) -> list[tuple[str, ...]]:
    """The rows of `lexicons/<name>.tsv` in order, their columns without space around them."""
    lines = (LEXICONS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [
        tuple(column.strip() for column in line.split("\t"))
        for line in lines
        if line.strip() and not line.startswith("#")
    ]
