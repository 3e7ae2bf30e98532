from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import orjson
import pytest

from encoders.hashing import HashingEncoder
from mappings.collection import load
from mappings.documents import Access, Document, Passage, Section
from mappings.errors import Conflict, InvalidInput, NotFound, Unavailable
from search.engines import codec
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.layout import exclusive, is_full, write_atomic
from search.engines.embedded.slots.reader import SlotReader
from search.engines.embedded.slots.writer import SlotWriter
from search.engines.embedded.store import EmbeddedStore
from search.engines.names import split_index
from search.protocols import IndexEntry, LegsRequest
from search.query import LexicalQuery
from search.storage import Accepted, StoredDocument
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.inspection import verify

EVERYBODY = Access("tester", frozenset({"*"}))
ENCODERS = {"dense": HashingEncoder(64)}
NOTES = load("notes")


def open_world(home: Path) -> tuple[EmbeddedStore, EmbeddedEngine]:
    return EmbeddedStore(home / "collections" / "notes"), EmbeddedEngine(home, lambda name: NOTES)


def notes(first: int, last: int, words: int = 20) -> list[Document]:
    return [
        Document(
            f"n{number}",
            f"Note {number}",
            (Section("PLAN", " ".join(f"heart{number}w{word}" for word in range(words))),),
            frozenset({"clinical"}),
        )
        for number in range(first, last)
    ]


def entry(name: str, version: int = 1) -> IndexEntry:
    vector = np.eye(1, 8, dtype=np.float32)
    passage = Passage(name, version, 0, "Title", "", "heart")
    return IndexEntry(name, version, frozenset({"clinical"}), {}, (passage,), {"dense": vector})


def found(engine: EmbeddedEngine, index: str) -> list[str]:
    request = LegsRequest(index, LexicalQuery((("heart", 1.0),)), {}, EVERYBODY, 1000)
    return [item.passage for item in engine.legs(request).rankings["bm25"]]


def write(engine: EmbeddedEngine, index: str, *entries: IndexEntry) -> None:
    with engine.writer(index) as writer:
        writer.write(entries)
        writer.commit()


def small_index(home: Path) -> tuple[EmbeddedEngine, str]:
    _, engine = open_world(home)
    meta = engine.create("notes", {"dense": ("x", 8)})
    write(engine, meta.index, entry("a"), entry("b"))
    engine.publish(meta.index)
    return engine, meta.index


def hold_writer(home: Path, held, release) -> None:
    _, engine = open_world(home)
    with engine.writer("notes-1"):
        held.set()
        release.wait(30)


def test_a_writer_in_another_process_is_named(tmp_path):
    engine, index = small_index(tmp_path)
    context = multiprocessing.get_context("forkserver")
    held, release = context.Event(), context.Event()
    child = context.Process(target=hold_writer, args=(tmp_path, held, release))
    child.start()
    assert held.wait(30)
    with pytest.raises(Conflict, match=f"process {child.pid}"), engine.writer(index):
        pass
    release.set()
    with engine.writer(index, wait=30):
        pass
    child.join()


def put_many(home: Path, first: int) -> None:
    store, _ = open_world(home)
    for number in range(first, first + 40):
        store.put(notes(number, number + 1))


@pytest.mark.slow
def test_many_processes_put_at_once_and_nothing_is_lost(tmp_path):
    store, engine = open_world(tmp_path)
    context = multiprocessing.get_context("forkserver")
    children = [context.Process(target=put_many, args=(tmp_path, first)) for first in (0, 20, 40, 60)]
    for child in children:
        child.start()
    while any(child.is_alive() for child in children):
        list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    assert [child.exitcode for child in children] == [0] * 4
    list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    assert engine.resolve("notes").documents == 100
    assert {item.version for item in store.latest([f"n{n}" for n in range(100)]).values()} == {1}


