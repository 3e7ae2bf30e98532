"""A store whose indexes are gone, as after a restore of the store alone: its records of them are not believed."""

from __future__ import annotations

import shutil

import pytest
from worlds import embedded_world, note

from mappings.documents import Document, Section
from mappings.errors import NotFound, Unavailable
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.settings import Settings
from web.cli.commands.status import _text, collection_status
from web.cli.indexing import fill_quietly
from workers.indexing.inspection import inspect


def lose_indexes(world, tmp_path):
    """Remove every index and every number that was given to one, and open what is left."""
    cluster = getattr(world.engine, "cluster", None)
    if cluster is None:
        shutil.rmtree(tmp_path / "collections/notes/indexes")
        (tmp_path / "collections/notes/published.json").unlink()
        (tmp_path / "collections/notes/generation").unlink()
    else:
        cluster.write("DELETE", f"/{cluster.prefix}.search.*")
        cluster.write("DELETE", f"/{cluster.prefix}.admin")
        cluster.made.clear()
    world.engine = world.reopen(world.indexer().collection)


def test_a_store_without_its_indexes_is_indexed_again_at_the_first_try(world, tmp_path):
    world.put(note("a"), note("b"), note("c", "poison"))
    world.delete("b")
    world.ingest()
    lose_indexes(world, tmp_path)
    assert {outcome.id for outcome in world.ingest()} == {"a", "b", "c"}
    assert world.found("heart") == ["a"]
    assert world.engine.resolve("notes").index == "notes-2", "a number that states refer to was used again"
    assert [item.problem for item in inspect(world.indexer())] == ["1 documents failed"]
    assert world.store.recorded("notes-1") == (0, 0)


def test_a_store_without_its_indexes_is_rebuilt_at_the_first_try(world, tmp_path):
    world.put(note("a"), note("b"))
    world.ingest()
    world.rebuild()
    lose_indexes(world, tmp_path)
    world.rebuild()
    assert (world.engine.resolve("notes").index, world.found("heart")) == ("notes-3", ["a", "b"])
    assert inspect(world.indexer()) == []


def test_the_indexes_that_states_refer_to_are_listed(world):
    assert set(world.store.indexes()) == set()
    world.put(note("a"))
    assert set(world.store.indexes()) == set()
    world.ingest()
    world.rebuild()
    assert "notes-2" in world.store.indexes()


def test_a_generation_is_above_what_the_caller_names(world):
    assert world.engine.create("notes", {}, above=7).index == "notes-8"
    assert world.engine.create("notes", {}, above=3).index == "notes-9"


def test_a_missing_published_index_is_unavailable_and_everything_is_pending(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"))
    world.ingest()
    shutil.rmtree(tmp_path / "collections/notes/indexes/notes-1")
    world.engine = world.reopen(world.indexer().collection)
    with pytest.raises(Unavailable, match="notes-1 is missing on the disk: run `medley index rebuild notes`"):
        world.engine.resolve("notes")
    assert world.engine.published("notes") is None
    assert [outcome.id for outcome in world.ingest()] == ["a"]
    assert (world.engine.resolve("notes").index, world.found("heart")) == ("notes-2", ["a"])


def test_no_index_at_all_is_not_found_and_says_what_to_do(tmp_path):
    world = embedded_world(tmp_path)
    world.put(note("a"))
    with pytest.raises(NotFound, match="medley index rebuild notes"):
        world.engine.resolve("notes")


def test_status_says_that_the_published_index_is_missing(tmp_path):
    medley = Medley.open(Settings(home=tmp_path, encoder=HASHING, reranker="none"))
    medley.collections.create("notes")
    medley.collections.store("notes").put([Document("a", "A", (Section("", "Heart."),), frozenset({"public"}))])
    fill_quietly(medley, "notes")
    shutil.rmtree(tmp_path / "collections/notes/indexes/notes-1")
    medley = Medley.open(Settings(home=tmp_path, encoder=HASHING, reranker="none"))
    state = collection_status(medley, "notes")
    assert (state["index"], state["indexed"], state["waiting"], state["passages"]) == ("", 0, 1, 0)
    assert "notes: the published index notes-1 is missing on the disk" in _text([state])
