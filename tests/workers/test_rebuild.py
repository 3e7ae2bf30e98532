"""A rebuild in one process: what it takes over, what goes on meanwhile, and what it leaves behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import orjson
import pytest
from worlds import EVERYBODY, NOTES, Counting, embedded_world, note

from mappings.analysis.passages import windows
from mappings.documents import Document, Section
from mappings.errors import Conflict, NotFound, Unavailable
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.storage import State
from workers.indexing import batches
from workers.indexing import ingest as ingest_module
from workers.indexing import rebuild as module
from workers.indexing.ingest import ingest
from workers.indexing.inspection import verify
from workers.indexing.rebuild import begin, rebuild, retire


def test_a_rebuild_with_another_encoder_replaces_the_old_index(world):
    world.put(note("a"), note("b"), note("c", "poison"))
    world.ingest()
    world.delete("b")
    world.encoder = Counting(dimension=32)
    outcomes = world.rebuild()
    assert {outcome.id: outcome.state for outcome in outcomes} == {
        "a": State.INDEXED,
        "b": State.INDEXED,
        "c": State.FAILED,
    }
    assert [(meta.index, published) for meta, published in world.engine.list("notes")] == [("notes-2", True)]
    assert (world.found("heart"), world.counts()) == (["a"], {State.INDEXED: 1, State.FAILED: 1})
    assert world.store.recorded("notes-1") == (0, 0)
    assert world.ingest() == []


def test_a_rebuild_with_the_same_encoder_takes_its_vectors_over(world):
    world.put(note("a"), note("b"), note("hidden"))
    world.ingest()
    world.put(note("b", "kidney stones"))
    assert world.encoder.texts == 6
    world.rebuild()
    assert (world.encoder.texts, world.found("kidney")) == (8, ["b"])
    text = world.engine.passages("notes-2", ["a@1#0"], EVERYBODY)["a@1#0"].model_text
    vector = world.encoder.encode_queries([text])[0]
    leg = world.engine.legs(LegsRequest("notes-2", LexicalQuery(()), {"dense": vector}, EVERYBODY, 3)).rankings["dense"]
    assert (leg[0].passage, leg[0].score) == ("a@1#0", pytest.approx(1.0, abs=1e-3))


@pytest.mark.parametrize("form", [1, None], ids=["another version's form", "damaged words"])
def test_a_rebuild_replaces_an_index_that_cant_be_read(tmp_path, form):
    world = embedded_world(tmp_path)
    world.put(note("a"), note("b"))
    world.ingest()
    folder = tmp_path / "collections/notes/indexes/notes-1"
    if form:
        content = orjson.loads((folder / "index.json").read_bytes())
        (folder / "index.json").write_bytes(orjson.dumps(content | {"form": form}))
    else:
        (folder / "words/meta.json").write_text("{")
    world.engine = world.reopen(NOTES)
    with pytest.raises((Conflict, Unavailable), match="notes-1"):
        world.ingest()
    assert world.engine.list() == []
    world.rebuild()
    assert (world.engine.resolve("notes").index, world.found("heart")) == ("notes-2", ["a", "b"])
    assert not folder.exists()


def test_a_long_passage_gets_a_row_for_each_window_and_a_rebuild_takes_them_over(world):
    windowed = replace(NOTES, window_words=6)
    world.engine = world.reopen(windowed)
    text = "The heart is large. The lungs are clear today. Kidneys look normal again. No fever."
    world.put(Document("a", "", (Section("FINDINGS", text),), frozenset({"ward"})))
    list(ingest(world.indexer(windowed)))
    assert world.encoder.texts == 3
    assert world.engine.resolve("notes").windows == 6
    (passage,) = world.engine.passages("notes-1", ["a@1#0"], EVERYBODY).values()
    list(rebuild(world.indexer(windowed), grace=0.0))
    assert world.encoder.texts == 3
    rows = world.engine.vectors("notes-2", [passage])[passage.id]["dense"]
    assert np.allclose(rows, world.encoder.encode_queries(windows(passage, 6)), atol=1e-3)
    other = replace(NOTES, window_words=0)
    world.engine = world.reopen(other)
    list(rebuild(world.indexer(other), grace=0.0))
    assert world.encoder.texts == 4
    assert (world.engine.resolve("notes").windows, world.engine.dead("notes-3")) == (0, 0)


def test_an_index_that_is_mostly_dead_is_compacted_after_ingestion(tmp_path, monkeypatch):
    world = embedded_world(tmp_path)
    monkeypatch.setattr(ingest_module, "_COMPACT_ABOVE", 10)
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    for number in range(3):
        world.put(*(note(f"n{name}", f"heart {number}") for name in range(3)))
        world.ingest()
    assert world.engine.resolve("notes").index == "notes-2"
    assert (world.engine.dead("notes-2"), world.found("heart")) == (0, ["n0", "n1", "n2"])
    assert world.encoder.texts == 18


def test_a_rebuild_of_nothing_makes_an_empty_index(world):
    assert world.rebuild() == []
    assert world.engine.resolve("notes").documents == 0


def test_ingestion_goes_on_while_an_index_is_rebuilt(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 4)
    world.put(*(note(f"n{number:02}") for number in range(12)))
    world.ingest()
    steps = rebuild(world.indexer(), grace=0.0)
    next(steps)
    world.put(note("n01", "kidney"), note("new"))
    world.delete("n02")
    assert [outcome.id for outcome in world.ingest()] == ["n01", "new"]
    assert world.found("kidney", "notes-1") == ["n01"]
    list(steps)
    assert world.engine.resolve("notes").index == "notes-2"
    expected = [f"n{number:02}" for number in range(12) if number not in (1, 2)] + ["new"]
    assert (world.found("heart"), world.found("kidney")) == (sorted(expected), ["n01"])
    assert verify(world.indexer(), "notes-2") == []
    with pytest.raises(NotFound):
        world.engine.meta("notes-1")


def test_ingestion_follows_to_an_index_published_meanwhile(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 2)
    world.put(*(note(f"n{number}") for number in range(4)))
    world.ingest()
    world.put(*(note(f"m{number}") for number in range(4)))
    steps = ingest(world.indexer())
    next(steps)
    meta = world.indexer().create()
    world.engine.publish(meta.index)
    list(steps)
    assert len(world.found("heart", meta.index)) == 8


@pytest.mark.parametrize("moment", ["encoding", "stopped"])
def test_a_rebuild_that_does_not_end_leaves_no_trace(world, moment, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 2)
    world.put(*(note(f"n{number}") for number in range(30)))  # more than is encoded ahead
    world.ingest()
    world.encoder = Counting(dimension=32)
    steps = rebuild(world.indexer(), grace=0.0)
    next(steps)
    if moment == "stopped":
        steps.close()
    else:
        world.encoder.down = True
        with pytest.raises(Unavailable):
            list(steps)
    assert [(meta.index, published) for meta, published in world.engine.list("notes")] == [("notes-1", True)]
    assert world.store.recorded("notes-2") == (0, 0)


def test_a_rebuild_in_which_most_documents_fail_is_not_published(world, monkeypatch):
    world.put(*(note(f"n{number}") for number in range(3)))
    world.ingest()
    working, world.encoder = world.encoder, Counting(dimension=32)
    encode = world.encoder.encode_passages
    monkeypatch.setattr(
        world.encoder,
        "encode_passages",
        lambda texts: 1 / 0 if any("heart" in text or "Rest" in text for text in texts) else encode(texts),
    )
    with pytest.raises(Conflict, match="ZeroDivisionError"):
        world.rebuild()
    world.encoder = working
    assert [meta.index for meta, _ in world.engine.list("notes")] == ["notes-1"]
    assert len(world.found("heart", "notes-1")) == 3


def test_a_rebuild_drops_what_a_kill_left(world):
    world.put(note("a"))
    world.ingest()
    world.engine.create("notes", {"dense": ("x", 8)})
    world.rebuild()
    assert [(meta.index, published) for meta, published in world.engine.list("notes")] == [("notes-3", True)]
    assert list(world.engine.names("notes")) == ["notes-3"]


def test_a_rebuild_never_replaces_a_newer_index(world):
    world.put(note("a"))
    world.ingest()
    steps = rebuild(world.indexer(), grace=0.0)
    next(steps)
    newer = world.indexer().create().index
    world.engine.publish(newer)
    with pytest.raises(Conflict, match="the rebuilt index notes-2 is not published: notes-3 was published meanwhile"):
        list(steps)
    assert (world.engine.published("notes"), sorted(world.engine.names("notes"))) == (newer, ["notes-1", newer])


def test_the_old_index_stays_for_the_grace_period(world, monkeypatch):
    world.put(note("a"))
    world.ingest()
    slept: list[tuple[float, list[str]]] = []

    def sleep(seconds):
        slept.append((seconds, sorted(world.engine.names("notes"))))

    monkeypatch.setattr(module.time, "sleep", sleep)
    list(rebuild(world.indexer()))
    assert slept[-1] == (module.GRACE_SECONDS, ["notes-1", "notes-2"])
    assert list(world.engine.names("notes")) == ["notes-2"]


def test_what_a_rebuild_killed_in_its_grace_period_left_is_retired_by_the_sweeper(world, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(seconds):
        raise Killed

    world.put(note("a"))
    world.ingest()
    with monkeypatch.context() as patch:
        patch.setattr(module.time, "sleep", kill)
        with pytest.raises(Killed):
            list(rebuild(world.indexer()))
    assert retire(world.indexer()) == []
    assert retire(world.indexer(), grace=0.0) == ["notes-1"]


def test_an_index_replaced_meanwhile_is_left_to_what_replaced_it(world, monkeypatch):
    world.put(note("a"))
    world.ingest()

    def replace_meanwhile(seconds):
        world.engine.publish(begin(replace(world.indexer(), encoders={"dense": Counting(dimension=32)})))

    monkeypatch.setattr(module.time, "sleep", replace_meanwhile)
    list(rebuild(world.indexer()))
    assert sorted(world.engine.names("notes")) == ["notes-1", "notes-2", "notes-3"]
