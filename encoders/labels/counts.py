"""What labelling counted, in one `counts.json` beside the pairs: a model's card repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

Counts = dict[str, Any]
"""Pairs and corpora by name, what was dropped and why, and what a way of labelling adds."""


def join_counts(out: Path, counts: Counts) -> Counts:
    """Write `OUT/counts.json`; these counts are returned. What the file holds of other tasks stays, as their pairs do."""
    file = out / "counts.json"
    written = orjson.loads(file.read_bytes()) if file.is_file() else {}
    for name, found in counts.items():
        written[name] = {**written.get(name, {}), **found} if isinstance(found, dict) else found
    out.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(written, option=orjson.OPT_INDENT_2))
    return counts
