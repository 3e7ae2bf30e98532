"""Stores export their newest versions and take those of another store, of either engine."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest
from backends import Backend

from mappings.documents import Deletion, Document, Section
from mappings.errors import Conflict
from search.engines import codec
from search.engines.embedded.store import EmbeddedStore
from search.engines.opensearch.documents.tables import Table
from search.storage import Accepted, ExportedVersion, State, StateRecord

INDEX = "abstracts-1"


def document(name: str, text: str = "heart failure", source: int | None = None, **fields) -> Document:
    return Document(name, "A title", (Section("Aim", text),), frozenset({"public"}), fields, source)


def newest(store) -> dict[str, ExportedVersion]:
    found = list(store.export())
    assert len({item.id for item in found}) == len(found), "a document was exported twice"
    return {item.id: item for item in found}


def test_nothing_is_exported_from_an_empty_store(backend: Backend):
    assert list(backend.store.export()) == []
    assert backend.store.restore([]) == 0


def test_the_newest_versions_are_exported_with_tombstones_and_source_versions(backend: Backend):
    backend.store.put([document("a"), document("b", source=7), document("ä/1@2#3")], job="first")
    backend.store.put([document("a", "kidney"), Deletion("late", 9)], job="second")
    backend.store.delete(["b"])
    found = newest(backend.store)
    shown = {name: (item.version, item.content is None, item.source_version, item.job) for name, item in found.items()}
    assert shown == {
        "a": (2, False, None, "second"),
        "b": (2, True, 7, ""),
        "ä/1@2#3": (1, False, None, "first"),
        "late": (1, True, 9, "second"),
    }
    assert found["a"].content == codec.dump(document("a", "kidney"))
    assert len({item.accepted for item in found.values()}) == 4


def test_a_restored_store_is_the_same(backend: Backend):
    store, other = backend.store, backend.another_store()
    fields = {"year": 1.5, "journal": ("BMJ", "Lancet"), "published": date(1543, 2, 1), "count": 3}
    store.put([document("a"), document("b", source=7), document("c", **fields), document("x" * 500)])
    store.put([document("a", "kidney")], job="job")
    store.delete(["b"])
    assert other.restore(store.export()) == 4
    assert newest(other) == newest(store)
    names = ["a", "b", "c", "x" * 500]
    assert other.latest(names) == store.latest(names)
    assert other.pending(INDEX, 9) == store.pending(INDEX, 9)
    assert other.counts(INDEX) == store.counts(INDEX)


def test_versions_go_on_after_a_restore_and_equal_content_changes_nothing(backend: Backend):
    store, other = backend.store, backend.another_store()
    store.put([document("a"), document("b", source=7)])
    store.put([document("a", "kidney")])
    other.restore(store.export())
    assert list(other.put([document("a", "kidney"), document("a", "lung")])) == [
        Accepted("a", 2, False),
        Accepted("a", 3, True),
    ]
    assert list(other.put([document("b", "older", source=6)])) == [Accepted("b", 1, False, stale=True)]


def test_a_restore_can_be_repeated_and_completed(backend: Backend):
    store, other = backend.store, backend.another_store()
    store.put([document(name) for name in "abc"])
    versions = list(store.export())
    other.restore(versions[:2])
    other.settle(INDEX, [StateRecord("a", 1, State.INDEXED, 1)])
    assert other.restore(versions) == 3
    assert newest(other) == newest(store)
    assert sorted(other.pending(INDEX, 9)) == [("b", 1), ("c", 1)]


def test_a_purge_leaves_what_is_just_being_restored(backend: Backend, monkeypatch):
    """Texts are written before what says that they are a document's: a purge can run in between."""
    store, other = backend.store, backend.another_store()
    store.put([document("a")])
    versions, swap = list(store.export()), Table.swap  # one transaction writes both in an embedded store

    def swap_after_purge(table, rows):
        monkeypatch.undo()
        other.purge(time.time() + 1, [])
        return swap(table, rows)

    monkeypatch.setattr(Table, "swap", swap_after_purge)
    other.restore(versions)
    assert other.latest(["a"]) == store.latest(["a"])


@pytest.mark.parametrize("text", ["other text", "heart failure"], ids=["other content", "another version"])
def test_a_restore_never_replaces_a_document(backend: Backend, text):
    store, other = backend.store, backend.another_store()
    store.put([document("a")])
    other.put([document("a", "first"), document("a", text)][text == "other text" :])
    before = newest(other)
    with pytest.raises(Conflict, match="'a' is in the store already"):
        other.restore(store.export())
    assert newest(other) == before


def test_documents_can_be_put_while_others_are_exported(backend: Backend):
    store = backend.store
    store.put([document(name) for name in "abc"])
    versions = store.export()
    first = next(versions)
    store.put([document("d"), document("a", "kidney"), document("b", "kidney"), document("c", "kidney")])
    store.delete(["b"])
    found = {item.id: item.version for item in [first, *versions]}
    assert {"a", "b", "c"} <= set(found) <= {"a", "b", "c", "d"}


def test_changes_that_a_cluster_accepted_at_once_keep_an_order(tmp_path):
    store = EmbeddedStore(tmp_path)
    content = codec.dump(document("a"))
    versions = [ExportedVersion(name, 1, content, 10) for name in "abc"] + [ExportedVersion("d", 1, content, 11)]
    assert store.restore(versions) == 4
    assert [item.id for item in store.export()] == ["a", "b", "c", "d"]
    assert [name for name, _ in store.pending(INDEX, 9)] == ["a", "b", "c", "d"]


def test_an_export_that_is_abandoned_leaves_the_store_usable(backend: Backend):
    backend.store.put([document("a"), document("b")])
    versions = backend.store.export()
    next(versions)
    versions.close()
    assert list(backend.store.put([replace(document("a"), title="Another")])) == [Accepted("a", 2, True)]
