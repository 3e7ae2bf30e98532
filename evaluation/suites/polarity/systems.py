"""What scores a text for a question in the suite `polarity`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evaluation.baselines import lexical
from evaluation.measures import Values
from mappings import collection as kinds
from search.bootstrap import Medley
from search.protocols import Encoder

COLLECTION, NOTES = "reports", "notes"
BM25, UNMARKED, DENSE, DENSE_OF_NOTES, BASELINE = "bm25", "dense, unmarked", "dense", "dense of notes", "baseline"

PairScoring = Callable[[Sequence[str], Sequence[str]], Values]
"""Questions and as many texts -> the score of each text for its question, shape (n,)."""


class PairSystem(NamedTuple):
    """What scores texts, and the fingerprint of its encoder, if it has one."""

    name: str
    scoring: PairScoring
    fingerprint: str = ""


def build_systems(medley: Medley, baseline: str) -> Iterator[PairSystem]:
    """BM25, vectors without marking, as the kinds `reports` and `notes` mark them, and those of the encoder `baseline`.

    Raises as `Models` does.
    """
    reports, notes = (kinds.load(name, None, medley.settings.collections) for name in (COLLECTION, NOTES))
    yield PairSystem(BM25, score_words)
    for name, kind in ((UNMARKED, replace(reports, marking=None)), (DENSE, reports), (DENSE_OF_NOTES, notes)):
        for encoder in list(medley.models.encoders(kind).values())[:1]:
            yield _by_vectors(name, encoder)
    if baseline:
        yield _by_vectors(BASELINE, medley.models.encoder(baseline))


def score_words(questions: Sequence[str], texts: Sequence[str]) -> Values:
    """BM25 of each text, as one of `texts`, for its question."""
    score = lexical.bm25(list(texts))
    return np.array([float(score(question)[place]) for place, question in enumerate(questions)])


def _by_vectors(name: str, encoder: Encoder) -> PairSystem:
    def score(questions: Sequence[str], texts: Sequence[str]) -> Values:
        rows = encoder.encode_queries(list(questions)) * encoder.encode_passages(list(texts))
        scores: Values = rows.sum(axis=1, dtype=np.float64)
        return scores

    return PairSystem(name, score, encoder.fingerprint)
