from __future__ import annotations

import base64
import sqlite3
from contextlib import closing

import pytest
from damage import change_stored
from worlds import embedded_world, note, opensearch_world

from mappings.errors import Damaged
from search.engines import codec
from search.engines.embedded.database import _SCHEMA
from search.engines.embedded.store import EmbeddedStore
from search.storage import DAMAGED, State, StoreProblem
from workers.indexing.inspection import inspect

SEND_AGAIN = StoreProblem("1 documents are damaged in the store", "send them again", ("b",))


def damage_row(world, statement: str) -> None:
    change_stored(world.store.path, statement)


def damage_record(world) -> None:
    """Change the record of `b` in the store of either engine."""
    if hasattr(world.store, "path"):
        changed = "CAST(substr(raw, 1, 30) || x'00' || substr(raw, 32) AS BLOB)"
        damage_row(world, f"UPDATE versions SET raw = {changed} WHERE id = 'b'")
        return
    raws = world.store._raws
    head = world.store._heads.read(["b"])["b"][0]
    row = raws.read([head.raw])[head.raw].source
    packed = base64.b64decode(row["raw"])
    raws.put({head.raw: row | {"raw": base64.b64encode(packed[:30] + b"\0" + packed[31:]).decode()}})


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def damaged(request, tmp_path):
    """A world with three indexed documents, of which the record of `b` is damaged."""
    if request.param == "embedded":
        yield _damaged(embedded_world(tmp_path))
        return
    with opensearch_world(request.getfixturevalue("node").url) as made:
        yield _damaged(made)


def _damaged(world):
    world.put(note("a"), note("b", "heart attack"), note("c"))
    world.ingest()
    damage_record(world)
    return world


def test_a_damaged_document_is_named_and_is_no_deletion(damaged):
    stored = damaged.store.latest(["a", "b"])
    assert stored["a"].document == note("a")
    assert stored["b"].damage == DAMAGED
    with pytest.raises(Damaged, match="document 'b' is damaged in the store: send it again") as caught:
        assert stored["b"].document
    assert caught.value.code == "damaged"


def test_a_rebuild_sets_a_damaged_document_aside_and_indexes_the_rest(damaged):
    outcomes = {item.id: item for item in damaged.rebuild()}
    assert outcomes["b"].cause == DAMAGED
    assert not outcomes["b"].deleted
    assert damaged.found("heart") == ["a", "c"]
    assert [item.cause for item in damaged.store.states("notes-2", State.FAILED)] == [DAMAGED]


def test_a_damaged_document_that_waits_does_not_stop_the_others(damaged):
    damaged.put(note("b", "heart block"), note("d", "heart murmur"))
    damage_record(damaged)
    if hasattr(damaged.store, "path"):
        damage_row(damaged, "UPDATE versions SET raw = NULL WHERE id = 'b'")
    assert {item.id: item.state for item in damaged.ingest()} == {"b": State.FAILED, "d": State.INDEXED}
    assert damaged.found("murmur") == ["d"]


def test_verify_lists_what_must_be_sent_again(damaged):
    assert list(damaged.store.damage()) == [SEND_AGAIN]
    found = inspect(damaged.indexer())
    assert [str(item) for item in found] == ["1 documents are damaged in the store (such as b): send them again"]


