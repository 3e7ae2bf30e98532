from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from worlds import EVERYBODY, Counting, note

from encoders.cache import CachedEncoder
from mappings.errors import Conflict, ModelError, Unavailable
from search.protocols import LegsRequest
from search.query import LexicalQuery
from search.storage import State
from workers.indexing import batches, indexer
from workers.indexing.batches import Outcome
from workers.indexing.ingest import ingest
from workers.indexing.inspection import verify


def test_documents_are_indexed_and_found(world):
    world.put(note("a"), note("b", "lung edema"))
    assert world.ingest() == [Outcome("a", 1, State.INDEXED, 2), Outcome("b", 1, State.INDEXED, 2)]
    assert (world.found("heart"), world.found("edema")) == (["a"], ["b"])
    assert world.counts() == {State.INDEXED: 2}
    assert verify(world.indexer(), "notes-1") == []


def test_nothing_is_done_twice(world):
    world.put(note("a"))
    world.ingest()
    world.put(note("a"))
    assert (world.ingest(), world.encoder.texts) == ([], 2)


def test_only_the_requested_ids_are_indexed(world):
    world.put(note("a"), note("b"), note("c"))
    assert [outcome.id for outcome in world.ingest(ids=["c", "absent"])] == ["c"]
    assert world.counts() == {State.INDEXED: 1, State.RECEIVED: 2}


def test_a_change_replaces_and_a_deletion_removes(world):
    world.put(note("a"), note("b"))
    world.ingest()
    world.put(note("a", "kidney stones"))
    assert world.ingest() == [Outcome("a", 2, State.INDEXED, 2)]
    assert (world.found("heart"), world.found("kidney")) == (["b"], ["a"])
    assert world.delete("b", "absent") == [Outcome("b", 2, State.INDEXED, deleted=True)]
    assert world.found("heart") == []
    assert world.delete("b") == []
    world.put(note("b"))
    assert world.ingest() == [Outcome("b", 3, State.INDEXED, 2)]
    assert world.found("heart") == ["b"]


def test_a_poison_document_fails_alone_with_its_cause(world):
    world.put(*(note(f"n{number:02}", "poison" if number in (3, 11) else "heart") for number in range(20)))
    outcomes = world.ingest()
    failed = [outcome for outcome in outcomes if outcome.state is State.FAILED]
    assert [(outcome.id, outcome.cause) for outcome in failed] == [
        ("n03", "RuntimeError: token out of range"),
        ("n11", "RuntimeError: token out of range"),
    ]
    assert len(world.found("heart")) == 18
    assert world.counts() == {State.INDEXED: 18, State.FAILED: 2}
    assert world.ingest() == []


def test_a_field_of_the_wrong_type_fails_alone_and_names_the_field(world):
    world.put(note("a"), note("b", date="yesterday"), note("c"))
    failed = [outcome for outcome in world.ingest() if outcome.cause]
    assert [(outcome.id, "date" in outcome.cause) for outcome in failed] == [("b", True)]
    assert world.found("heart") == ["a", "c"]


def test_a_failed_document_is_tried_again_on_request_and_when_it_changes(world):
    world.put(note("a", "poison"))
    world.ingest()
    assert world.store.retry("notes-1") == 1
    assert [outcome.state for outcome in world.ingest()] == [State.FAILED]
    assert world.store.states("notes-1", State.FAILED)[0].attempts == 2
    world.put(note("a", "heart"))
    assert world.ingest() == [Outcome("a", 2, State.INDEXED, 2)]


def test_the_earlier_version_of_what_now_fails_is_not_found_any_more(world):
    world.put(note("a"))
    world.ingest()
    world.put(note("a", "heart poison"))
    world.ingest()
    assert world.found("heart") == []


def test_one_text_that_a_model_server_refuses_fails_alone(world, monkeypatch):
    encode = world.encoder.encode_passages

    def refusing(texts):
        if any("heart" in text for text in texts):
            raise ModelError("http://gpu:8081 refused the request (424: the model failed on these inputs)")
        return encode(texts)

    monkeypatch.setattr(world.encoder, "encode_passages", refusing)
    world.put(note("a"), note("b", "kidney"), note("c", "lung"))
    assert [(item.id, item.cause) for item in world.ingest() if item.cause] == [
        ("a", "http://gpu:8081 refused the request (424: the model failed on these inputs)")
    ]
    assert world.counts() == {State.INDEXED: 2, State.FAILED: 1}
    world.put(note("d"))  # alone in its batch
    assert [item.state for item in world.ingest()] == [State.FAILED]


@pytest.mark.parametrize("error", [ModelError("CUDA is gone"), RuntimeError("CUDA is gone")])
def test_an_encoder_that_cannot_read_any_text_is_no_documents_fault(world, monkeypatch, error):
    def broken(texts):
        raise error

    world.put(note("a"), note("b"))
    with monkeypatch.context() as patch:
        patch.setattr(world.encoder, "encode_passages", broken)
        patch.setattr(world.encoder, "encode_queries", broken)
        with pytest.raises(Unavailable, match=r"cannot read any text: .*CUDA is gone"):
            world.ingest()
    assert world.counts() == {State.RECEIVED: 2}
    assert len(world.ingest()) == 2


def test_a_model_that_is_down_is_no_documents_fault(world):
    world.put(note("a"))
    world.encoder.down = True
    with pytest.raises(Unavailable):
        world.ingest()
    world.encoder.down = False
    assert world.ingest() == [Outcome("a", 1, State.INDEXED, 2)]


