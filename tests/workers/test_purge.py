"""Text that was replaced or deleted was readable in the files for ever; after a purge it is in none of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from markers import Markers
from worlds import embedded_world, note

from mappings.documents import Deletion
from mappings.errors import Conflict
from search.settings import Settings
from search.storage import Job, Purged
from workers.indexing.inspection import inspect
from workers.indexing.purge import apply_retention, purge
from workers.indexing.rebuild import begin, building

ROOT = Path(__file__).parents[2]
LIVE = [f"live{number}" for number in range(30)]


def fill(world, markers: Markers) -> None:
    """Replace and delete 300 documents in several ways; 30 and the newest versions of 150 stay."""

    def marked(name: str, **rest):
        return markers.mark(replace(note(name, f"asthma {markers.word()} {markers.word()}"), **rest))

    gone = [marked(f"{markers.word()}-{number}") for number in range(100)]
    sourced = [marked(f"{markers.word()}-{number}", source_version=1) for number in range(40)]
    failed = [marked(f"{markers.word()}-{number}", title="poison") for number in range(10)]
    world.put(*[note(name, "asthma") for name in LIVE], *gone, *sourced, *failed)
    for times in (2, 1):
        world.put(*[marked(f"again{number}") for number in range(75 * times)])
        world.ingest()
    world.put(*[note(f"again{number}", "asthma and statins") for number in range(150)])
    world.store.put([Deletion(item.id, 2) for item in sourced])
    world.delete(*[item.id for item in [*gone, *failed]])
    world.ingest()


def newest() -> list[str]:
    return sorted([*LIVE, *(f"again{number}" for number in range(150))])


def check(world, markers: Markers, folder: Path) -> None:
    assert markers.found(folder) == []
    assert world.found("asthma") == newest()
    assert inspect(world.indexer()) == []
    assert set(world.store.latest([*newest(), "absent"])) == set(newest())


@pytest.mark.slow
def test_nothing_of_what_was_replaced_or_deleted_is_left_in_any_file(tmp_path):
    world, markers = embedded_world(tmp_path), Markers(seed=1)
    fill(world, markers)
    found = "\n".join(markers.found(tmp_path))
    assert all(name in found for name in ("store.sqlite", "indexes/"))
    assert purge(world.indexer(), time.time(), grace=0.0) == Purged(versions=375, tombstones=150)
    check(world, markers, tmp_path)
    assert world.engine.names("notes") == ["notes-2"]
    assert purge(world.indexer(), time.time(), grace=0.0) == Purged()
    assert world.engine.names("notes") == ["notes-2"]  # nothing was left to be cleared


@pytest.mark.opensearch
def test_nothing_of_it_is_left_on_the_node(own_node):
    from worlds import opensearch_world

    with opensearch_world(own_node.url) as world:
        markers = Markers(seed=2)
        fill(world, markers)
        assert markers.found(own_node.data)
        assert purge(world.indexer(), time.time(), grace=0.0) == Purged(versions=375, tombstones=150)
        check(world, markers, own_node.data)
        assert purge(world.indexer(), time.time(), grace=0.0) == Purged()


KILLED = """
import sys, time
sys.path[:0] = ["tests/services"]
from pathlib import Path
from worlds import embedded_world
from workers.indexing.purge import purge
world = embedded_world(Path(sys.argv[1]))
print("purging", flush=True)
purge(world.indexer(), time.time(), grace=0.0)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.1, 0.3])
def test_a_purge_that_was_killed_can_be_repeated(tmp_path, seconds):
    markers = Markers(seed=3)
    fill(embedded_world(tmp_path), markers)
    ran = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT, env=os.environ
    )
    with ran:
        assert ran.stdout.readline() == b"purging\n"
        time.sleep(seconds)
        ran.send_signal(signal.SIGKILL)
    world = embedded_world(tmp_path)
    purge(world.indexer(), time.time(), grace=0.0)
    check(world, markers, tmp_path)


