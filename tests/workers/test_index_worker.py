"""What a worker does with a message, without a worker: it indexes, it splits what killed one, it reads files."""

from __future__ import annotations

import json
import logging

import pytest
from redis_server import sent
from worker_process import eventually
from worlds import note

from encoders.hashing import HashingEncoder
from mappings.errors import InvalidInput, Unavailable
from search.storage import State
from workers.indexing.inspection import inspect
from workers.queueing import queue as queue_module
from workers.queueing import worker as module
from workers.queueing.worker import DEATHS, PARTS


def put(duty, *documents) -> None:
    duty.medley.store("notes").put(documents)


def states(duty, state: State) -> dict[str, int]:
    """Id -> version of the documents in a state."""
    index = duty.medley.engine.resolve("notes").index
    return {record.id: record.version for record in duty.medley.store("notes").states(index, state)}


def findings(duty) -> list[str]:
    medley = duty.medley
    collection = medley.collection("notes")
    found = inspect(medley.store("notes"), medley.engine, medley.encoders(collection), collection)
    return [item.problem for item in found]


def begin(duty, task: str, ids, times: int) -> None:
    """Let a task have begun so often, each time to the death of its worker."""
    version = duty._version("notes", ids[0]) if len(ids) == 1 else 0
    for _ in range(times):
        duty.queue.starts(f"{task}:{version}" if version else task)


def test_announced_documents_are_indexed_and_let_go(duty, client):
    put(duty, note("a"), note("b"), note("c"))
    duty.queue.announce("notes", ["a", "b"])
    duty.index("notes", ["a", "b"], "t")
    assert states(duty, State.INDEXED) == {"a": 1, "b": 1}
    assert states(duty, State.RECEIVED) == {"c": 1}
    depth = duty.queue.depth("notes")
    assert (depth.queued, depth.taken) == (0, 0)
    assert client.keys("medley:starts:*") == []


def test_the_figures_of_a_worker_are_shown(duty):
    put(duty, note("a"), note("b", date="yesterday"))
    duty.index("notes", ["a", "b"], "t")
    (figures,) = duty.queue.reports().values()
    assert (figures["documents"], figures["failed"]) == (2, 1)


def test_a_failure_is_told_in_the_log(duty, caplog):
    put(duty, note("b", date="yesterday"))
    with caplog.at_level(logging.INFO, "medley.worker"):
        duty.index("notes", ["b"], "t")
    assert "notes: b version 1 failed: " in caplog.text
    assert "notes: 1 of 1 documents settled in " in caplog.text


def test_a_message_that_comes_twice_does_nothing_the_second_time(duty):
    put(duty, note("a"))
    duty.index("notes", ["a"], "t")
    duty.index("notes", ["a"], "t")
    duty.index("notes", ["a"], "another")
    assert duty.work.documents == 1


def test_what_a_worker_died_over_goes_on_in_parts(duty, client, caplog):
    ids = [f"n{number}" for number in range(20)]
    put(duty, *map(note, ids))
    begin(duty, "t", ids, 1)
    duty.index("notes", ids, "t")
    assert sent(client) == [["notes", ids[start : start + 3]] for start in range(0, 20, 3)]
    assert len(sent(client)) <= PARTS
    assert "its worker died" in caplog.text
    assert duty.work.documents == 0
    assert duty.queue.lost("notes", ids) == []
    assert client.keys("medley:starts:*") == []


def test_parts_are_sent_also_for_what_was_announced_again_meanwhile(duty, client):
    put(duty, note("a"), note("b"))
    begin(duty, "t", ["a", "b"], 1)
    duty.queue.announce("notes", ["a", "b"])
    duty.index("notes", ["a", "b"], "t")
    assert sent(client) == [["notes", ["a", "b"]], ["notes", ["a"]], ["notes", ["b"]]]


def test_a_document_alone_is_tried_again_after_a_death(duty):
    put(duty, note("a"))
    begin(duty, "t", ["a"], DEATHS - 1)
    duty.index("notes", ["a"], "t")
    assert states(duty, State.INDEXED) == {"a": 1}


def test_a_document_that_killed_its_worker_alone_fails_and_its_earlier_version_goes(duty, client):
    put(duty, note("a"), note("b"))
    duty.index("notes", ["a", "b"], "t")
    put(duty, note("a", "kidney"))
    begin(duty, "t", ["a"], DEATHS)
    duty.index("notes", ["a"], "t")
    index = duty.medley.engine.resolve("notes").index
    (record,) = duty.medley.store("notes").states(index, State.FAILED)
    assert (record.id, record.version) == ("a", 2)
    assert record.cause == "a worker died 2 times while it was at this document alone"
    assert states(duty, State.INDEXED) == {"b": 1}
    assert findings(duty) == ["1 documents failed"]
    assert client.keys("medley:starts:*") == []


def test_a_newer_version_is_not_to_blame_for_what_an_older_one_did(duty):
    put(duty, note("a"), note("b"))
    begin(duty, "t", ["a"], DEATHS)
    put(duty, note("a", "mended"))
    duty.medley.store("notes").delete(["b"])
    duty.index("notes", ["a"], "t")
    duty.index("notes", ["b"], "t")
    assert states(duty, State.FAILED) == {}
    assert findings(duty) == []


