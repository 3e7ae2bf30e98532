"""Renaming a collection, on either engine: all of it is under the new name, nothing under the old, after any kill."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from wards import WEIGHTS, feed, filled, found, note, remains

from mappings.documents import Deletion
from mappings.errors import Conflict, InvalidInput, NotFound
from search.bootstrap import Medley
from search.settings import Settings
from web.cli.indexing import fill_quietly
from workers.collections import removal, renaming
from workers.collections.removal import remove_collection
from workers.collections.renaming import rename_collection
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect


class Killed(BaseException):
    """A kill, as far as one process can stand it."""


def rename(medley: Medley, name: str = "wrad", target: str = "ward", wait: float = 5.0):
    return rename_collection(medley, name, target, lambda count: None, wait)


def versions(medley: Medley, name: str):
    return {item.id: replace(item, job="") for item in medley.collections.store(name).export()}


def test_a_mistyped_name_can_be_corrected_without_encoding_anything_again(medley, monkeypatch):
    job = feed(medley, "wrad", note("a", "fever"), note("b", "kidney stones"), note("gone"))
    feed(medley, "wrad", note("a"))  # an older copy, which is ignored
    delivery = Delivery(medley.collections.store("wrad"), "wrad")
    delivery.accept([replace(note("a"), source_version=4), Deletion("gone", 5)])
    delivery.finish()
    medley.collections.tune("wrad", WEIGHTS)
    fill_quietly(medley, "wrad")
    before, answers = versions(medley, "wrad"), found(medley, "wrad")
    encoder = medley.models.find_encoder(next(iter(medley.engine.resolve("wrad").encoders.values())))
    monkeypatch.setattr(type(encoder), "encode_passages", lambda *_: pytest.fail("a passage was encoded again"))

    meta = rename(medley)
    assert (meta.collection, meta.documents) == ("ward", 2)
    assert medley.collections.names() == ["ward"]
    assert versions(medley, "ward") == before
    assert found(medley, "ward") == answers
    assert medley.collections.get("ward").fusion.weights == {"bm25": 0.25, "dense": 0.75}
    assert inspect(Indexer.of(medley, "ward")) == []
    assert medley.collections.store("ward").job(job.replace("wrad.", "ward.")).accepted == 3
    if not medley.settings.opensearch:
        assert remains(medley) == ["ward"]
    with pytest.raises(NotFound):
        medley.collections.get("wrad")
    monkeypatch.undo()
    feed(medley, "ward", note("c"))
    fill_quietly(medley, "ward")
    assert medley.engine.published("ward") == meta.index
    assert set(found(medley, "ward")) == {*answers, "c"}


def test_what_was_not_indexed_yet_is_indexed_under_the_new_name(medley):
    filled(medley, "wrad")
    feed(medley, "wrad", note("c", "heart valve"))
    assert rename(medley).documents == 3
    feed(medley, "empty")
    assert rename(medley, "empty", "still-empty") is None
    assert medley.collections.names() == ["still-empty", "ward"]


STEPS = ["_copy", "_index", "verify", "take_away", "clear_vector_cache"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_rename_that_was_killed_is_continued(opened, monkeypatch, step, when):
    before = versions(filled(opened(), "wrad"), "wrad")
    module = renaming if hasattr(renaming, step) else removal
    whole = getattr(module, step)

    def killed(*arguments):
        if when == "after":
            whole(*arguments)
        raise Killed

    monkeypatch.setattr(module, step, killed)
    with pytest.raises(Killed):
        rename(opened())
    monkeypatch.undo()
    half = opened()
    assert [name for name in ("wrad", "ward") if name in half.collections.names()]  # never neither
    assert rename(half).documents == 2
    assert (half.collections.names(), half.engines.catalog.hidden()) == (["ward"], [])
    assert half.engines.catalog.read("ward").origin == ""
    assert versions(half, "ward") == before
    assert found(half, "ward") == ["a", "b"]
    assert inspect(Indexer.of(half, "ward")) == []
    with pytest.raises(NotFound):
        rename(half)


def test_while_it_is_renamed_searches_go_on_and_deliveries_are_refused(opened, monkeypatch):
    gateway = filled(opened(), "wrad")
    monkeypatch.setattr(renaming, "_index", lambda *_: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        rename(opened())
    monkeypatch.undo()
    assert gateway.collections.names() == ["wrad"]
    assert found(gateway, "wrad") == ["a", "b"]
    with pytest.raises(Conflict, match="being renamed or deleted"):
        gateway.collections.store("wrad").put([note("late")])
    with pytest.raises(NotFound):
        gateway.collections.get("ward")
    with pytest.raises(Conflict, match="finish that with `medley collection rename wrad ward`, or give it up"):
        remove_collection(opened(), "wrad")
    filled(gateway, "letters")
    with pytest.raises(Conflict, match="'ward' exists"):
        rename(opened(), "letters", "ward")

    remove_collection(opened(), "ward")  # given up
    gateway.collections.store("wrad").put([note("late")])
    assert sorted(opened().collections.names()) == ["letters", "wrad"]


def test_a_rename_waits_for_no_writer_for_ever(opened):
    worker = filled(opened(), "wrad")
    with worker.engine.writer("wrad-1"), pytest.raises(Conflict, match="wrad-1"):
        rename(opened(), wait=0.2)
    worker.collections.store("wrad").put([note("c")])
    assert worker.collections.names() == ["wrad"]


def test_a_collection_that_exists_is_never_replaced(medley):
    filled(medley, "wrad")
    filled(medley, "ward")
    with pytest.raises(Conflict, match="the collection 'ward' exists: choose another name, or delete it first"):
        rename(medley)
    with pytest.raises(InvalidInput, match="is called 'ward' already"):
        rename(medley, "ward", "ward")
    with pytest.raises(NotFound, match="there is no collection 'wart'; did you mean 'ward'"):
        rename(medley, "wart", "other")
    assert medley.collections.names() == ["ward", "wrad"]


def test_a_later_collection_of_the_old_name_is_not_taken_for_the_renamed_one(opened, monkeypatch):
    """The rename was killed at its very end: repeating it must not delete what has the old name now."""
    medley = filled(opened(), "wrad")
    whole = renaming.take_away

    def killed(*arguments):
        whole(*arguments)
        raise Killed

    monkeypatch.setattr(renaming, "take_away", killed)
    with pytest.raises(Killed):
        rename(medley)
    monkeypatch.undo()
    filled(medley, "wrad")
    with pytest.raises(Conflict, match="'ward' exists"):
        rename(opened())
    assert found(medley, "wrad") == ["a", "b"]


def test_a_collection_made_while_a_rename_waits_is_not_merged_with_the_renamed_one(opened, monkeypatch):
    medley = filled(opened(), "wrad")
    exclusive = medley.engine.exclusive

    def waits(name, wait):
        feed(opened(), "ward", note("mine"))
        time.sleep(1.1 if medley.settings.opensearch else 0)  # until this process sees it
        return exclusive(name, wait)

    monkeypatch.setattr(medley.engine, "exclusive", waits)
    with pytest.raises(Conflict, match="'ward' exists"):
        rename(medley)
    assert set(versions(medley, "ward")) == {"mine"}
    medley.collections.store("wrad").put([note("c")])  # nothing was sealed


def test_a_killed_rename_of_a_collection_of_an_earlier_version_is_continued(tmp_path, monkeypatch):
    settings = Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")
    medley = filled(Medley.open(settings), "wrad")
    (tmp_path / "home/collections/wrad/collection.json").write_text('{"kind": "notes"}')
    monkeypatch.setattr(medley.engine, "remove", lambda name: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        rename(medley)
    assert rename(Medley.open(settings)).documents == 2
