"""Deleting a collection, on either engine: nothing is left of it, and nobody can write to it meanwhile or afterwards."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from markers import Markers
from wards import EVERYBODY, WEIGHTS, feed, filled, found, note, remains

from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.catalog import CatalogEntry
from web.cli.indexing import fill_quietly, rebuild
from workers.collections.removal import remove_collection
from workers.collections.renaming import rename_collection
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect
from workers.indexing.rebuild import begin


def test_a_collection_that_is_not_wanted_any_more_can_be_deleted_entirely(medley, tmp_path):
    markers = Markers(seed=5)
    job = feed(medley, "ward", *[markers.mark(note(f"d{number}", markers.word())) for number in range(5)])
    medley.collections.tune("ward", WEIGHTS)
    fill_quietly(medley, "ward")
    removed = remove_collection(medley, "ward")
    assert (removed.kind, removed.documents, removed.indexes) == ("notes", 5, ("ward-1",))
    assert medley.collections.names() == []
    if medley.settings.opensearch:
        medley.engine.cluster.write("POST", f"/{medley.engine.cluster.prefix}.admin/_refresh")
    assert remains(medley) == []
    assert markers.found(tmp_path) == []
    assert [path.name for path in tmp_path.rglob("*") if "ward" in path.name] == []
    for refused in (lambda: medley.collections.store("ward").job(job), lambda: remove_collection(medley, "ward")):
        with pytest.raises(NotFound, match="there is no collection 'ward'"):
            refused()


def test_a_deleted_collection_is_unknown_in_a_process_that_has_it_open(opened):
    gateway, command = filled(opened()), opened()
    assert found(gateway, "ward") == ["a", "b"]
    delivery = Delivery(gateway.collections.store("ward"), "ward")
    remove_collection(command, "ward")
    assert gateway.collections.names() == []
    for asked in (lambda: found(gateway, "ward"), lambda: gateway.collections.document("ward", "a", EVERYBODY)):
        with pytest.raises(NotFound, match="there is no collection 'ward'"):
            asked()
    with pytest.raises((Conflict, NotFound)):
        delivery.accept([note("late")])
    with pytest.raises(NotFound):
        fill_quietly(gateway, "ward")
    assert remains(command) == [] or command.settings.opensearch
    assert command.collections.names() == []


def test_a_collection_made_anew_is_not_taken_for_the_deleted_one(opened):
    gateway, command = filled(opened()), opened()
    assert found(gateway, "ward") == ["a", "b"]
    remove_collection(command, "ward")
    feed(command, "ward", note("c"))
    fill_quietly(command, "ward")
    time.sleep(1.1 if command.settings.opensearch else 0)
    assert found(gateway, "ward") == ["c"]
    assert command.engine.published("ward") == "ward-2"
    feed(gateway, "ward", note("d"))
    assert set(command.collections.store("ward").newest(["a", "c", "d"])) == {"c", "d"}
    fill_quietly(command, "ward")
    assert inspect(Indexer.of(command, "ward")) == []


def test_nothing_is_deleted_while_an_index_is_written(opened):
    worker, command = filled(opened()), opened()
    with worker.engine.writer("ward-1"), pytest.raises(Conflict, match="ward-1"):
        remove_collection(command, "ward", wait=0.2)
    building = rebuild(worker, "ward")
    next(building)
    with pytest.raises(Conflict, match="ward-2"):
        remove_collection(command, "ward", wait=0.2)
    building.close()
    assert found(worker, "ward") == ["a", "b"]
    feed(worker, "ward", note("c"))  # nothing was sealed
    begin(Indexer.of(worker, "ward", encoders={}))  # a rebuild that the queue's workers carry out
    remove_collection(command, "ward", wait=5.0)
    assert command.collections.names() == []


def test_documents_that_arrive_while_their_collection_is_deleted_are_refused_or_deleted(opened):
    gateway, command, refused = filled(opened()), opened(), threading.Event()
    errors: list[MedleyError] = []

    def deliver() -> None:
        for number in range(10_000):
            try:
                feed(gateway, "ward", note(f"n{number}")) if number == 0 else gateway.collections.store("ward").put(
                    [note(f"n{number}")]
                )
            except MedleyError as error:
                errors.append(error)
                refused.set()
                return

    thread = threading.Thread(target=deliver)
    thread.start()
    time.sleep(0.3)
    remove_collection(command, "ward")
    assert refused.wait(20)
    thread.join()
    assert isinstance(errors[0], Conflict | NotFound), errors
    if not command.settings.opensearch:
        assert remains(command) == []
    assert command.collections.names() == []


@pytest.mark.parametrize("step", ["sealed", "hidden", "without indexes"])
def test_a_deletion_that_was_killed_is_continued(opened, step):
    medley = filled(opened())
    medley.collections.store("ward").seal()
    if step != "sealed":
        entry = medley.engines.catalog.read("ward")
        medley.engines.catalog.add("ward", replace(entry, phase="leaving"))
        with pytest.raises(
            Conflict, match="being deleted or renamed: wait, or finish it with `medley collection delete"
        ):
            medley.collections.create("ward", "notes")
    if step == "without indexes":
        medley.engine.remove("ward")
    again = opened()
    assert again.collections.names() == (["ward"] if step == "sealed" else [])
    remove_collection(again, "ward")
    assert (again.collections.names(), again.engines.catalog.hidden()) == ([], [])
    filled(again)
    assert found(again, "ward") == ["a", "b"]


def test_a_collection_whose_kind_is_gone_can_be_deleted(medley):
    medley.engines.catalog.add("letters", CatalogEntry("letters-of-a-removed-file"))
    assert remove_collection(medley, "letters").documents is None
    assert medley.collections.names() == []


@pytest.mark.parametrize("name", ["", "Ward", "a/b", "..", "w" * 300, "ward*", "ward,notes", "_all", ".hidden", "wárd"])
def test_a_name_that_no_collection_can_have_is_refused(medley, name):
    filled(medley)
    with pytest.raises(InvalidInput, match="is not a valid collection name"):
        remove_collection(medley, name)
    with pytest.raises(InvalidInput, match="is not a valid collection name"):
        rename_collection(medley, "ward", name, lambda count: None)
    assert medley.collections.names() == ["ward"]


def test_an_unknown_name_is_answered_with_the_nearest(medley):
    filled(medley)
    filled(medley, "letters")
    with pytest.raises(NotFound, match="there is no collection 'wrad'; did you mean 'ward'"):
        remove_collection(medley, "wrad")
    with pytest.raises(NotFound, match="there are: letters, ward"):
        remove_collection(medley, "x-rays")


def test_only_the_named_collection_is_deleted(medley):
    """Its name is the beginning of another's."""
    for name in ("ward", "ward-2", "ward-search", "w"):
        filled(medley, name)
    remove_collection(medley, "ward")
    assert medley.collections.names() == ["w", "ward-2", "ward-search"]
    for name in medley.collections.names():
        assert found(medley, name) == ["a", "b"]
        assert inspect(Indexer.of(medley, name)) == []