def test_a_store_is_shared_by_threads_and_survives_a_fork_of_its_process(tmp_path):
    store, _ = open_world(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        accepted = [item for part in pool.map(store.put, [notes(n, n + 5) for n in range(0, 80, 5)]) for item in part]
    assert len({item.id for item in accepted}) == 80
    assert store.counts("notes-1").documents == 80


def test_a_reader_follows_the_commits_of_another(tmp_path):
    engine, index = small_index(tmp_path)
    _, reader = open_world(tmp_path)
    assert found(reader, index) == ["a@1#0", "b@1#0"]
    before = reader.resolve("notes")
    write(engine, index, entry("a", 2))
    assert found(reader, index) == ["a@2#0", "b@1#0"]
    assert reader.resolve("notes").commit > before.commit


def test_a_reader_notices_that_its_index_was_dropped(tmp_path):
    engine, index = small_index(tmp_path)
    _, reader = open_world(tmp_path)
    assert found(reader, index)
    engine.publish(engine.create("notes", {"dense": ("x", 8)}).index)
    engine.drop(index)
    with pytest.raises(NotFound):
        found(reader, index)
    assert reader.resolve("notes").index == "notes-2"


def test_a_reader_releases_an_index_that_another_process_dropped(tmp_path):
    engine, index = small_index(tmp_path)
    _, reader = open_world(tmp_path)
    assert found(reader, index)
    engine.publish(engine.create("notes", {"dense": ("x", 8)}).index)
    engine.drop(index)
    assert reader.resolve("notes").index == "notes-2"
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not show what a process has mapped")
    gc.collect()
    mapped = [line for line in maps.read_text().splitlines() if str(tmp_path) in line]
    assert [line for line in mapped if index in line] == []


def test_a_search_in_progress_outlives_the_drop_of_its_index(tmp_path):
    engine, index = small_index(tmp_path)
    with engine._open(index) as snapshot:
        engine.publish(engine.create("notes", {"dense": ("x", 8)}).index)
        engine.drop(index)
        assert set(snapshot.passages(["a@1#0"], EVERYBODY)) == {"a@1#0"}
        assert snapshot._slots.vectors["dense"][0].shape == (2, 8)


def test_slots_left_by_a_kill_are_never_reused(tmp_path):
    engine, index = small_index(tmp_path)
    folder = tmp_path / "collections" / "notes" / "indexes" / index
    with (folder / "ids.bin").open("ab") as file:
        file.write(b"ghost@1#0")
    with (folder / "dense.i8").open("ab") as file:
        file.write(b"\x01" * 13)
    write(engine, index, entry("c"))
    assert found(engine, index) == ["a@1#0", "b@1#0", "c@1#0"]
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    assert (sizes["dense.f16"], sizes["dense.i8"], sizes["dense.scale"], sizes["ids.end"]) == (80, 40, 20, 40)


def test_a_write_that_fails_is_undone_and_can_be_repeated(tmp_path, monkeypatch):
    engine, index = small_index(tmp_path)
    with engine.writer(index) as writer:
        monkeypatch.setattr(os, "pwrite", full_disk)
        with pytest.raises(Unavailable, match="disk is full"):
            writer.write([entry("c")])
        monkeypatch.undo()
    assert found(engine, index) == ["a@1#0", "b@1#0"]
    write(engine, index, entry("c"))
    assert found(engine, index) == ["a@1#0", "b@1#0", "c@1#0"]


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_writer_that_failed_rejects_further_calls(tmp_path, monkeypatch):
    engine, index = small_index(tmp_path)
    with engine.writer(index) as writer:
        monkeypatch.setattr(os, "fdatasync", full_disk, raising=False)
        writer.write([entry("c")])
        with pytest.raises(Unavailable):
            writer.commit()
        monkeypatch.undo()
        with pytest.raises(Unavailable):
            writer.write([entry("d")])
    assert found(engine, index) == ["a@1#0", "b@1#0"]


def fill_the_disk(home: Path, where: str, report: Path) -> None:
    """In a child whose file sizes are limited, as on a full disk: write until an error."""
    message = ""
    limit = 300_000 if where == "store" else 100_000
    store, engine = open_world(home)
    if where == "index":
        store.put(notes(0, 300, words=200))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    accepted = 0
    try:
        if where == "store":
            for number in range(0, 5_000, 10):
                accepted += len(store.put(notes(number, number + 10, words=200)))
        else:
            list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    except Unavailable as error:
        message = error.message
    report.write_bytes(orjson.dumps({"message": message, "accepted": accepted}))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root; the next test limits the size of files instead")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill_up(store: EmbeddedStore, engine: EmbeddedEngine, where: str) -> None:
    if where == "index":
        list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    for number in range(300, 5_000, 10):
        store.put(notes(number, number + 10, words=100))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["store", "index"])
