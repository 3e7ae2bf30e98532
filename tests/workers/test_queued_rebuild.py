"""A rebuild that workers fill: resumed after any kill, followed by what arrives, published when it is complete."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worlds import Counting, note

from mappings.errors import ModelError, NotFound
from search.storage import State
from workers.indexing import rebuild as module
from workers.indexing.ingest import ingest
from workers.indexing.inspection import verify
from workers.indexing.rebuild import job_name, rebuild

OTHER = Counting(dimension=32)


def begin(world, encoder=OTHER) -> str:
    return module.begin(replace(world.indexer(), encoders={"dense": encoder}))


def fill(world, index: str, ids, encoder=OTHER) -> list:
    return list(
        module.fill_aside(
            world.indexer(find_encoder=lambda _, mark: {encoder.fingerprint: encoder}.get(mark)), index, ids
        )
    )


def finish(world, index: str) -> bool:
    return module.publish_when_complete(world.indexer(), index)


def building(world) -> list[str]:
    return module.building(world.indexer())


def retire(world) -> list[str]:
    return module.retire(world.indexer())


@pytest.fixture
def filled(world):
    world.put(*(note(f"n{number}") for number in range(6)))
    world.ingest()
    return world


def test_an_index_is_filled_in_parts_and_published_when_it_is_complete(filled):
    index = begin(filled)
    assert (index, building(filled), filled.engine.published("notes")) == ("notes-2", ["notes-2"], "notes-1")
    assert len(fill(filled, index, ["n0", "n1", "n2"])) == 3
    assert not finish(filled, index)
    assert len(fill(filled, index, [f"n{number}" for number in range(6)])) == 3
    assert finish(filled, index)
    assert (building(filled), filled.engine.published("notes")) == ([], "notes-2")
    filled.encoder = OTHER
    assert len(filled.found("heart", "notes-2")) == 6
    assert verify(filled.indexer(), "notes-2") == []


def test_begun_again_it_goes_on_with_the_existing_index(filled):
    index = begin(filled)
    fill(filled, index, ["n0"])
    assert begin(filled) == index
    assert filled.store.counts(index).states[State.INDEXED] == 1
    assert begin(filled, Counting(dimension=16)) == "notes-3"  # another model is another rebuild


def test_what_arrives_meanwhile_is_found_at_once_and_comes_to_the_new_one(filled):
    index = begin(filled)
    fill(filled, index, [f"n{number}" for number in range(6)])
    filled.put(note("late"))
    filled.store.delete(["n0"])
    filled.ingest()
    assert "late" in filled.found("heart", "notes-1")
    assert not finish(filled, index)
    waiting = [name for name, _ in filled.store.pending(index, 99)]
    assert sorted(waiting) == ["late", "n0"]
    fill(filled, index, waiting)
    assert finish(filled, index)
    filled.encoder = OTHER
    assert filled.found("heart", index) == ["late", "n1", "n2", "n3", "n4", "n5"]


def test_vectors_of_the_same_encoder_are_taken_over(filled):
    before = filled.encoder.texts
    index = begin(filled, filled.encoder)
    fill(filled, index, [f"n{number}" for number in range(6)], filled.encoder)
    assert finish(filled, index)
    assert filled.encoder.texts == before


def test_one_in_which_most_documents_fail_is_discarded_with_its_cause(world):
    world.put(note("a", "poison"), note("b", "poison"), note("c"))
    list(ingest(world.indexer()))
    index = begin(world)
    fill(world, index, ["a", "b", "c"])
    assert not finish(world, index)
    assert (building(world), list(world.engine.names("notes"))) == ([], ["notes-1"])
    assert "2 documents failed" in world.store.job(job_name("notes", index)).cause


def test_a_rebuild_in_one_process_leaves_the_one_of_the_queue_alone(filled):
    index = begin(filled)
    filled.rebuild()
    assert building(filled) == [index]
    assert filled.engine.published("notes") == "notes-3"


def test_the_old_index_is_dropped_after_the_grace_period(filled, monkeypatch):
    index = begin(filled)
    fill(filled, index, [f"n{number}" for number in range(6)])
    finish(filled, index)
    assert retire(filled) == []
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    assert retire(filled) == ["notes-1"]
    assert list(filled.engine.names("notes")) == ["notes-2"]
    assert filled.store.recorded("notes-1") == (0, 0)


def test_an_older_rebuild_is_not_published_over_a_newer_one(filled):
    older = begin(filled)
    newer = begin(filled, Counting(dimension=16))
    names = [f"n{number}" for number in range(6)]
    fill(filled, newer, names, Counting(dimension=16))
    assert finish(filled, newer)
    fill(filled, older, names)
    assert not finish(filled, older)
    assert (building(filled), filled.engine.published("notes")) == ([], newer)
    assert older not in filled.engine.names("notes")
    assert filled.store.job(job_name("notes", older)).cause == (
        f"the rebuilt index {older} is not published: {newer} was published meanwhile"
    )


def test_a_kill_right_after_publishing_does_not_keep_the_old_one_for_ever(filled, monkeypatch):
    index = begin(filled)
    fill(filled, index, [f"n{number}" for number in range(6)])
    filled.engine.publish(index)
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    assert retire(filled) == []
    assert retire(filled) == ["notes-1"]


def test_an_index_that_was_just_made_is_not_retired(filled, monkeypatch):
    index = begin(filled)
    fill(filled, index, [f"n{number}" for number in range(6)])
    assert finish(filled, index)
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    made = filled.engine.create("notes", {"dense": ("x", 8)}).index
    assert retire(filled) == ["notes-1"]
    assert made in filled.engine.names("notes")


def test_one_that_was_dropped_leaves_no_work(filled):
    index = begin(filled)
    fill(filled, index, ["n0"])
    filled.engine.drop(index)
    module.forget(filled.indexer(), index)
    assert filled.store.job(job_name("notes", index)).cause == "it was dropped"
    assert filled.store.recorded(index) == (0, 0)


def test_one_that_was_dropped_is_not_filled(filled):
    index = begin(filled)
    filled.engine.drop(index)
    assert building(filled) == []
    with pytest.raises(NotFound):
        fill(filled, index, ["n0"])


def test_another_encoder_than_the_index_was_made_for_is_refused(filled):
    index = begin(filled)
    with pytest.raises(ModelError, match="is not among the available models"):
        fill(filled, index, ["n0"], Counting(dimension=16))
    assert filled.store.counts(index).waiting == 6


def test_an_index_of_other_settings_is_not_continued(filled, monkeypatch):
    index = begin(filled)
    monkeypatch.setattr(filled.engine, "drift", lambda name: ["its windows differ"])
    assert begin(filled) != index


def test_rebuild_still_ends_in_one_process(filled):
    assert len(list(rebuild(replace(filled.indexer(), encoders={"dense": OTHER}), grace=0.0))) == 6