@pytest.mark.parametrize("text", ["heart attack", "heart block"])
def test_sending_a_damaged_document_again_replaces_it_with_the_same_content_too(damaged, text):
    (accepted,) = damaged.put(note("b", text))
    assert (accepted.version, accepted.changed) == (2, True)
    assert list(damaged.store.damage()) == []
    damaged.ingest()
    assert damaged.found("heart") == ["a", "b", "c"]
    assert inspect(damaged.indexer()) == []
    (repeated,) = damaged.put(note("b", text))
    assert not repeated.changed


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE latest SET version = 1 WHERE id = 'b'",  # of three
        "UPDATE latest SET version = 9 WHERE id = 'b'",
        "UPDATE latest SET version = 'x' WHERE id = 'b'",
        "UPDATE latest SET hash = NULL WHERE id = 'b'",
        "UPDATE latest SET hash = 'x' WHERE id = 'b'",
        "UPDATE latest SET source = 2000000000 WHERE id = 'b'",
        "UPDATE versions SET version = 7 WHERE id = 'b' AND version = 3",
        "UPDATE versions SET raw = NULL WHERE id = 'b'",
        "UPDATE versions SET raw = 5 WHERE id = 'b'",
        "UPDATE versions SET raw = CAST(x'fffe' AS TEXT) WHERE id = 'b'",
        "DELETE FROM latest WHERE id = 'b'",
        "DELETE FROM versions WHERE id = 'b' AND version = 3",
    ],
)
@pytest.mark.parametrize("text", ["heart attack", "heart block"])
def test_whatever_is_damaged_in_a_row_is_listed_and_sending_it_again_repairs_it(tmp_path, change, text):
    world = embedded_world(tmp_path)
    for text in ("heart attack", "heart block", "heart attack"):
        world.put(note("a"), note("b", text))
    world.ingest()
    damage_row(world, change)
    world = embedded_world(tmp_path)
    assert SEND_AGAIN in world.store.damage()
    world.put(note("b", text))
    assert world.store.latest(["b"])["b"].document == note("b", text)
    world.ingest()
    assert "b" in world.found("heart")
    assert not [item for item in world.store.damage() if item.ids == ("b",)]


def test_damaged_states_are_reported_and_a_rebuild_replaces_them(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    damage_row(world, "UPDATE states SET cause = 'x' WHERE id = 'a'")
    text = "what the store says of 1 documents in an index is damaged (such as a): run `medley index rebuild notes`"
    assert [str(item) for item in inspect(world.indexer())] == [text]
    embedded_world(tmp_path).rebuild()
    assert inspect(embedded_world(tmp_path).indexer()) == []


def test_a_state_or_a_job_that_is_none_is_an_error_that_says_so(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"))
    world.ingest()
    damage_row(world, "UPDATE counts SET state = 'indexes' WHERE place <> ''")
    damage_row(world, "INSERT INTO jobs(id, record) VALUES ('j', '{')")
    with pytest.raises(Damaged, match="'indexes' is not a state"):
        world.store.counts("notes-1")
    with pytest.raises(Damaged, match="record of the job 'j' is damaged"):
        world.store.job("j")
    assert any("deliveries or rebuilds" in item.problem for item in world.store.damage())


def test_a_damaged_page_of_the_store_is_one_error_that_says_what_to_do(tmp_path):
    world = embedded_world(tmp_path)
    world.put(*(note(f"n{number}") for number in range(50)))
    with closing(sqlite3.connect(world.store.path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        roots = database.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0").fetchall()
    with world.store.path.open("r+b") as file:
        for (page,) in roots:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)
    world = embedded_world(tmp_path)
    with pytest.raises(Damaged, match=r"store\.sqlite is damaged .*: restore the collection 'notes' from a backup"):
        world.store.pending("notes-1", 9)
    assert world.store.damage()


def test_a_store_without_checksums_gets_them_when_it_is_opened(tmp_path):
    path = tmp_path / "store.sqlite"
    content = codec.dump(note("b"))
    with closing(sqlite3.connect(path)) as old:
        old.executescript(f"{_SCHEMA}; PRAGMA user_version = 2")
        old.execute("INSERT INTO versions VALUES ('b', 1, ?)", (codec.pack(content),))
        old.execute("INSERT INTO latest VALUES ('b', 1, 7, ?, 4, 'job')", (codec.digest(content),))
        old.execute("INSERT INTO states VALUES ('notes-1', 'b', 1, 'failed', 0, 1, 'poison')")
        old.execute("INSERT INTO jobs VALUES ('job', '{}')")
        old.commit()
    store = EmbeddedStore(tmp_path)
    assert store.damage() == []
    assert store.retry("notes-1") == 1
    assert store.damage() == []
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT COUNT(*) FROM states WHERE checksum IS NOT NULL").fetchone() == (1,)
