"""What the embedded store's files hold after rows were removed, and how it gets there."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing

import pytest
from backends import Draft, embedded
from markers import Markers

from mappings.documents import Document, Section
from mappings.errors import NotFound, Unavailable
from search.engines import codec
from search.engines.embedded import database
from search.engines.embedded.store import EmbeddedStore
from search.storage import Purged, StoredDocument


def document(name: str, text: str, source: int | None = None) -> Document:
    return Document(name, "A title", (Section("", text),), frozenset({"public"}), {}, source)


def test_a_store_of_the_second_schema_knows_what_was_replaced(tmp_path):
    old, new = document("a", "one"), document("a", "two")
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as second:
        second.executescript(database._SCHEMA)
        rows = [(item.id, number, codec.pack(codec.dump(item))) for number, item in ((1, old), (2, new))]
        second.executemany("INSERT INTO versions VALUES (?, ?, ?)", rows)
        second.execute("INSERT INTO latest VALUES ('a', 2, 5, ?, 7, 'job')", (codec.digest(codec.dump(new)),))
        second.execute("PRAGMA user_version = 2")
        second.commit()
    store = EmbeddedStore(tmp_path)
    assert store.purge(0.000_004, []) == Purged()  # it was replaced five microseconds after 1970 began
    assert store.purge(0.000_005, []) == Purged(versions=1)
    assert store.latest(["a"]) == {"a": StoredDocument("a", 2, new)}


def test_the_log_and_the_free_pages_are_cleared(tmp_path):
    store, markers = EmbeddedStore(tmp_path), Markers(seed=21)
    for _ in range(3):
        store.put([markers.mark(document(f"d{number}", markers.word() * 50)) for number in range(60)])
    store.put([document(f"d{number}", "clean") for number in range(60)])
    assert markers.found(tmp_path)
    store.purge(time.time(), [])
    store.wipe()
    assert markers.found(tmp_path) == []
    assert (tmp_path / "store.sqlite-wal").stat().st_size == 0


def test_only_a_hash_of_the_id_stays_of_a_purged_document_with_a_source_version(tmp_path):
    store, markers = EmbeddedStore(tmp_path), Markers(seed=23)
    name = markers.word()
    store.put([document(name, "text", source=3)])
    store.delete([name])
    assert store.purge(time.time(), []) == Purged(versions=1, tombstones=1)
    store.wipe()
    assert markers.found(tmp_path) == []
    assert store.put([document(name, "late", source=2)])[0].stale
    other = EmbeddedStore(tmp_path / "other")  # has a salt of its own
    salts = [item._database.read for item in (store, other)]
    with salts[0]() as first, salts[1]() as second:
        assert first.execute("SELECT * FROM salt").fetchall() != second.execute("SELECT * FROM salt").fetchall()


def test_a_reader_that_stays_keeps_the_log_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    store = EmbeddedStore(tmp_path)
    store.put([document("a", "one"), document("a", "two")])
    with closing(sqlite3.connect(store.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM versions").fetchall()
        store.purge(time.time(), [])
        with pytest.raises(Unavailable, match="kept the write-ahead log in use"):
            store.wipe()
        store.close()  # does not wait, and does not fail
    store.wipe()


def test_documents_are_accepted_while_a_purge_runs(tmp_path):
    store, done = EmbeddedStore(tmp_path), threading.Event()
    for text in ("one", "two"):
        store.put([document(f"d{number}", text) for number in range(2_000)])

    def purge() -> None:
        EmbeddedStore(tmp_path).purge(time.time(), [])
        EmbeddedStore(tmp_path).wipe()
        done.set()

    thread = threading.Thread(target=purge)
    thread.start()
    count = 0
    while not done.is_set():
        store.put([document(f"new{count}", "three"), document("d0", f"again {count}")])
        count += 1
    thread.join()
    found = store.latest([f"d{number}" for number in range(2_000)] + [f"new{number}" for number in range(count)])
    assert len(found) == 2_000 + count
    assert all(item.document for item in found.values())


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_an_index_says_whether_its_files_hold_what_is_gone(tmp_path, change: str):
    backend = embedded(tmp_path)
    meta = backend.index([Draft(name, ["heart failure"]).entry() for name in "abc"])
    assert backend.engine.erase(meta.index)
    # The last document: its slots are at the end of the files.
    if change == "removed":
        backend.write(meta.index, [], ["c"])
    else:
        backend.write(meta.index, [Draft("c", ["new words"], version=2).entry()])
    assert not backend.engine.erase(meta.index)
    with pytest.raises(NotFound):
        backend.engine.erase("abstracts-9")
