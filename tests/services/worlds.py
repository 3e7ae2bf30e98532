"""A collection of notes on any engine, with a hashing encoder that can be counted, poisoned and switched off."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from encoders.hashing import HashingEncoder
from mappings.clinical.reading import shipped_reader
from mappings.collection import load
from mappings.documents import Access, Document, Section
from mappings.errors import Unavailable
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.store import EmbeddedStore
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.documents.store import OpenSearchStore
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import LegsRequest
from search.query import LexicalQuery
from workers.indexing.batches import Outcome
from workers.indexing.indexer import Indexer, IndexingOptions
from workers.indexing.ingest import delete, ingest
from workers.indexing.rebuild import rebuild

NOTES = load("notes")
READER = shipped_reader()
EVERYBODY = Access("tester", frozenset({"*"}))


class Counting:
    """The hashing encoder, which counts texts, and refuses one that holds a poison word, as a model may."""

    def __init__(self, dimension: int = 64) -> None:
        self._encoder = HashingEncoder(dimension)
        self.fingerprint = self._encoder.fingerprint
        self.dimension = dimension
        self.texts = 0
        self.down = False

    def encode_queries(self, texts):
        return self._encoder.encode_queries(texts)

    def encode_passages(self, texts):
        if self.down:
            raise Unavailable("the model server does not answer")
        if any("poison" in text for text in texts):
            raise RuntimeError("token out of range")
        self.texts += len(texts)
        return self._encoder.encode_passages(texts)


class World:
    """A store, an engine and an encoder; `reopen` gives the engine other settings of the collection."""

    def __init__(self, store, reopen) -> None:
        self.store = store
        self.reopen = reopen
        self.engine = reopen(NOTES)
        self.encoder = Counting()

    @property
    def encoders(self):
        return {"dense": self.encoder}

    def put(self, *documents: Document):
        return self.store.put(documents)

    def indexer(self, collection=NOTES, **options) -> Indexer:
        return Indexer(self.store, self.engine, self.encoders, collection, IndexingOptions(**options), READER)

    def ingest(self, ids=None, **options) -> list[Outcome]:
        return list(ingest(self.indexer(**options), ids))

    def rebuild(self, **options) -> list[Outcome]:
        return list(rebuild(self.indexer(**options), grace=0.0))

    def delete(self, *ids: str) -> list[Outcome]:
        return list(delete(self.indexer(), ids))

    def found(self, term: str, index: str | None = None) -> list[str]:
        index = index or self.engine.resolve("notes").index
        vector = self.encoder.encode_queries([term])[0]
        request = LegsRequest(index, LexicalQuery(((term, 1.0),)), {"dense": vector}, EVERYBODY, 1000)
        return sorted({item.document for item in self.engine.legs(request).rankings["bm25"]})

    def counts(self):
        return dict(self.store.counts(self.engine.resolve("notes").index).states)


def embedded_world(home: Path) -> World:
    store = EmbeddedStore(home / "collections" / "notes")
    return World(store, lambda collection: EmbeddedEngine(home, lambda name: collection))


@contextmanager
def opensearch_world(url: str) -> Iterator[World]:
    """A world on a cluster, under a prefix of its own, which is removed afterwards."""
    cluster = Cluster(Connection((url,), prefix=f"t{secrets.token_hex(5)}"))
    yield World(
        OpenSearchStore(cluster, "notes"), lambda collection: OpenSearchEngine(cluster, lambda name: collection)
    )
    cluster.write("DELETE", f"/{cluster.prefix}.*")
    cluster.close()


def note(name: str, text: str = "heart failure", **fields) -> Document:
    sections = (Section("HISTORY", text), Section("PLAN", "Rest and fluids."))
    return Document(name, "Consultation", sections, frozenset({"clinical"}), fields)
