"""The papers' lexical rows: TF-IDF, and rank-bm25's BM25Okapi and BM25Plus, plain and prepared (CLAIMS L1, L2)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Protocol

from mappings.errors import Unavailable
from search.evaluation.lexical import TfIdf, expansions_for, plain_tokens, prepared_tokens
from search.evaluation.measures import Run, Values, ordered
from search.evaluation.task import Question, Task

TF_IDF: Final = "TF-IDF"
BM25: Final = "BM25"
BM25_PLUS: Final = "BM25+"
PREPARED: Final = "BM25+†"
"""With CLAIMS' preprocessing: lowercase, no function words, stems, abbreviations expanded."""
LEAST_DEPTH: Final = 100
_KEPT_TERMS: Final = 256

Tokens = Callable[[str], list[str]]


class Model(Protocol):
    """Scores of all texts for a query's tokens, shape (texts,)."""

    def get_scores(self, words: Sequence[str]) -> Values:
        """A score for each text."""
        ...


def runs(task: Task, chosen: Mapping[str, frozenset[str]] | None = None) -> dict[str, Run]:
    """System -> question -> document ids, best first; within `chosen` where the protocol has candidates."""
    names, texts = [], []
    for document in task.corpus.documents():
        names.append(document.id)
        texts.append(" ".join([document.title, *(item.text for item in document.sections)]))
    asked = [_asked(question) for question in task.questions]
    prepared = partial(prepared_tokens, expansions=expansions_for([*texts, *asked]))
    plain = [plain_tokens(text) for text in texts]
    found: dict[str, Run] = {}
    found[TF_IDF] = _run(task, names, TfIdf(plain), plain_tokens, chosen)
    found[BM25] = _run(task, names, _Additive(_model("BM25Okapi", plain)), plain_tokens, chosen)
    found[BM25_PLUS] = _run(task, names, _Additive(_model("BM25Plus", plain)), plain_tokens, chosen)
    model = _Additive(_model("BM25Plus", [prepared(text) for text in texts]))
    found[PREPARED] = _run(task, names, model, prepared, chosen)
    return found


class _Additive:
    """A model of rank-bm25, whose score is a sum over tokens: a token's part is kept, as questions share their words."""

    def __init__(self, model: Model) -> None:
        self._part = lru_cache(_KEPT_TERMS)(lambda word: model.get_scores([word]))

    def get_scores(self, words: Sequence[str]) -> Values:
        """The same as the model's own."""
        found: Values = sum((self._part(word) for word in words[1:]), start=self._part(words[0] if words else ""))
        return found


def _model(name: str, texts: Sequence[Sequence[str]]) -> Any:
    try:
        return getattr(importlib.import_module("rank_bm25"), name)(texts)
    except ModuleNotFoundError as error:
        raise Unavailable("the reference rows need rank-bm25: pip install 'medley[eval]'", field="eval") from error


def _asked(question: Question) -> str:
    return " ".join(part for part in (question.text, question.entity, question.aspect) if part)


def _run(
    task: Task, names: Sequence[str], model: Model, tokens: Tokens, chosen: Mapping[str, frozenset[str]] | None
) -> Run:
    run = {}
    depth = max(task.depth, LEAST_DEPTH)
    for question in task.questions:
        scores = dict(zip(names, map(float, model.get_scores(tokens(_asked(question)))), strict=True))
        within = chosen[question.id] if chosen else scores.keys()
        run[question.id] = ordered({name: scores[name] for name in within})[:depth]
    return run