def test_a_disk_that_fills_up_loses_nothing_accepted(small_disk, where):
    store, engine = open_world(small_disk)
    store.put(notes(0, 300, words=100))
    free = os.statvfs(small_disk).f_bavail * 4096
    (small_disk / "ballast").write_bytes(b"x" * (free - 150_000))
    with pytest.raises(Unavailable, match="disk is full"):
        fill_up(store, engine, where)
    total = store.counts("notes-1").documents
    assert total >= 300
    (small_disk / "ballast").unlink()
    list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    assert engine.resolve("notes").documents == total
    assert verify(Indexer(store, engine, ENCODERS, NOTES), "notes-1") == []


@pytest.mark.slow
@pytest.mark.parametrize("where", ["store", "index"])
def test_afull_disk_is_one_clear_error_and_loses_nothing_accepted(tmp_path, where):
    child = multiprocessing.get_context("forkserver").Process(
        target=fill_the_disk, args=(tmp_path, where, tmp_path / "report")
    )
    child.start()
    child.join(120)
    assert child.exitcode == 0
    report = orjson.loads((tmp_path / "report").read_bytes())
    assert "disk is full" in report["message"]
    store, engine = open_world(tmp_path)
    count = report["accepted"] if where == "store" else 300
    assert len(store.latest([f"n{n}" for n in range(5_000)])) == count > 0
    list(ingest(Indexer(store, engine, ENCODERS, NOTES)))
    assert engine.resolve("notes").documents == count
    assert verify(Indexer(store, engine, ENCODERS, NOTES), "notes-1") == []


def test_a_broken_store_is_unavailable_and_named(tmp_path):
    folder = tmp_path / "collections" / "notes"
    folder.mkdir(parents=True)
    (folder / "store.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(Unavailable, match=r"store\.sqlite"):
        EmbeddedStore(folder)


def test_a_broken_index_is_unavailable_and_named(tmp_path):
    _, index = small_index(tmp_path)
    words = tmp_path / "collections" / "notes" / "indexes" / index / "words"
    (words / "meta.json").write_text("{")
    _, reader = open_world(tmp_path)
    with pytest.raises(Unavailable, match=index):
        found(reader, index)


def test_an_index_of_another_format_asks_for_a_rebuild(tmp_path):
    _, index = small_index(tmp_path)
    path = tmp_path / "collections" / "notes" / "indexes" / index / "index.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"form": 99}))
    _, reader = open_world(tmp_path)
    with pytest.raises(Conflict, match="rebuild"):
        found(reader, index)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 101, "ä"])
