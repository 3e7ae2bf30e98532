"""The counts that a store keeps: those of all of its documents, whatever was done, undone or damaged."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from damage import change_stored
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mappings.documents import Deletion, Document, Section
from mappings.errors import Damaged
from search.engines.embedded.database import Database
from search.engines.embedded.store import EmbeddedStore
from search.storage import State, StateRecord, StoreCounts, StoreProblem

PLACES = ("notes-1", "notes-2")
JOBS = ("", "notes.a", "notes.b")
WRONG = StoreProblem("the numbers of documents by state were wrong in the store", "they were counted anew")


def note(name: str, text: str = "heart failure", source: int | None = None) -> Document:
    return Document(name, "A note", (Section("", text),), frozenset({"clinical"}), source_version=source)


def record(name: str, version: int, state: State = State.INDEXED) -> StateRecord:
    return StateRecord(name, version, state, passages=1, cause="x" * (state is State.FAILED))


def count(store: EmbeddedStore, place: str, job: str | None = None) -> StoreCounts:
    """The counts by reading every row."""
    with closing(sqlite3.connect(store.path)) as database:
        latest = database.execute("SELECT id, version, hash IS NULL, job FROM latest").fetchall()
        states = database.execute("SELECT id, version, state FROM states WHERE place = ?", (place,)).fetchall()
    known = {name: (version, State(state)) for name, version, state in states}
    kept, deleted = Counter[State](), Counter[State]()
    for name, version, is_deleted, own in latest:
        settled, state = known.get(name, (0, State.RECEIVED))
        if job in (None, own):
            (deleted if is_deleted else kept)[state if settled >= version else State.RECEIVED] += 1
    return StoreCounts(kept.total(), deleted.total(), dict(kept), deleted[State.RECEIVED])


def check(store: EmbeddedStore) -> None:
    for place, job in ((PLACES[0], None), (PLACES[0], JOBS[1]), (PLACES[1], None), (PLACES[1], JOBS[0])):
        assert store.counts(place, job) == count(store, place, job)


def check_all(store: EmbeddedStore) -> None:
    for place in (*PLACES, "", "notes-9"):
        for job in (None, *JOBS, "notes.unknown"):
            assert store.counts(place, job) == count(store, place, job)


NAMES = st.sampled_from(["a", "b", "c", "d"])
PLACED = st.sampled_from(PLACES)
VERSIONS = st.integers(1, 4)
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.sampled_from(["x", "y"]), st.sampled_from(JOBS)),
    st.tuples(st.just("put at once"), st.lists(NAMES, max_size=6), st.sampled_from(JOBS)),
    st.tuples(st.just("from a source"), NAMES, st.integers(1, 3)),
    st.tuples(st.just("deleted at its source"), NAMES, st.integers(1, 3)),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("settle"), PLACED, NAMES, VERSIONS, st.sampled_from(State)),
    st.tuples(st.just("settle all"), PLACED, st.sampled_from(State)),
    st.tuples(st.just("retry"), PLACED),
    st.tuples(st.just("forget"), PLACED),
    st.tuples(st.just("purge"), st.sampled_from([(), PLACES])),
    st.tuples(st.just("interrupted"), NAMES, PLACED),
    st.tuples(st.just("changed by hand"), PLACED, st.sampled_from(State)),
)
EACH = [
    ("put at once", ["a", "b", "c", "d"], "notes.a"),
    ("settle all", "notes-1", State.INDEXED),
    ("settle all", "notes-1", State.FAILED),
    ("put", "a", "y", "notes.b"),
    ("changed by hand", "notes-1", State.INDEXED),
    ("changed by hand", "notes-1", State.FAILED),
    ("retry", "notes-1"),
    ("settle all", "notes-2", State.INDEXED),
    ("delete", "c"),
    ("delete", "d"),
    ("settle", "notes-1", "d", 2, State.INDEXED),
    ("interrupted", "a", "notes-2"),
    ("purge", ()),
    ("forget", "notes-2"),
]
"""A list of steps in which every trigger has something to do."""


def perform(store: EmbeddedStore, name: str, *values: object) -> None:
    match name, *values:
        case "put", str(identifier), str(text), str(job):
            store.put([note(identifier, text)], job)
        case "put at once", list(names), str(job):
            store.put([note(item, f"text {number}") for number, item in enumerate(names)], job)
        case "from a source", str(identifier), int(source):
            store.put([note(identifier, "sent", source)], "notes.a")
        case "deleted at its source", str(identifier), int(source):
            store.put([Deletion(identifier, source)], "notes.b")
        case "delete", str(identifier):
            store.delete([identifier])
        case "settle", str(place), str(identifier), int(version), State() as state:
            store.settle(place, [record(identifier, version, state)])
        case "settle all", str(place), State() as state:
            store.settle(place, [record(item.id, item.version, state) for item in store.export()])
        case "retry", str(place):
            store.retry(place)
        case "forget", str(place):
            store.forget(place)
        case "purge", tuple(places):
            store.purge(2.0e9, places)
        case "interrupted", str(identifier), str(place):
            interrupt(store, identifier, place)
        case "changed by hand", str(place), State() as state:
            with Database(store.path).write() as database:
                database.execute("UPDATE states SET state = ? WHERE place = ?", (state.value, place))
        case _:
            raise AssertionError(name)


def interrupt(store: EmbeddedStore, name: str, place: str) -> None:
    """Change a document and states in a transaction that is rolled back."""
    with suppress(ZeroDivisionError), Database(store.path).write() as database:
        database.execute(
            "INSERT OR REPLACE INTO latest SELECT 'new', 1, turn + 1, hash, source, job, 0 FROM latest LIMIT 1"
        )
        database.execute("DELETE FROM latest WHERE id = ?", (name,))
        database.execute("UPDATE states SET state = 'failed' WHERE place = ?", (place,))
        raise ZeroDivisionError


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=24))
@example(EACH)
def test_counts_are_those_of_all_documents_after_any_operations(tmp_path_factory, steps):
    store = EmbeddedStore(tmp_path_factory.mktemp("store"))
    for step in steps:
        perform(store, *step)
        check(store)
    check_all(store)
    exported = EmbeddedStore(tmp_path_factory.mktemp("store"))
    exported.restore(store.export())
    check_all(exported)
    assert (store.damage(), exported.damage()) == ([], [])


def undo_counts(path: Path) -> None:
    """Make a store what version 3 of the tables was."""
    with closing(sqlite3.connect(path)) as database:
        kept = (
            "latest_inserted",
            "latest_updated",
            "states_inserted",
            "states_updated",
            "jobs_inserted",
            "jobs_updated",
        )
        for name, kind in database.execute(
            "SELECT name, type FROM sqlite_schema WHERE type = 'trigger' OR name IN ('counts', 'job_counts')"
        ).fetchall():
            if name not in kept:
                database.execute(f"DROP {kind} {name}")
        database.execute("PRAGMA user_version = 3")
        database.commit()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=6))
def test_a_store_without_counts_gets_them_when_it_is_opened(tmp_path_factory, before, after):
    store = EmbeddedStore(tmp_path_factory.mktemp("store"))
    for step in before:
        perform(store, *step)
    undo_counts(store.path)
    migrated = EmbeddedStore(store.path.parent)
    check_all(migrated)
    for step in after:
        perform(migrated, *step)
        check(migrated)
    check_all(migrated)
    assert migrated.damage() == []


def test_a_process_that_opened_the_store_before_keeps_the_counts_too(tmp_path):
    EmbeddedStore(tmp_path)
    undo_counts(tmp_path / "store.sqlite")
    with closing(sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)) as earlier:
        earlier.create_function("row_sum", -1, lambda *values: 0, deterministic=True)
        earlier.execute("SELECT * FROM latest").fetchall()
        store = EmbeddedStore(tmp_path)
        for version in (1, 2):
            earlier.execute(
                "INSERT OR REPLACE INTO latest VALUES ('a', ?, ?, x'00', NULL, 'notes.a', 0)", (version, version)
            )
            earlier.execute("INSERT OR REPLACE INTO states VALUES ('notes-1', 'a', 1, 'indexed', 1, 1, '', 0)")
            check_all(store)


def test_forgetting_an_index_leaves_no_counts_of_it(tmp_path):
    store = EmbeddedStore(tmp_path)
    store.put([note("a"), note("b")], "notes.a")
    for place in PLACES:
        store.settle(place, [record("a", 1), record("b", 1, State.FAILED)])
    store.forget("notes-1")
    assert store.counts("notes-1") == StoreCounts(2, 0, {State.RECEIVED: 2})
    assert store.counts("notes-2", "notes.a") == StoreCounts(2, 0, {State.INDEXED: 1, State.FAILED: 1})


def test_jobs_without_documents_leave_no_counts(tmp_path):
    store = EmbeddedStore(tmp_path)
    for number in range(20):
        store.put([note("a", f"text {number}")], f"notes.{number}")
        store.settle("notes-1", [record("a", number + 1)])
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("SELECT DISTINCT job FROM job_counts").fetchall() == [("notes.19",)]


CHANGES = (
    "UPDATE counts SET documents = documents + 1 WHERE place = ''",
    "UPDATE counts SET documents = 'many' WHERE place = ''",
    "UPDATE counts SET state = 'indexes' WHERE place <> ''",
    "UPDATE counts SET deleted = 1",
    "DELETE FROM counts",
    "DELETE FROM job_counts",
    "UPDATE job_counts SET job = 'another'",
    "INSERT INTO counts VALUES ('notes-1', 1, 'failed', 3)",
)


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_counts_are_found_and_mended(tmp_path, change):
    store = EmbeddedStore(tmp_path)
    store.put([note("a"), note("b")], "notes.a")
    store.settle("notes-1", [record("a", 1)])
    change_stored(store.path, change)
    assert list(store.damage()) == [WRONG]
    check_all(store)
    assert list(store.damage()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (CHANGES[1], "store.sqlite is damaged: 'many' is not a count; run `medley index verify`"),
        (CHANGES[2], "store.sqlite is damaged: 'indexes' is not a state; run `medley index verify`"),
    ],
)
def test_counts_that_are_none_are_an_error_that_says_so(tmp_path, change, message):
    store = EmbeddedStore(tmp_path)
    store.put([note("a")])
    store.settle("notes-1", [record("a", 1)])
    change_stored(store.path, change)
    with pytest.raises(Damaged) as caught:
        store.counts("notes-1")
    assert caught.value.message == message


def test_counts_that_cannot_be_mended_say_why(tmp_path):
    store = EmbeddedStore(tmp_path / "notes")
    store.put([note("a")])
    change_stored(store.path, "DELETE FROM counts")
    store.seal()
    reason = "nothing can be written to the collection 'notes': it is being renamed or deleted"
    assert [item.action for item in store.damage()] == [f"they could not be counted anew: {reason}"]


def test_the_oldest_change_that_waits_is_found_among_many_and_among_few(tmp_path):
    store = EmbeddedStore(tmp_path)
    store.put([note(str(number)) for number in range(9)])
    turns = [item.accepted / 1_000_000 for item in store.export()]
    assert store.oldest("notes-1") == turns[0]
    store.settle("notes-1", [record(str(number), 1) for number in range(9) if number not in (3, 7)])
    assert store.oldest("notes-1") == turns[3]
    store.settle("notes-1", [record("3", 1, State.FAILED)])
    assert store.oldest("notes-1") == turns[7]
    store.settle("notes-1", [record("7", 1)])
    assert store.oldest("notes-1") is None


def change_for_ever(folder: Path, began: Event) -> None:
    store = EmbeddedStore(folder)
    for number in range(10**9):
        store.put([note(f"n{number * other % 97}", f"text {number}") for other in range(5)], JOBS[number % 3])
        store.settle("notes-1", [record(*item) for item in store.pending("notes-1", 3)])
        store.delete([f"n{number % 89}"])
        began.set()


@pytest.mark.slow
def test_counts_are_right_after_kills(tmp_path):
    context = multiprocessing.get_context("forkserver")
    for pause in (0.01, 0.1, 0.3, 0.5):
        began = context.Event()
        child = context.Process(target=change_for_ever, args=(tmp_path, began))
        child.start()
        assert began.wait(60)
        child.join(pause)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        store = EmbeddedStore(tmp_path)
        check_all(store)
        assert store.damage() == []
    assert store.counts("notes-1").documents
    assert store.counts("notes-1").states[State.INDEXED]