def test_a_version_superseded_while_it_was_encoded_is_done_again(world, monkeypatch):
    world.put(note("a"), note("b"))
    encode = world.encoder.encode_passages

    def change_meanwhile(texts):
        world.put(note("a", "kidney"))
        world.store.delete(["b"])
        return encode(texts)

    monkeypatch.setattr(world.encoder, "encode_passages", change_meanwhile)
    outcomes = world.ingest()
    assert outcomes == [
        Outcome("b", 2, State.INDEXED, deleted=True),
        Outcome("a", 2, State.INDEXED, 2),
    ] or outcomes == [
        Outcome("a", 2, State.INDEXED, 2),
        Outcome("b", 2, State.INDEXED, deleted=True),
    ]
    assert (world.found("heart"), world.found("kidney")) == ([], ["a"])


def test_of_two_processes_that_race_the_older_version_never_replaces_the_newer(world, monkeypatch):
    """One has read and encoded a version; before it writes, another accepts, indexes and records the next one."""
    world.put(note("a"), note("b"))
    other = []
    encode = world.encoder.encode_passages

    def overtaken(texts):
        made = encode(texts)
        if not other:
            other.append(True)
            world.put(note("a", "kidney"))
            other.extend(ingest(world.indexer(), ["a"]))
        return made

    monkeypatch.setattr(world.encoder, "encode_passages", overtaken)
    assert world.ingest() == [Outcome("b", 1, State.INDEXED, 2)]
    assert other[1:] == [Outcome("a", 2, State.INDEXED, 2)]
    assert (world.found("heart"), world.found("kidney")) == (["b"], ["a"])
    assert verify(world.indexer(), "notes-1") == []


def test_progress_is_reported(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 2)
    world.put(*(note(f"n{number}") for number in range(5)))
    reported: list[tuple[int, int]] = []
    world.ingest(on_progress=lambda done, total: reported.append((done, total)))
    assert reported == [(2, 5), (4, 5), (5, 5)]


def test_stopping_in_the_middle_keeps_what_was_done(world, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", 2)
    world.put(*(note(f"n{number}") for number in range(6)))
    with closing(ingest(world.indexer())) as outcomes:
        for _ in range(3):
            next(outcomes)
    assert world.counts() == {State.INDEXED: 4, State.RECEIVED: 2}
    assert len(world.ingest()) == 2
    assert verify(world.indexer(), "notes-1") == []


@pytest.mark.parametrize(
    ("number", "repeats"), [(3, 2_000), pytest.param(1, 220_000, marks=pytest.mark.slow, id="5 MB")]
)
def test_large_documents_are_indexed_one_after_the_other(world, number, repeats):
    names = [f"big{place}" for place in range(number)]
    world.put(*(note(name, f"{name} and the heart. " * repeats) for name in names), note("small"))
    assert [outcome.state for outcome in world.ingest()] == [State.INDEXED] * (number + 1)
    assert world.found("big0") == ["big0"]
    assert world.found("heart") == [*names, "small"]


def test_an_index_of_another_encoder_is_refused(world):
    world.put(note("a"))
    world.ingest()
    world.encoder = Counting(dimension=32)
    world.put(note("b"))
    with pytest.raises(ModelError, match="rebuild"):
        world.ingest()


def test_an_index_of_another_analysis_is_refused(world, monkeypatch):
    world.put(note("a"))
    world.ingest()
    monkeypatch.setattr(indexer, "ANALYSIS_VERSION", "words-99")
    with pytest.raises(ModelError, match="words-99"):
        world.ingest()


def test_a_second_ingestion_is_refused_while_another_runs(world):
    world.put(note("a"))
    world.ingest()
    world.put(note("b"))
    with world.engine.writer("notes-1"), pytest.raises(Conflict):
        world.ingest()
    assert [outcome.id for outcome in world.ingest()] == ["b"]


def test_vectors_of_an_index_are_those_of_its_passages(world):
    world.put(note("a", "heart failure"), note("b", "kidney stones"))
    world.ingest()
    vector = world.encoder.encode_queries(["Consultation PLAN Rest and fluids."])[0]
    leg = world.engine.legs(LegsRequest("notes-1", LexicalQuery(()), {"dense": vector}, EVERYBODY, 10)).rankings[
        "dense"
    ]
    texts = world.engine.passages("notes-1", [item.passage for item in leg], EVERYBODY)
    expected = [
        float(np.dot(vector, world.encoder.encode_queries([texts[item.passage].model_text])[0])) for item in leg
    ]
    assert [item.score for item in leg] == pytest.approx(expected, abs=2e-3)


def test_vectors_kept_on_disk_do_not_hide_a_broken_encoder(world, tmp_path, monkeypatch):
    inner = world.encoder
    world.encoder = CachedEncoder(inner, tmp_path / "vectors")
    world.put(note("a"))
    world.ingest()
    world.put(note("b", "kidney"))

    def broken(texts):
        raise RuntimeError("CUDA is gone")

    with monkeypatch.context() as patch:
        patch.setattr(inner, "encode_passages", broken)
        patch.setattr(inner, "encode_queries", broken)
        with pytest.raises(Unavailable, match="cannot read any text"):
            world.ingest()
    assert world.counts() == {State.INDEXED: 1, State.RECEIVED: 1}
