"""The papers' lexical rows: TF-IDF, and rank-bm25's BM25Okapi and BM25Plus, plain and prepared (CLAIMS L1, L2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.baselines.prepared import TfIdf, expansions_for, plain_tokens, prepared_tokens
from evaluation.measures import Run, Values, ordered
from evaluation.task import Task
from mappings.errors import Unavailable

TF_IDF: Final = "TF-IDF"
BM25: Final = "BM25"
BM25_PLUS: Final = "BM25+"
PREPARED: Final = "BM25+†"
"""With CLAIMS' preprocessing: lowercase, no function words, stems, abbreviations expanded."""
SYSTEMS: Final = (TF_IDF, BM25, BM25_PLUS, PREPARED)
PREPARED_MODEL: Final = "BM25Plus"
"""What scores the prepared words: a class of rank-bm25."""
LEAST_DEPTH: Final = 100
_KEPT_TERMS: Final = 256

Tokens = Callable[[str], list[str]]


class LexicalModel(Protocol):
    """Scores of all texts for a query's tokens, shape (texts,)."""

    def get_scores(self, words: Sequence[str]) -> Values:
        """A score for each text."""
        ...


def rank(task: Task, chosen: Mapping[str, frozenset[str]] | None = None) -> dict[str, Run]:
    """System → question → document ids, best first; within `chosen` where the protocol has candidates."""
    names, texts = [], []
    for document in task.corpus.documents():
        names.append(document.id)
        texts.append(" ".join([document.title, *(item.text for item in document.sections)]))
    questions = [question.words for question in task.questions]
    prepared = partial(prepared_tokens, expansions=expansions_for([*texts, *questions]))
    plain = [plain_tokens(text) for text in texts]
    found: dict[str, Run] = {}
    found[TF_IDF] = _run(task, names, TfIdf(plain), plain_tokens, chosen)
    found[BM25] = _run(task, names, AdditiveModel("BM25Okapi", plain), plain_tokens, chosen)
    found[BM25_PLUS] = _run(task, names, AdditiveModel("BM25Plus", plain), plain_tokens, chosen)
    model = AdditiveModel(PREPARED_MODEL, [prepared(text) for text in texts])
    found[PREPARED] = _run(task, names, model, prepared, chosen)
    return found


class AdditiveModel:
    """A model of rank-bm25, but faster: the same scores, computed only for texts that have the token.

    Its score is a sum over tokens, and a token adds the same number to every text that lacks it. A token's part is cached,
    because questions share words.
    """

    def __init__(self, name: str, texts: Sequence[Sequence[str]]) -> None:
        self._model, self._size = _model(name, texts), len(texts)
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(texts):
            for word in dict.fromkeys(words):
                self._holding[word].append(number)
        self._part = lru_cache(_KEPT_TERMS)(self._part_of)

    def get_scores(self, words: Sequence[str]) -> Values:
        """The same as the model's own, shape (texts,)."""
        found = np.zeros(self._size)
        for word in words:
            found += self._part(word)
        return found

    def _part_of(self, word: str) -> Values:
        holding = self._holding.get(word, [])
        found = np.zeros(self._size)
        if holding and len(holding) < self._size:
            other = next(number for number in range(self._size) if number >= len(holding) or holding[number] != number)
            found[:] = self._model.get_batch_scores([word], [other])[0]
        if holding:
            found[holding] = self._model.get_batch_scores([word], holding)
        return found


def _model(name: str, texts: Sequence[Sequence[str]]) -> Any:
    try:
        import rank_bm25
    except ModuleNotFoundError as error:
        raise Unavailable("the reference rows need rank-bm25: pip install -e '.[eval]'", field="eval") from error
    return getattr(rank_bm25, name)(texts)


def _run(
    task: Task, names: Sequence[str], model: LexicalModel, tokens: Tokens, chosen: Mapping[str, frozenset[str]] | None
) -> Run:
    run = {}
    depth = max(task.depth, LEAST_DEPTH)
    for question in task.questions:
        scores = model.get_scores(tokens(question.words))
        within = chosen[question.id] if chosen else None
        found = {names[at]: float(scores[at]) for at in best_places(scores, depth if within is None else len(names))}
        run[question.id] = ordered({name: found[name] for name in (found if within is None else within)})[:depth]
    return run


def best_places(scores: Values, count: int) -> NDArray[np.int64]:
    """The positions of the `count` best scores, and of all that are equal to the last of them."""
    if count >= scores.size:
        return np.arange(scores.size)
    return np.flatnonzero(scores >= np.partition(scores, scores.size - count)[scores.size - count])
