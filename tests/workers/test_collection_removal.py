"""Deleting a collection, on either engine: nothing is left of it, and nobody can write to it meanwhile or afterwards."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import replace

import pytest
from markers import Markers

from mappings.documents import Access, Document, Section
from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.bootstrap import Medley
from search.catalog import CatalogEntry
from search.query import Query
from search.settings import Settings
from web.cli.indexing import fill_quietly, rebuild
from workers.collections.removal import remove_collection
from workers.collections.renaming import rename_collection
from workers.delivery import Delivery
from workers.indexing.indexer import Indexer
from workers.indexing.inspection import inspect
from workers.indexing.rebuild import begin

ENGINES = ["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)]
EVERYBODY = Access("tester", frozenset({"*"}))
WEIGHTS = "[fusion]\nweights = { bm25 = 0.25, dense = 0.75 }\n"


@pytest.fixture(params=ENGINES)
def opened(request, tmp_path):
    """Opens one installation, as often as it is called, as processes of their own do."""
    settings = Settings(home=tmp_path / "home", encoder="hashing-256", reranker="none")
    if request.param == "opensearch":
        node, prefix = request.getfixturevalue("node"), f"t{secrets.token_hex(5)}"
        settings = replace(settings, opensearch=node.url, opensearch_prefix=prefix)
    yield lambda: Medley.open(settings, patient=True)
    if settings.opensearch:
        cluster = Medley.open(settings).engine.cluster
        cluster.write("DELETE", f"/{cluster.prefix}.*")
        cluster.close()


@pytest.fixture
def medley(opened) -> Medley:
    return opened()


def note(name: str, text: str = "heart failure") -> Document:
    return Document(name, "Note", (Section("PLAN", text),), frozenset({"clinical"}), {}, 3)


def feed(medley: Medley, name: str, *documents: Document) -> str:
    """Create a collection of notes with these documents; the id of the job."""
    medley.collections.create(name, "notes")
    delivery = Delivery(medley.collections.store(name), name)
    delivery.accept(documents)
    delivery.finish()
    return delivery.job.id


def filled(medley: Medley, name: str = "ward") -> Medley:
    feed(medley, name, note("a"), note("b", "kidney stones"))
    fill_quietly(medley, name)
    return medley


def found(medley: Medley, name: str, text: str = "heart") -> list[str]:
    return [hit.document for hit in medley.search(Query(name, EVERYBODY, text)).hits]


def remains(medley: Medley) -> list[str]:
    """What the installation still has under the names of collections: folders, indexes, records."""
    if not medley.settings.opensearch:
        return [path.name for path in (medley.settings.home / "collections").glob("*") if path.name[0] != "."]
    cluster = medley.engine.cluster
    names = [item["index"] for item in cluster.read("GET", f"/_cat/indices/{cluster.prefix}.*", None, {"format": "json"})]
    rows = cluster.read("POST", f"/{cluster.prefix}.admin/_search", {"size": 100})["hits"]["hits"]
    held = {key for row in rows for key in row["_source"]} - {"_removed"}
    return sorted([name for name in names if not name.endswith(".admin")] + sorted(held))


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
        with pytest.raises(Conflict, match="being deleted or renamed: wait, or finish it with `medley collection delete"):
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
