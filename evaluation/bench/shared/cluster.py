"""What the benches of a cluster share: SciFact indexed on it, its questions encoded once, and its entries with vectors.

They need a cluster (`MEDLEY_OPENSEARCH`). Those that write documents of their own take them, with their vectors, from the
embedded index of the suite, which is built once, and remove the indexes that they make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Final

import numpy as np

from evaluation.corpus.index import open_corpus
from evaluation.stages import ACCESS
from evaluation.task import Task
from mappings.clinical.placing import read_passages
from mappings.clinical.reading import ConceptReader
from mappings.collection import Collection
from mappings.documents import Document, Passage
from mappings.errors import InvalidInput, MedleyError
from search.bootstrap import Medley
from search.engines.opened import open_cluster
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry, LegsRequest
from search.query import Query
from search.settings import Settings
from search.storage import State, StoredDocument
from search.understanding.understand import Understanding, understand

DEPTH: Final = 100
TOP: Final = 10
BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question understood and encoded once: both engines, and both ways of fusing, get the same."""

    id: str
    understood: Understanding
    vector: Any

    def request(self, index: str) -> LegsRequest:
        """The question to an index."""
        return LegsRequest(index, self.understood.lexical, {"dense": self.vector}, ACCESS, DEPTH)


def require_cluster(settings: Settings) -> None:
    """Raise `InvalidInput` where the settings name no cluster."""
    if not settings.opensearch:
        raise InvalidInput(
            "this bench measures a cluster: name one in MEDLEY_OPENSEARCH, such as http://127.0.0.1:9200",
            field="MEDLEY_OPENSEARCH",
        )


def open_on_cluster(task: Task, settings: Settings) -> Medley:
    """The corpus of the task, indexed on the cluster of the settings. Raises `InvalidInput` where they name none."""
    require_cluster(settings)
    return open_corpus(task.corpus, settings)


def open_source(task: Task, settings: Settings) -> Medley:
    """The corpus of the task in an embedded index, for a bench of a cluster. Raises `InvalidInput` where none is named."""
    require_cluster(settings)
    return open_corpus(task.corpus, replace(settings, opensearch=""))


@contextmanager
def bench_engine(settings: Settings, collection: Collection) -> Iterator[OpenSearchEngine]:
    """The engine of the cluster of the settings, for a collection whose indexes are removed at the end.

    They have a prefix that nothing else has, because all that begins with it is removed.
    """
    own = replace(settings, opensearch_prefix=f"{settings.opensearch_prefix}-bench-{token_hex(6)}")
    engine = OpenSearchEngine(open_cluster(own), lambda name: collection)
    try:
        yield engine
    finally:
        with suppress(MedleyError):
            engine.cluster.write("DELETE", f"/{own.opensearch_prefix}.*")


def engine_of(medley: Medley) -> OpenSearchEngine:
    """The engine of a Medley on a cluster. Raises `InvalidInput` where it is not on one."""
    engine = medley.engine
    if not isinstance(engine, OpenSearchEngine):
        raise InvalidInput("this bench measures a cluster: name one in MEDLEY_OPENSEARCH", field="MEDLEY_OPENSEARCH")
    return engine


def encode_questions(medley: Medley, task: Task) -> list[EncodedQuestion]:
    """The task's questions, in order."""
    (encoder,) = medley.models.encoders(medley.collections.get(task.corpus.name)).values()
    read = [understand(Query(task.corpus.name, ACCESS, question.text)) for question in task.questions]
    vectors = encoder.encode_queries([item.model_text for item in read])
    return [EncodedQuestion(task.questions[number].id, item, vectors[number]) for number, item in enumerate(read)]


def encoder_identities(medley: Medley, task: Task) -> dict[str, tuple[str, int]]:
    """Vector field → (fingerprint, dimension) of its encoder."""
    encoders = medley.models.encoders(medley.collections.get(task.corpus.name))
    return {name: (encoder.fingerprint, encoder.dimension) for name, encoder in encoders.items()}


def read_entries(medley: Medley, task: Task, collection: Collection, whole: bool) -> Iterator[list[IndexEntry]]:
    """The corpus with its vectors, as the suite's index holds them: all rows, or their mean as one row per passage."""
    store, index = medley.collections.store(task.corpus.name), medley.engine.resolve(task.corpus.name).index
    names = [record.id for record in store.states(index, State.INDEXED, 2**62)]
    reader = medley.collections.reader_of(collection)
    for start in range(0, len(names), BATCH):
        pieces = [
            (stored, indexed_passages(stored.document, stored.version, collection, reader))
            for stored in store.latest(names[start : start + BATCH]).values()
            if stored.document is not None
        ]
        rows = medley.engine.vectors(index, [passage for _, own in pieces for passage in own])
        yield [
            _entry(stored, own, rows, whole)
            for stored, own in pieces
            if stored.document is not None and all(passage.id in rows for passage in own)
        ]


def indexed_passages(
    document: Document, version: int, collection: Collection, reader: ConceptReader | None
) -> tuple[Passage, ...]:
    """The passages as an index gives them back: read, and without what is searched only."""
    return tuple(replace(item, also="") for item in read_passages(document, version, collection, reader))


def _entry(stored: StoredDocument, own: tuple[Passage, ...], rows: Mapping[str, Any], whole: bool) -> IndexEntry:
    assert stored.document is not None  # noqa: S101 - the caller leaves deleted documents out
    found = [rows[passage.id]["dense"] for passage in own]
    windows = tuple(map(len, found)) if whole else ()
    stacked = np.concatenate(found if whole else [_mean(part) for part in found])
    document = stored.document
    return IndexEntry(stored.id, stored.version, document.labels, document.fields, own, {"dense": stacked}, windows)


def _mean(rows: Any) -> Any:
    mean = rows.mean(axis=0, keepdims=True)
    return mean / np.linalg.norm(mean)
