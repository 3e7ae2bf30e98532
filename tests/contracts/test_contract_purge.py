"""What is purged is gone from a store, and nothing else is."""

from __future__ import annotations

import time
from dataclasses import replace

from backends import Backend

from mappings.documents import Deletion, Document, Section
from search.storage import Accepted, Job, Purged, State, StateRecord, StoredDocument

INDEX, BUILDING = "abstracts-1", "abstracts-2"


def document(name: str, text: str = "heart failure", source: int | None = None) -> Document:
    return Document(name, "A title", (Section("Aim", text),), frozenset({"public"}), {}, source)


def settle(store, *versions: tuple[str, int], index: str = INDEX) -> None:
    assert all(store.settle(index, [StateRecord(name, number, State.INDEXED, 1) for name, number in versions]))


def now() -> float:
    time.sleep(0.002)  # so that the next change is later
    return time.time()


def test_replaced_versions_go_and_the_newest_stays(backend: Backend):
    store = backend.store
    store.put([document("a", text) for text in ("one", "two", "three")])
    store.put([document("b")])
    assert store.purge(now(), [INDEX]) == Purged(versions=2)
    assert store.purge(now(), [INDEX]) == Purged()
    assert store.latest(["a", "b"]) == {
        "a": StoredDocument("a", 3, document("a", "three")),
        "b": StoredDocument("b", 1, document("b")),
    }
    assert store.put([document("a", "four")]) == [Accepted("a", 4, True)]
    assert list(store.pending(INDEX, 9)) == [("b", 1), ("a", 4)]


def test_only_what_was_replaced_long_enough_ago_goes(backend: Backend):
    store = backend.store
    store.put([document("a", "one")])
    store.put([document("a", "two")])
    between = now()
    store.put([document("a", "three")])
    store.delete(["a"])
    settle(store, ("a", 4))
    assert store.purge(between - 60, [INDEX]) == Purged()
    assert store.purge(between, [INDEX]) == Purged(versions=1)
    assert store.purge(now(), [INDEX]) == Purged(versions=2, tombstones=1)
    assert store.latest(["a"]) == {}


def test_a_tombstone_stays_until_every_index_has_processed_it(backend: Backend):
    store = backend.store
    store.put([document("a"), document("b")])
    store.delete(["a", "b"])
    settle(store, ("a", 2), ("b", 2))
    settle(store, ("b", 2), index=BUILDING)
    assert store.purge(now(), [INDEX, BUILDING]) == Purged(versions=2, tombstones=1, waiting=1)
    assert store.latest(["a", "b"]) == {"a": StoredDocument("a", 2, None)}
    assert list(store.pending(BUILDING, 9)) == [("a", 2)]
    settle(store, ("a", 2), index=BUILDING)
    assert store.purge(now(), [INDEX, BUILDING]) == Purged(tombstones=1)
    assert store.counts(INDEX).deleted == 0


def test_where_there_is_no_index_yet_nothing_waits(backend: Backend):
    backend.store.put([document("a")])
    backend.store.delete(["a"])
    assert backend.store.purge(now(), []) == Purged(versions=1, tombstones=1)


def test_only_the_named_documents_are_purged(backend: Backend):
    store = backend.store
    store.put([document(name, text) for name in "abc" for text in ("one", "two")])
    store.delete(["a", "b"])
    settle(store, ("a", 3), ("b", 3))
    assert store.purge(now(), [INDEX], ["a", "c", "unknown", "lone \ud800"]) == Purged(versions=3, tombstones=1)
    assert store.purge(now(), [INDEX], []) == Purged()
    assert store.latest(["a", "b", "c"]) == {
        "b": StoredDocument("b", 3, None),
        "c": StoredDocument("c", 2, document("c", "two")),
    }


def test_an_older_copy_of_a_purged_document_stays_refused(backend: Backend):
    store = backend.store
    store.put([document("a", source=4), Deletion("a", 7), Deletion("b", 3)])
    settle(store, ("a", 2), ("b", 1))
    assert store.purge(now(), [INDEX]) == Purged(versions=1, tombstones=2)
    assert list(store.put([document("a", source=6), document("b", source=2)])) == [
        Accepted("a", 2, False, stale=True),
        Accepted("b", 1, False, stale=True),
    ]
    assert store.latest(["a", "b"]) == {}
    assert list(store.put([Deletion("a", 9)])) == [Accepted("a", 2, False)]
    assert store.latest(["a"]) == {}
    assert list(store.put([document("a", source=8)])) == [Accepted("a", 2, False, stale=True)]
    assert list(store.put([document("a", "back", source=9), document("b", "back")])) == [
        Accepted("a", 3, True),
        Accepted("b", 2, True),
    ]
    assert list(store.pending(INDEX, 9)) == [("a", 3), ("b", 2)]
    assert list(store.put([document("b", source=2)])) == [Accepted("b", 2, False, stale=True)]


def test_a_purged_document_without_a_source_version_is_forgotten(backend: Backend):
    store = backend.store
    store.put([document("a"), document("a", "two")])
    store.delete(["a"])
    settle(store, ("a", 3))
    store.purge(now(), [INDEX])
    assert list(store.delete(["a"])) == [Accepted("a", 0, False)]
    assert list(store.put([document("a")])) == [Accepted("a", 1, True)]
    settle(store, ("a", 1))
    assert store.recorded(INDEX) == (1, 1)
    store.put([document("a", "two")])
    assert store.purge(now(), [INDEX]) == Purged(versions=1)
    assert store.latest(["a"])["a"].version == 2


def test_jobs_go_a_day_after_their_end_but_not_that_of_an_index(backend: Backend):
    store, day = backend.store, 86_400.0
    old, recent = now() - 2 * day, now() - day / 2
    store.keep_job(Job("abstracts.old", old, old))
    store.keep_job(Job("abstracts.killed", old))
    store.keep_job(Job("abstracts.recent", recent, recent))
    store.keep_job(Job("abstracts.abstracts-1", old, old))
    store.keep_job(Job("abstracts.abstracts-0", recent, recent, cause="the text 'heart' failed"))
    assert store.purge(now(), [INDEX], ["a"]).jobs == 0
    assert store.purge(now(), [INDEX]).jobs == 3
    kept = [
        name for name in ("old", "killed", "recent", "abstracts-1", "abstracts-0") if store.job(f"abstracts.{name}")
    ]
    assert kept == ["recent", "abstracts-1"]


def test_wiping_and_closing_change_nothing_that_can_be_read(backend: Backend):
    store = backend.store
    store.wipe()
    store.put([document("a"), replace(document("b"), title="Other")])
    before = store.latest(["a", "b"])
    store.close()
    store.wipe()
    store.close()
    assert store.latest(["a", "b"]) == before
    assert list(store.put([document("c")])) == [Accepted("c", 1, True)]


def test_more_versions_than_one_transaction_removes(backend: Backend):
    store = backend.store
    for text in ("one", "two"):
        store.put([document(f"d{number}", text) for number in range(1_100)])
    store.delete([f"d{number}" for number in range(0, 1_100, 2)])
    settle(store, *((f"d{number}", 3) for number in range(0, 1_100, 2)))
    assert store.purge(now(), [INDEX]) == Purged(versions=1_650, tombstones=550)
    assert len(store.latest([f"d{number}" for number in range(1_100)])) == 550
