"""From the acknowledgement of a change on, no answer shows an earlier version of the document."""

from __future__ import annotations

import dataclasses

import pytest

from mappings.documents import Access, Document, Section
from search.bootstrap import Medley
from search.pipeline import freshness
from search.pipeline.search import search
from search.query import Query
from search.settings import Settings
from search.storage import DocumentStore
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest

READER, PSYCH = Access("reader", frozenset({"public"})), Access("psych", frozenset({"psych"}))


def abstract(name: str, text: str, label: str = "public", year: float = 2015.0) -> Document:
    return Document(name, f"About {name}", (Section("", text),), frozenset({label}), {"year": year})


def query(access: Access = READER, **more) -> Query:
    return Query("abstracts", access, "aspirin", facets=("year",), **more)


def index(medley: Medley) -> None:
    assert [item.cause for item in ingest(Indexer.of(medley, "abstracts")) if item.cause] == []


def shown(results) -> list[str]:
    return [hit.document for hit in results.hits]


def counted(results) -> dict[str, int]:
    return {item.value: item.count for item in results.facets["year"]}


@pytest.fixture
def indexed(tmp_path) -> Medley:
    medley = Medley.open(Settings(home=tmp_path, encoder="hashing-256", reranker="none"))
    medley.collections.create("abstracts")
    texts = [abstract(f"a{number}", f"Aspirin in arm {number}.", year=2010.0 + number) for number in range(4)]
    medley.collections.store("abstracts").put(texts)
    index(medley)
    return medley


@pytest.fixture
def store(indexed) -> DocumentStore:
    return indexed.collections.store("abstracts")


def test_a_relabelled_document_is_hidden_at_once_from_the_old_label(indexed, store):
    store.put([abstract("a1", "Aspirin in arm 1.", "psych", 2011.0)])
    results = indexed.search(query())
    assert sorted(shown(results)) == ["a0", "a2", "a3"]
    assert (results.total.value, counted(results)) == (3, {"2010": 1, "2012": 1, "2013": 1})
    assert shown(indexed.search(query(PSYCH))) == []
    index(indexed)
    assert shown(indexed.search(query(PSYCH))) == ["a1"]
    assert sorted(shown(indexed.search(query()))) == ["a0", "a2", "a3"]


def test_a_deleted_document_is_gone_at_once(indexed, store):
    before = indexed.search(query())  # its answer is cached
    assert len(before.hits) == 4
    store.delete(["a2"])
    after = indexed.search(query())
    assert sorted(shown(after)) == ["a0", "a1", "a3"]
    assert (after.total.value, counted(after)) == (3, {"2010": 1, "2011": 1, "2013": 1})


def test_an_earlier_text_is_not_shown(indexed, store):
    store.put([abstract("a0", "Statins, not what it said before.")])
    assert "a0" not in shown(indexed.search(query()))
    index(indexed)
    assert "a0" not in [hit.document for hit in indexed.search(query()).hits if hit.lexical]


def test_a_later_page_does_not_show_what_was_deleted_since_the_first(indexed, store):
    first = indexed.search(query(size=2))
    rest = [name for name in ("a0", "a1", "a2", "a3") if name not in shown(first)]
    store.delete([rest[0]])
    assert shown(indexed.search(query(size=2, cursor=first.cursor))) == [rest[1]]


def test_a_deletion_while_the_search_runs_is_seen(indexed, store):
    """The store is asked last of all: what was acknowledged after the legs ran is not shown."""

    class DeletesMeanwhile:
        """The engine, and a deletion that is acknowledged between the legs and the page."""

        def __getattr__(self, name):
            return getattr(indexed.engine, name)

        def passages(self, *arguments):
            found = indexed.engine.passages(*arguments)
            store.delete(["a3"])
            return found

    services = dataclasses.replace(indexed.services, engine=DeletesMeanwhile())
    assert sorted(shown(search(query(), services))) == ["a0", "a1", "a2"]


def test_a_document_that_comes_back_is_found_again(indexed, store):
    store.delete(["a1"])
    store.put([abstract("a1", "Aspirin in arm 1.", year=2011.0)])
    assert "a1" not in shown(indexed.search(query()))
    index(indexed)
    assert "a1" in shown(indexed.search(query()))


def test_with_too_many_changes_the_total_is_an_upper_bound_and_facets_are_left_out(indexed, store, monkeypatch):
    monkeypatch.setattr(freshness, "MAX_WITHHELD", 1)
    store.delete(["a0", "a1", "a2"])
    results = indexed.search(query(size=1))
    assert shown(results) == ["a3"]
    assert results.total.relation == "at_most"
    assert results.facets == {"year": ()}
    assert results.degraded == (
        "more than 1 changed documents wait to be indexed: the total is an upper bound, and facets are left out",
    )