def test_a_collections_name_can_be_a_folder(tmp_path, name):
    _, engine = open_world(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        engine.resolve(name)
    assert caught.value.field == "collection"


@pytest.mark.parametrize("name", ["notes", "notes-", "notes-x", "../notes-1", "notes-1/..", "-1", "notes-\u00b2"])
def test_an_index_name_is_a_collection_and_a_number(name):
    with pytest.raises(NotFound):
        split_index(name)


def test_an_index_name_splits_at_its_last_hyphen():
    assert split_index("my-notes-12") == ("my-notes", 12)


def test_a_lock_goes_with_its_holder(tmp_path):
    path = tmp_path / "lock"
    with exclusive(path, "it"), pytest.raises(Conflict, match="it is held"), exclusive(path, "it"):
        pass
    with exclusive(path, "it"):
        assert path.read_text() == str(os.getpid())


def test_a_file_is_replaced_whole_while_others_read_it(tmp_path):
    path = tmp_path / "pointer"
    write_atomic(path, b"a" * 5_000)
    stop = threading.Event()
    torn: list[bytes] = []

    def watch() -> None:
        while not stop.is_set():
            content = path.read_bytes()
            if content not in (b"a" * 5_000, b"b" * 5_000):
                torn.append(content)

    thread = threading.Thread(target=watch)
    thread.start()
    for letter in (b"b", b"a") * 20:
        write_atomic(path, letter * 5_000)
    stop.set()
    thread.join()
    assert torn == []


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(28, "No space left on device"), True),
        (OSError(122, "Disk quota exceeded"), True),
        (sqlite3.OperationalError("database or disk is full"), True),
        (ValueError("An IO error occurred: 'File too large (os error 27)'"), True),
        (ValueError("An error occurred in a thread: 'An index writer was killed.. A worker thread ...'"), True),
        (OSError(13, "Permission denied"), False),
        (ValueError("schema mismatch"), False),
    ],
)
def test_afull_disk_is_recognised_in_the_messages_of_every_library(error, full):
    assert is_full(error) is full


def test_ids_that_a_kill_left_without_ends_are_no_part_of_the_next_id(tmp_path):
    fields = {"dense": 2}
    vectors = {"dense": np.ones((2, 2), np.float32)}
    first = SlotWriter(tmp_path, fields)
    first.append(["a@1#0", "a@1#1"], vectors)
    first.sync()
    first.close()
    with (tmp_path / "ids.bin").open("ab") as file:
        file.write(b"lost@1#0lost@1#1")
    second = SlotWriter(tmp_path, fields)
    second.append(["b@1#0", "b@1#1"], vectors)
    second.sync()
    second.close()
    assert SlotReader(tmp_path, fields, 4).passage_ids([0, 1, 2, 3]) == ["a@1#0", "a@1#1", "b@1#0", "b@1#1"]


DOCUMENT = Document("a", "A title", (Section("", "Heart failure."),), frozenset({"public"}))


def test_a_store_of_the_first_schema_is_migrated_with_everything_in_it(tmp_path):
    path = tmp_path / "store.sqlite"
    content = codec.dump(DOCUMENT)
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            """
            CREATE TABLE versions(id TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB, PRIMARY KEY(id, version));
            CREATE TABLE latest(id TEXT PRIMARY KEY, version INTEGER NOT NULL, turn INTEGER NOT NULL, hash BLOB) WITHOUT ROWID;
            CREATE UNIQUE INDEX latest_turn ON latest(turn);
            CREATE TABLE states(place TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
                passages INTEGER NOT NULL, attempts INTEGER NOT NULL, cause TEXT NOT NULL, PRIMARY KEY(place, id)) WITHOUT ROWID;
            PRAGMA user_version = 1;
            """
        )
        old.execute("INSERT INTO versions VALUES (?, 3, ?)", (DOCUMENT.id, codec.pack(content)))
        old.execute("INSERT INTO latest VALUES (?, 3, 7, ?)", (DOCUMENT.id, codec.digest(content)))
        old.commit()
    store = EmbeddedStore(tmp_path)
    assert store.latest([DOCUMENT.id]) == {DOCUMENT.id: StoredDocument(DOCUMENT.id, 3, DOCUMENT)}
    assert list(store.put([DOCUMENT], "job")) == [Accepted(DOCUMENT.id, 3, False)]
    assert store.pending("x-1", 9) == [(DOCUMENT.id, 3)]
    assert EmbeddedStore(tmp_path).oldest("x-1") == 7 / 1_000_000


def test_a_store_of_a_later_schema_is_rejected(tmp_path):
    EmbeddedStore(tmp_path)
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as later:
        later.execute("PRAGMA user_version = 99")
    with pytest.raises(Conflict, match="has schema version 99; this program reads up to 4"):
        EmbeddedStore(tmp_path)
