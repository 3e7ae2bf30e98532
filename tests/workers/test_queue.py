"""The queue over a real Redis: what is announced once, what is claimed, and what counts as orphaned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import orjson
import pytest
from redis_server import sent

from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings
from workers.messages import MESSAGE_IDS, QueueTarget, split_ids
from workers.queueing import address
from workers.queueing import queue as module
from workers.queueing.app import ENCODE, PARSE, PARSE_TASK, QUEUES, URGENT
from workers.queueing.queue import CLAIM_SECONDS, SLACK_SECONDS, Queue, QueueDepth, open_queue, require_queue

NOTES = QueueTarget("notes")


@pytest.fixture
def clock(monkeypatch):
    """The time of day, as the queue sees it."""
    clock = SimpleNamespace(now=1_000_000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


def test_what_is_announced_already_is_not_announced_again(queue, client):
    assert queue.announce(NOTES, ["a", "b"])
    assert queue.announce(NOTES, ["b", "c", "c"])
    assert queue.announce(NOTES, ["a", "b", "c"])
    assert sent(client) == [["notes", ["a", "b"]], ["notes", ["c"]]]


def test_each_target_has_ids_of_its_own(queue, client):
    queue.announce(NOTES, ["a"])
    queue.announce(QueueTarget("abstracts"), ["a"])
    assert sent(client) == [["notes", ["a"]], ["abstracts", ["a"]]]


def test_many_ids_go_in_several_messages(queue, client):
    ids = [f"n{number}" for number in range(MESSAGE_IDS + 3)]
    queue.announce(NOTES, ids)
    assert sent(client) == [["notes", ids[:MESSAGE_IDS]], ["notes", ids[MESSAGE_IDS:]]]
    assert split_ids(ids[:5], 2) == [["n0", "n1"], ["n2", "n3"], ["n4"]]


def test_nothing_to_announce_is_no_message(queue, client):
    assert queue.announce(NOTES, [])
    assert sent(client) == []


def test_urgent_documents_wait_in_a_queue_of_their_own(queue, client):
    assert queue.announce(NOTES, ["a", "b"])
    assert queue.announce_urgent(NOTES, ["b"])
    assert queue.announce_urgent(NOTES, [])
    assert (client.llen(URGENT), client.llen(ENCODE)) == (1, 1)
    assert QUEUES["encode"] == (URGENT, ENCODE)


def test_urgent_documents_that_wait_are_not_orphaned(queue, client, clock):
    queue.announce_urgent(NOTES, ["a"])
    clock.now += SLACK_SECONDS + 5
    assert queue.find_orphaned(NOTES, ["a"]) == []


def test_a_message_says_who_asked_and_when_it_was_sent(queue, client, clock):
    queue.announce(NOTES, ["a"], "req-17")
    headers = orjson.loads(client.lindex(ENCODE, 0))["headers"]
    assert (headers["asked"], headers["sent"]) == ("req-17", clock.now)


def test_a_change_of_a_claimed_document_is_announced_again(queue, client):
    queue.announce(NOTES, ["a"])
    queue.claim(NOTES, ["a"])
    queue.announce(NOTES, ["a"])
    assert sent(client) == [["notes", ["a"]], ["notes", ["a"]]]


def test_what_is_neither_queued_nor_claimed_is_orphaned(queue):
    queue.announce(NOTES, ["announced"])
    queue.claim(NOTES, ["taken"])
    queue.claim(NOTES, ["done"])
    queue.release(NOTES, ["done"])
    assert queue.find_orphaned(NOTES, ["announced", "taken", "done", "never"]) == ["done", "never"]
    assert queue.find_orphaned(QueueTarget("abstracts"), ["announced"]) == ["announced"]


def test_after_redis_was_emptied_everything_is_orphaned_and_announced_again(queue, client):
    queue.announce(NOTES, ["a"])
    queue.claim(NOTES, ["b"])
    client.flushall()
    assert queue.find_orphaned(NOTES, ["a", "b"]) == ["a", "b"]
    assert queue.announce(NOTES, ["a", "b"])
    assert sent(client) == [["notes", ["a", "b"]]]


def test_what_a_dead_worker_had_claimed_is_orphaned(queue, clock):
    queue.claim(NOTES, ["a", "b"])
    clock.now += CLAIM_SECONDS - 1
    queue.renew(NOTES, ["b"])
    assert queue.find_orphaned(NOTES, ["a", "b"]) == []
    clock.now += 2
    assert queue.depth(NOTES).claimed == 1
    assert queue.find_orphaned(NOTES, ["a", "b"]) == ["a"]


def test_a_worker_does_not_renew_what_it_released(queue):
    queue.claim(NOTES, ["a"])
    queue.release(NOTES, ["a"])
    queue.renew(NOTES, ["a"])
    assert queue.find_orphaned(NOTES, ["a"]) == ["a"]


def test_the_ids_of_a_lost_message_are_orphaned_after_a_while(queue, client, clock):
    queue.announce(NOTES, ["a"])
    client.delete(ENCODE)
    clock.now += SLACK_SECONDS - 1
    assert queue.find_orphaned(NOTES, ["a"]) == []
    clock.now += 2
    assert queue.find_orphaned(NOTES, ["a"]) == ["a"]


def test_what_is_queued_for_long_is_not_orphaned(queue, client, clock):
    queue.announce(NOTES, ["lost"])
    clock.now += 2 * SLACK_SECONDS
    queue.announce(NOTES, ["a"])
    clock.now += 100_000
    queue.announce(NOTES, ["b"])
    assert queue.find_orphaned(NOTES, ["lost", "a", "b"]) == []
    client.rpop(ENCODE)
    assert queue.find_orphaned(NOTES, ["lost", "a", "b"]) == ["lost"]


def test_a_message_that_can_not_be_read_orphans_nothing(queue, client, clock):
    queue.announce(NOTES, ["a"])
    client.rpush(ENCODE, "not JSON")
    clock.now += 100_000
    assert queue.find_orphaned(NOTES, ["a"]) == []


def test_the_depth_is_how_much_is_queued_and_since_when(queue, clock):
    assert queue.depth(NOTES) == QueueDepth(0, 0, None)
    began = clock.now
    queue.announce(NOTES, ["a", "b", "c"])
    clock.now += 5
    queue.announce(NOTES, ["d"])
    queue.claim(NOTES, ["b"])
    assert queue.depth(NOTES) == QueueDepth(3, 1, began)


def test_starts_of_a_task_are_counted_until_it_ends(queue):
    assert [queue.count_start("t"), queue.count_start("t"), queue.count_start("other")] == [1, 2, 1]
    queue.forget_starts("t")
    assert queue.count_start("t") == 1


def test_workers_show_their_figures(queue):
    assert queue.reports() == {}
    queue.report("one", {"documents": 3})
    queue.report("two", {"documents": 4.5})
    assert queue.reports() == {"one": {"documents": 3}, "two": {"documents": 4.5}}


def test_another_task_goes_to_its_own_list(queue, client):
    queue.send_task(PARSE_TASK, "notes", "file.jsonl", "jsonl", queue=PARSE)
    assert sent(client, PARSE) == [["notes", "file.jsonl", "jsonl"]]
    assert sent(client) == []


CALLS = {
    "send": lambda queue: queue.send(NOTES, ["a"]),
    "send_task": lambda queue: queue.send_task(PARSE_TASK, queue=PARSE),
    "claim": lambda queue: queue.claim(NOTES, ["a"]),
    "renew": lambda queue: queue.renew(NOTES, ["a"]),
    "release": lambda queue: queue.release(NOTES, ["a"]),
    "find_orphaned": lambda queue: queue.find_orphaned(NOTES, ["a"]),
    "depth": lambda queue: queue.depth(NOTES),
    "count_start": lambda queue: queue.count_start("t"),
    "forget_starts": lambda queue: queue.forget_starts("t"),
    "report": lambda queue: queue.report("one", {}),
    "reports": lambda queue: queue.reports(),
}


@pytest.fixture
def unreachable(redis):
    redis.kill()
    made = Queue(f"redis://:geheim@127.0.0.1:{redis.port}/0")
    yield made
    made.close()


@pytest.mark.parametrize("call", CALLS)
def test_without_redis_a_call_says_so_and_names_the_place_without_the_password(redis, unreachable, call):
    with pytest.raises(Unavailable) as caught:
        CALLS[call](unreachable)
    assert f"127.0.0.1:{redis.port}" in caught.value.message
    assert "geheim" not in caught.value.message


def test_without_redis_an_announcement_is_no_error_and_works_again_when_it_is_back(redis, unreachable, queue, client):
    assert unreachable.announce(NOTES, ["a"]) is False
    assert queue.announce(NOTES, ["a"]) is False
    redis.start()
    assert queue.announce(NOTES, ["a"]) is True
    assert sent(client) == [["notes", ["a"]]]


def test_an_open_queue_goes_on_after_redis_was_restarted(redis, queue, client):
    assert queue.announce(NOTES, ["a"])
    redis.kill()
    redis.start()
    assert queue.announce(NOTES, ["a", "b"])
    assert sent(client) == [["notes", ["a", "b"]]]


def test_the_settings_open_a_queue_or_say_what_is_missing(redis, tmp_path):
    assert open_queue(Settings()) is None
    with pytest.raises(InvalidInput, match="MEDLEY_REDIS"):
        require_queue(Settings())
    with pytest.raises(InvalidInput, match="redis://127") as caught:
        require_queue(Settings(redis="http://:geheim@host:6379"))
    assert "geheim" not in caught.value.message
    secret = tmp_path / "password"
    secret.write_text("p@ss/wörd\n", encoding="utf-8")
    given = Settings(redis="redis://:old@host:6379/2", redis_password_file=secret)
    assert address.redis_url(given) == "redis://:p%40ss%2Fw%C3%B6rd@host:6379/2"
    opened = open_queue(Settings(redis=redis.url))
    assert opened is not None
    opened.close()


def test_a_user_of_redis_keeps_its_name_and_no_password_is_told(tmp_path):
    secret = tmp_path / "password"
    secret.write_text("new", encoding="utf-8")
    given = Settings(redis="rediss://medley:old@host:6379/2", redis_password_file=secret)
    assert address.redis_url(given) == "rediss://medley:new@host:6379/2"
    assert address.redis_place(given) == "host:6379/2"
    assert address.redis_place(Settings(redis="redis://host/0?password=geheim&db=1")) == "host/0"


def test_sweeps_that_overlap_count_a_death_once(queue, clock):
    queue.claim(NOTES, ["a", "b"])
    clock.now += CLAIM_SECONDS + 1
    queue.renew(NOTES, ["b"])
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: queue.find_orphaned(NOTES, ["a", "b"]), range(8))) == [["a"]] * 8
    assert queue.deaths(NOTES, ["a", "b"]) == [1, 0]
