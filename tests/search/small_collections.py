"""Abstracts of a few words, and a collection of them."""

from mappings.documents import Document, Section
from search.bootstrap import Medley
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest


def abstract(identifier: str, title: str, text: str, year: float, label: str = "public") -> Document:
    return Document(
        identifier, title, (Section("", text),), frozenset({label}), {"year": float(year), "source": "test"}
    )


def fill(medley: Medley, name: str, documents: list[Document]) -> None:
    medley.collections.create(name)
    medley.collections.store(name).put(documents)
    outcomes = list(ingest(Indexer.of(medley, name)))
    assert [item.cause for item in outcomes] == [""] * len(outcomes)
