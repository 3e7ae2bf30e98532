"""The counts of labelling, in a `counts.json` beside the pairs; a model's card repeats them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

LICENCES: Final = {
    "scifact": "claims CC BY 4.0, abstracts ODC-By",
    "check-covid": "repository MIT, data unstated",
    "press": "unstated",
    "title": "abstracts by record",
    "conclusion": "abstracts by record, SciFact's ODC-By",
    "headline": "abstracts by record, SciFact's ODC-By, names and words by this project",
    "pubmedqa": "MIT",
    "trial": "annotations MIT, articles by record",
    "question": "CC BY 4.0",
    "slots": "CC BY 4.0",
    "note": "CC0",
    "entity-aspect": "articles and dialogues CC BY 4.0, notes CC0",
    "finding": "unstated (Open-i)",
    "substituted": "unstated (Open-i), names by this project",
    "citation": "unstated (repository MIT)",
    "verified": "unstated",
    "expert": "CC BY 2.5 (BioASQ)",
    "entailed": "unstated",
    "summary": "several, some under copyright (Cochrane)",
    "lay-sentence": "several, some under copyright (Cochrane)",
    "definition": "several, some unstated",
    "lay-name": "several, some unstated",
    "polarity": "made by this project, Apache-2.0",
    "stance-scifact": "claims CC BY 4.0, abstracts ODC-By",
    "stance-check-covid": "repository MIT, data unstated",
    "stance-citation": "unstated (repository MIT)",
    "stance-healthver": "unstated",
    "stance-covid-fact": "unstated",
    "stance-trial": "annotations MIT, articles by record",
    "stance-pubmedqa": "MIT",
    "stance-experts": "CC BY 2.5 (BioASQ)",
}
"""Task -> the licence of the data that it comes from, as the publishers state it."""

Counts = dict[str, Any]
"""Pairs and corpora by name, what was dropped and why, and what a task adds."""


def join_counts(out: Path, counts: Counts, known: Mapping[str, str] = LICENCES) -> Counts:
    """Add the counts to `OUT/counts.json`, which keeps those of other tasks, as `OUT` keeps their pairs.

    Returns the counts with the licences of their tasks' data, which are `known`.
    """
    file = out / "counts.json"
    written = orjson.loads(file.read_bytes()) if file.is_file() else {}
    licences = {task: known[task] for task in counts["pairs"] if task in known}
    counts = {**counts, "licences": licences}
    for name, found in counts.items():
        written[name] = {**written.get(name, {}), **found} if isinstance(found, dict) else found
    out.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(written, option=orjson.OPT_INDENT_2))
    return counts
