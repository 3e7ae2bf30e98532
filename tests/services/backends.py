"""The engines that the contract tests run on, and small corpora with hand-made vectors."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mappings.analysis.words import terms
from mappings.collection import Collection, load
from mappings.documents import Access, FieldValue, Passage
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.store import EmbeddedStore
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.documents.store import OpenSearchStore
from search.engines.opensearch.engine import OpenSearchEngine
from search.protocols import IndexEntry, IndexMeta, LegsAnswer, LegsRequest
from search.query import LexicalQuery

DIMENSION = 8
COLLECTION = load("abstracts")
ENCODERS = {"dense": ("fingerprint-of-the-test", DIMENSION)}
EVERYBODY = Access("tester", frozenset({"*"}))


@dataclass(frozen=True)
class Backend:
    """An empty store and engine under test."""

    store: Any
    engine: Any
    another_store: Callable[[], Any]
    collection: Collection = COLLECTION

    def index(self, entries: Sequence[IndexEntry], publish: bool = True) -> IndexMeta:
        """Create an index with these entries, written in one commit."""
        meta = self.engine.create(self.collection.name, ENCODERS)
        self.write(meta.index, entries)
        if publish:
            self.engine.publish(meta.index)
        return self.engine.meta(meta.index)

    def write(self, index: str, entries: Sequence[IndexEntry], removed: Sequence[str] = ()) -> None:
        """Write and remove entries in one commit."""
        with self.engine.writer(index) as writer:
            writer.write(entries)
            writer.remove(removed)
            writer.commit()

    def ask(
        self, index: str, words: str = "", vector: Any = None, access: Access = EVERYBODY, **rest: Any
    ) -> LegsAnswer:
        """The legs of one query."""
        lexical = rest.pop("lexical", None) or LexicalQuery(tuple((term, 1.0) for term in terms(words)))
        vectors = {} if vector is None else {"dense": np.asarray(vector, np.float32)}
        documents = rest.pop("documents", 10)
        return self.engine.legs(LegsRequest(index, lexical, vectors, access, documents, **rest))


def embedded(folder: Path) -> Backend:
    """The embedded engine in an empty folder."""
    numbers = count(1)
    return Backend(
        store=EmbeddedStore(folder / "collections" / COLLECTION.name),
        engine=EmbeddedEngine(folder, lambda name: load(name, "abstracts")),
        another_store=lambda: EmbeddedStore(folder / f"another-{next(numbers)}"),
    )


def opensearch(url: str) -> Backend:
    """The OpenSearch engine under a prefix of its own; the caller removes it with `clear`."""
    cluster = Cluster(Connection((url,), prefix=f"t{secrets.token_hex(5)}"))
    numbers = count(1)
    return Backend(
        store=OpenSearchStore(cluster, COLLECTION.name),
        engine=OpenSearchEngine(cluster, lambda name: load(name, "abstracts")),
        another_store=lambda: OpenSearchStore(cluster, f"another-{next(numbers)}"),
    )


def clear(backend: Backend) -> None:
    """Remove everything that the backend created on the cluster."""
    cluster = backend.engine.cluster
    cluster.write("DELETE", f"/{cluster.prefix}.*")
    cluster.close()


ENGINES = ("embedded", "opensearch")


def axis(number: int, second: int | None = None) -> np.ndarray:
    """A unit vector along one axis, or halfway between two."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[number] = 1.0
    if second is not None:
        vector[second] = 1.0
    return vector / np.linalg.norm(vector)


@dataclass
class Draft:
    """A document in a test: the text of each passage and its vectors, one each unless `windows` says more."""

    id: str
    texts: Sequence[str]
    title: str = ""
    labels: frozenset[str] = frozenset({"public"})
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    version: int = 1
    vectors: Sequence[np.ndarray] | None = None
    heading: str = ""
    windows: tuple[int, ...] = ()

    def entry(self) -> IndexEntry:
        """The draft as an index entry."""
        passages = tuple(
            Passage(self.id, self.version, number, self.title, self.heading, text)
            for number, text in enumerate(self.texts)
        )
        vectors = self.vectors if self.vectors is not None else [axis(0)] * len(self.texts)
        stacked = np.stack(vectors).astype(np.float32)
        return IndexEntry(self.id, self.version, self.labels, self.fields, passages, {"dense": stacked}, self.windows)


WORDS = ("heart", "lung", "kidney", "fever", "cough", "aspirin", "trial", "placebo", "mortality", "edema")
LABELS = ("public", "ward-a", "ward-b", "study")


def random_drafts(seed: int, count: int) -> list[Draft]:
    """Documents of one to four passages with random words, labels (sometimes none), fields and vectors."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    return [_random_draft(rng, numbers, number) for number in range(count)]


def _random_draft(rng: random.Random, numbers: Any, number: int) -> Draft:
    size = rng.choice((1, 1, 2, 3, 4))
    windows = tuple(rng.choice((1, 1, 2, 3)) for _ in range(size))
    vectors = numbers.standard_normal((sum(windows), DIMENSION))
    fields: dict[str, FieldValue] = {"journal": tuple(rng.sample(("Lancet", "BMJ", "JAMA"), rng.randint(1, 2)))}
    if rng.random() < 0.8:
        fields["year"] = float(rng.randint(2000, 2004))
    if rng.random() < 0.8:
        fields["published"] = date(2000, 1, 1 + rng.randrange(28))
    return Draft(
        id=f"doc/{number}@x#y",
        title=" ".join(rng.choices(WORDS, k=2)),
        texts=[" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(size)],
        labels=frozenset(rng.sample(LABELS, rng.choice((0, 1, 1, 2)))),
        fields=fields,
        vectors=list(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)),
        windows=windows,
    )