def test_a_version_that_came_while_it_was_given_up_waits_for_its_turn(duty, monkeypatch):
    put(duty, note("a"), note("b"))
    duty.index("notes", ["b"], "t")
    begin(duty, "t", ["a"], DEATHS)
    version = duty._version

    def overtaken(target, identifier):
        monkeypatch.setattr(duty, "_version", version)
        found = version(target, identifier)
        put(duty, note("a", "mended"))
        return found

    monkeypatch.setattr(duty, "_version", overtaken)
    duty.index("notes", ["a"], "t")
    assert states(duty, State.FAILED) == {}
    assert states(duty, State.RECEIVED) == {"a": 2}


def test_what_can_not_be_done_now_stays_waiting_and_is_let_go(duty, monkeypatch):
    def down(self, texts):
        raise Unavailable("the model server does not answer")

    monkeypatch.setattr(HashingEncoder, "encode_passages", down)
    put(duty, note("a"))
    duty.queue.announce("notes", ["a"])
    with pytest.raises(Unavailable):
        duty.index("notes", ["a"], "t")
    assert states(duty, State.RECEIVED) == {"a": 1}
    assert duty.queue.lost("notes", ["a"]) == ["a"]


def test_a_worker_says_that_it_lives_while_it_is_at_work(duty, client, monkeypatch):
    monkeypatch.setattr(module, "_RENEW_SECONDS", 0.01)
    encode = HashingEncoder.encode_passages

    def slowly(self, texts):
        client.zadd("medley:taken:notes", {"a": 1.0})
        eventually(lambda: client.zscore("medley:taken:notes", "a") > 1.0, "the note is renewed")
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode_passages", slowly)
    put(duty, note("a"))
    duty.index("notes", ["a"], "t")
    assert states(duty, State.INDEXED) == {"a": 1}


def test_redis_that_goes_away_meanwhile_does_not_undo_the_work(duty, redis, monkeypatch):
    encode = HashingEncoder.encode_passages

    def robbed(self, texts):
        redis.kill()
        return encode(self, texts)

    monkeypatch.setattr(HashingEncoder, "encode_passages", robbed)
    put(duty, note("a"))
    with pytest.raises(Unavailable, match="Redis"):
        duty.index("notes", ["a"], "t")
    assert states(duty, State.INDEXED) == {"a": 1}


def test_a_file_is_read_into_the_store_and_announced(duty, client, tmp_path, caplog):
    file = tmp_path / "some.jsonl"
    lines = [{"id": "a", "text": "Heart failure."}, {"text": "of nobody"}, {"id": "b", "text": "Lung edema."}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with caplog.at_level(logging.INFO, "medley.worker"):
        duty.parse("notes", str(file), "jsonl")
    assert sent(client) == [["notes", ["a", "b"]]]
    store = duty.medley.store("notes")
    assert sorted(store.latest(["a", "b"])) == ["a", "b"]
    (name,) = {word.rstrip(":") for word in caplog.text.split() if word.startswith("notes.")}
    job = store.job(name)
    assert (job.accepted, job.rejected, job.finished > 0) == (2, 1, True)
    assert f"notes: rejected {file}, line 2: " in caplog.text


def test_a_file_that_is_not_there_is_refused(duty, tmp_path):
    with pytest.raises(InvalidInput):
        duty.parse("notes", str(tmp_path / "none.jsonl"), "jsonl")


def test_workers_that_fall_silent_whole_lead_to_the_document_too(duty, client, monkeypatch):
    """The message goes with the worker and its main process, so every try is a task of its own."""
    monkeypatch.setattr(queue_module, "TAKEN_SECONDS", 0.0)
    names = [f"n{number:03}" for number in range(100)]
    put(duty, *(note(name) for name in names))
    sizes = []
    for _ in range(5):
        client.delete("medley:encode")
        client.delete("medley:queued:notes")
        duty.queue.take("notes", names)
        assert duty.sweep() == 100
        sizes.append(len(sent(client)[0][1]))
    assert sizes == [64, 8, 1, 1, 1]
    duty.index("notes", ["n007"], "new")
    assert states(duty, State.FAILED) == {"n007": 1}
    duty.index("notes", ["n008"], "newer")
    assert duty.queue.deaths("notes", ["n007", "n008", "n009"]) == [0, 0, 5]


def test_a_message_for_what_is_done_takes_nothing_away(duty, client):
    put(duty, note("a"))
    duty.index("notes", ["a"], "t")
    for _ in range(DEATHS + 2):
        duty.queue.starts("again")
    duty.index("notes", ["a"], "again")
    assert states(duty, State.INDEXED) == {"a": 1}
    assert findings(duty) == []
    assert (duty.queue.depth("notes").queued, duty.queue.depth("notes").taken) == (0, 0)


def test_a_collection_that_is_not_well_keeps_no_other_waiting(duty, client, caplog):
    duty.medley.create("reports")
    put(duty, note("a"))
    duty.medley.store("reports").put([note("r")])
    store = duty.medley.store("notes")
    store.pending = lambda *_: (_ for _ in ()).throw(Unavailable("the index is red"))
    caplog.set_level(logging.ERROR, "medley.worker")
    assert duty.sweep() == 1
    assert [arguments[0] for arguments in sent(client)] == ["reports"]
    assert "notes could not be swept: the index is red" in caplog.text


def test_a_document_that_kills_is_given_up_also_in_an_index_of_another_model(duty):
    put(duty, note("a"))
    duty.index("notes", ["a"], "t")
    put(duty, note("k"))
    duty.medley.encoders = lambda _: {"dense": HashingEncoder(32)}  # the collection's model of today
    begin(duty, "t2", ["k"], DEATHS)
    duty.index("notes", ["k"], "t2")
    assert states(duty, State.FAILED) == {"k": 1}