def test_what_a_killed_rebuild_left_is_removed_although_the_index_is_clean(tmp_path):
    world, markers = embedded_world(tmp_path), Markers(seed=4)
    world.put(note("a"), markers.mark(note("b", f"heart {markers.word()}")))
    world.ingest()
    aside = tmp_path / "collections/notes/indexes"
    (aside / ".dropped-notes-9").mkdir()
    (aside / ".dropped-notes-9/words").write_text(markers.words[0])
    world.engine.create("notes", {"dense": (world.encoder.fingerprint, 64)})
    world.put(note("b", "clean"))
    world.ingest()
    purge(world.indexer(), time.time(), grace=0.0)
    assert markers.found(tmp_path) == []
    assert len(list(aside.iterdir())) == 1


def test_a_purge_before_the_index_has_processed_a_deletion_leaves_the_tombstone(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    world.store.delete(["a"])
    assert purge(world.indexer(), time.time(), grace=0.0) == Purged(versions=1, waiting=1)
    assert world.found("heart") == ["a", "b"]
    world.ingest()
    assert purge(world.indexer(), time.time(), grace=0.0) == Purged(tombstones=1)
    assert world.found("heart") == ["b"]


def test_a_collection_without_an_index_can_be_purged(tmp_path):
    world, markers = embedded_world(tmp_path), Markers(seed=5)
    world.put(markers.mark(note("a", markers.word())), note("a", "clean"))
    assert purge(world.indexer(), time.time()) == Purged(versions=1)
    assert markers.found(tmp_path) == []


def test_while_the_workers_build_an_index_a_purge_says_so(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    world.delete("a")
    index = begin(world.indexer())
    with pytest.raises(Conflict, match=f"building {index}"):
        purge(world.indexer(), time.time(), grace=0.0)


def test_retention_purges_once_a_day_what_is_old_enough(tmp_path):
    world = embedded_world(tmp_path)
    settings = Settings(home=tmp_path, retention_days=1)
    world.put(note("a"), note("b"))
    world.put(note("a", "other words"))
    world.ingest()
    assert apply_retention(world.indexer(), Settings(home=tmp_path)) is None
    assert apply_retention(world.indexer(), settings) == Purged()  # replaced less than a day ago
    assert apply_retention(world.indexer(), settings) is None
    assert world.store.purge(time.time(), ["notes-1"]).versions == 1


@pytest.mark.slow
def test_retention_leaves_nothing_of_what_is_old_in_any_file(tmp_path, monkeypatch):
    monkeypatch.setattr("workers.indexing.rebuild.GRACE_SECONDS", 0.5)
    world, markers = embedded_world(tmp_path), Markers(seed=6)
    fill(world, markers)
    with world.store._database.write() as store:  # let it all have happened two days ago
        store.execute("UPDATE superseded SET turn = turn - 172800000000")
        store.execute("UPDATE latest SET turn = turn - 172800000000")
    settings = Settings(home=tmp_path, retention_days=1)
    assert apply_retention(world.indexer(), settings) == Purged(versions=375, tombstones=150)
    check(world, markers, tmp_path)


def test_a_retention_that_failed_is_tried_again_the_next_day(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    world.delete("a")
    begin(world.indexer())
    settings = Settings(home=tmp_path, retention_days=1)
    with pytest.raises(Conflict, match="the workers are building"):
        apply_retention(world.indexer(), settings)
    assert apply_retention(world.indexer(), settings) is None
    world.store.keep_job(Job("notes.retention", time.time() - 86_401))
    with pytest.raises(Conflict, match="the workers are building"):
        apply_retention(world.indexer(), settings)


def test_with_a_queue_retention_lets_the_workers_rebuild_the_index(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    world.delete("a")
    apply_retention(world.indexer(), Settings(home=tmp_path, retention_days=1), queued=True)
    assert building(world.indexer()) == ["notes-2"]
