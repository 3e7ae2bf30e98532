"""The papers' BM25 rows: rank-bm25's BM25Okapi and BM25Plus on plain tokens (CLAIMS, table 2), as they come."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mappings.errors import Unavailable
from search.evaluation.measures import Run, ordered
from search.evaluation.task import Task

SYSTEMS: Final = {"rank-bm25 BM25Okapi": "BM25Okapi", "rank-bm25 BM25Plus": "BM25Plus"}
DEPTH: Final = 100


def plain_tokens(text: str) -> list[str]:
    """Lowercase runs of letters and digits; nothing is stemmed or left out."""
    return re.findall(r"\w+", text.lower())


def runs(task: Task, chosen: Mapping[str, frozenset[str]] | None = None) -> dict[str, Run]:
    """System -> question -> document ids, best first; within `chosen` where the protocol has candidates."""
    names, texts = [], []
    for document in task.corpus.documents():
        names.append(document.id)
        texts.append(plain_tokens(" ".join([document.title, *(item.text for item in document.sections)])))
    return {system: _run(task, names, _model(name, texts), chosen) for system, name in SYSTEMS.items()}


def _model(name: str, texts: Sequence[Sequence[str]]) -> Any:
    try:
        return getattr(importlib.import_module("rank_bm25"), name)(texts)
    except ModuleNotFoundError as error:
        raise Unavailable("the reference rows need rank-bm25: pip install 'medley[eval]'", field="eval") from error


def _run(task: Task, names: Sequence[str], model: Any, chosen: Mapping[str, frozenset[str]] | None) -> Run:
    run = {}
    for question in task.questions:
        text = " ".join(part for part in (question.text, question.entity, question.aspect) if part)
        scores = dict(zip(names, map(float, model.get_scores(plain_tokens(text))), strict=True))
        within = chosen[question.id] if chosen else scores.keys()
        run[question.id] = ordered({name: scores[name] for name in within})[:DEPTH]
    return run
