"""Kept items on a cluster where answers are lost and writers are killed; nothing but this is special there."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from mappings.documents import Access
from mappings.errors import Conflict
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.documents.tables import Table
from search.engines.opensearch.kept import queries, reservations
from search.engines.opensearch.kept.rows import PROPERTIES
from search.engines.opensearch.kept.store import OpenSearchKeptStore
from search.kept.items import KeptDraft, KeptFilter, KeptItem

ANN = Access("ann", frozenset({"study", "ward"}))


class RepeatingCluster(Cluster):
    """Sends every bulk write twice, as when the answer to the first is lost."""

    def write(self, method: str, path: str, *rest: Any, **more: Any) -> Any:
        if path.endswith("/_bulk"):
            super().write(method, path, *rest, **more)
        return super().write(method, path, *rest, **more)


@pytest.fixture(params=[Cluster, RepeatingCluster])
def cluster(request, node) -> Iterator[Cluster]:
    made = request.param(Connection((node.url,), prefix=f"t{secrets.token_hex(5)}"))
    yield made
    made.write("DELETE", f"/{made.prefix}.*")
    made.close()


@pytest.fixture
def store(cluster: Cluster) -> OpenSearchKeptStore:
    return OpenSearchKeptStore(cluster, lambda name: None)


def draft(name: str = "anticoagulants", **content: Any) -> KeptDraft:
    return KeptDraft("bundle", name, content)


def rows(cluster: Cluster) -> dict[str, Any]:
    """Every row of the index: items and reservations."""
    table = Table(cluster, cluster.name("kept"), PROPERTIES, 1)
    hits = table.search({"size": 100, "query": {"match_all": {}}})["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def test_a_write_whose_answer_was_lost_is_done_once(cluster, store):
    made = store.add(ANN, draft())
    changed = store.replace(ANN, made.id, 1, draft(terms=["one"]))
    renamed = store.replace(ANN, made.id, 2, draft("blood thinners"))
    assert (changed.revision, renamed.revision) == (2, 3)
    assert store.get(ANN, made.id) == renamed
    with pytest.raises(Conflict):
        store.replace(ANN, made.id, 2, draft("late"))
    assert len(rows(cluster)) == 2  # the item, and the reservation of its name
    assert store.delete(ANN, made.id, 3) == renamed
    assert rows(cluster) == {}
    again = store.add(ANN, draft())
    assert store.remove(again.id)
    assert rows(cluster) == {}


def test_a_name_that_a_killed_writer_has_reserved_is_free_after_some_minutes(store, monkeypatch):
    store._names.reserve(KeptItem.of(ANN, draft()))  # and it is killed before it writes the item
    with pytest.raises(Conflict, match="named 'anticoagulants' already"):
        store.add(ANN, draft())
    monkeypatch.setattr(reservations, "UNFINISHED_SECONDS", 0.0)
    made = store.add(ANN, draft())
    for call in (lambda: store.add(ANN, draft()), lambda: store._names.reserve(KeptItem.of(ANN, draft()))):
        with pytest.raises(Conflict):
            call()
    assert [item.id for item in store.list_items(ANN, KeptFilter(), 9).items] == [made.id]


def test_a_listing_asks_for_what_the_caller_may_see_and_nothing_else():
    wanted = KeptFilter("cohort", "notes", frozenset({"notes", "abstracts"}))
    assert queries.listing(ANN, wanted, 3, (7, "0a")) == {
        "size": 3,
        "query": {
            "bool": {
                "filter": [
                    {"term": {"row": "item"}},
                    {
                        "bool": {
                            "should": [
                                {"term": {"owner": "ann"}},
                                {
                                    "bool": {
                                        "filter": [
                                            {"terms": {"labels": ["study", "ward"]}},
                                            {"terms": {"collection": ["", "abstracts", "notes"]}},
                                        ]
                                    }
                                },
                            ],
                            "minimum_should_match": 1,
                        }
                    },
                    {"term": {"kind": "cohort"}},
                    {"term": {"collection": "notes"}},
                ]
            }
        },
        "sort": [{"changed": "desc"}, {"id": "desc"}],
        "search_after": [7, "0a"],
    }
    everything = queries.listing(Access("chief", frozenset({"*"})), KeptFilter(), 3, None)
    assert everything["query"]["bool"]["filter"][1]["bool"]["should"] == [
        {"term": {"owner": "chief"}},
        {"exists": {"field": "labels"}},
    ]
    assert "search_after" not in everything
