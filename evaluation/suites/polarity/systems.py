"""What scores a text for a question in the suite `polarity`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from evaluation.baselines import lexical
from evaluation.measures import Values
from mappings import collection as kinds
from mappings.clinical.reading import ConceptReader, shipped_reader
from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.engines.embedded.engine import EmbeddedEngine
from search.protocols import Encoder, LegsRequest
from search.query import Query
from search.storage import StoredDocument
from search.understanding.understand import understand
from workers.indexing.analysis import analyse

COLLECTION, NOTES = "reports", "notes"
FIELDS = "fields"
BM25, UNMARKED, DENSE, DENSE_OF_NOTES, BASELINE = "bm25", "dense, unmarked", "dense", "dense of notes", "baseline"

EVERYONE: Final = "all"

PairScoring = Callable[[Sequence[str], Sequence[str]], Values]
"""Questions and as many texts -> the score of each text for its question, shape (n,)."""


class PairSystem(NamedTuple):
    """What scores texts, and the fingerprint of its encoder, if it has one."""

    name: str
    scoring: PairScoring
    fingerprint: str = ""


def build_systems(medley: Medley, baseline: str) -> Iterator[PairSystem]:
    """What the index's fields say, BM25, vectors without marking, as `reports` and `notes` mark them, and those of `baseline`.

    Raises as `Models` does.
    """
    reports, notes = (kinds.load(name, None, medley.settings.collections) for name in (COLLECTION, NOTES))
    yield PairSystem(FIELDS, score_fields)
    yield PairSystem(BM25, score_words)
    for name, kind in ((UNMARKED, replace(reports, marking=None)), (DENSE, reports), (DENSE_OF_NOTES, notes)):
        for encoder in list(medley.models.encoders(kind).values())[:1]:
            yield _by_vectors(name, encoder)
    if baseline:
        yield _by_vectors(BASELINE, medley.models.encoder(baseline))


def score_fields(questions: Sequence[str], texts: Sequence[str]) -> Values:
    """1 where the text, as a report in an index, is among the answers to the question as criteria, otherwise 0."""
    reader = shipped_reader()
    distinct = {text: f"t{number}" for number, text in enumerate(dict.fromkeys(texts))}
    with _indexed(distinct, reader) as found:
        return np.array(
            [float(distinct[text] in found(question)) for question, text in zip(questions, texts, strict=True)]
        )


@contextmanager
def _indexed(texts: Mapping[str, str], reader: ConceptReader) -> Iterator[Callable[[str], frozenset[str]]]:
    """What finds the ids of `texts` that meet a question."""
    kind = replace(kinds.load(COLLECTION), vectors={}, marking=None)
    documents = (
        Document(name, "Report", (Section("Findings", text),), frozenset({EVERYONE})) for text, name in texts.items()
    )
    batch = [StoredDocument(item.id, 1, item) for item in documents]
    access = Access("evaluation", frozenset({EVERYONE}))
    with TemporaryDirectory() as folder:
        (Path(folder) / "collections" / kind.name).mkdir(parents=True)
        engine = EmbeddedEngine(Path(folder), lambda name: kind)
        index = engine.create(kind.name, {}, reading=reader.version).index
        with engine.writer(index) as writer:
            writer.write(analyse(batch, kind, reader).entries)
            writer.commit()

        @cache
        def found(question: str) -> frozenset[str]:
            asked = understand(Query(kind.name, access, question), {}, reader, reads_text=True)
            if not asked.criteria:
                asked = understand(Query(kind.name, access, having=(question,)), {}, reader)
            if not asked.criteria:
                return frozenset()
            legs = LegsRequest(index, asked.lexical, {}, access, len(texts), asked.filters)
            return frozenset(item.document for item in engine.legs(legs).rankings["bm25"])

        yield found


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
