"""The queue over a real Redis: what is announced once, who is at what, and what counts as lost."""

from __future__ import annotations

from types import SimpleNamespace

import orjson
import pytest
from redis_server import sent

from mappings.errors import InvalidInput, Unavailable
from search.settings import Settings
from workers.queueing import queue as module
from workers.queueing.app import ENCODE, PARSE, PARSE_TASK
from workers.queueing.queue import SLACK_SECONDS, SLICE, TAKEN_SECONDS, Depth, Queue, open_queue, require_queue, slices


@pytest.fixture
def clock(monkeypatch):
    """The time of day, as the queue sees it."""
    clock = SimpleNamespace(now=1_000_000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


def test_what_is_announced_already_is_not_announced_again(queue, client):
    assert queue.announce("notes", ["a", "b"])
    assert queue.announce("notes", ["b", "c", "c"])
    assert queue.announce("notes", ["a", "b", "c"])
    assert sent(client) == [["notes", ["a", "b"]], ["notes", ["c"]]]


def test_each_target_has_ids_of_its_own(queue, client):
    queue.announce("notes", ["a"])
    queue.announce("abstracts", ["a"])
    assert sent(client) == [["notes", ["a"]], ["abstracts", ["a"]]]


def test_many_ids_go_in_several_messages(queue, client):
    ids = [f"n{number}" for number in range(SLICE + 3)]
    queue.announce("notes", ids)
    assert sent(client) == [["notes", ids[:SLICE]], ["notes", ids[SLICE:]]]
    assert slices(ids[:5], 2) == [["n0", "n1"], ["n2", "n3"], ["n4"]]


def test_nothing_to_announce_is_no_message(queue, client):
    assert queue.announce("notes", [])
    assert sent(client) == []


def test_a_message_says_who_asked_and_when_it_was_sent(queue, client, clock):
    queue.announce("notes", ["a"], "req-17")
    headers = orjson.loads(client.lindex(ENCODE, 0))["headers"]
    assert (headers["asked"], headers["sent"]) == ("req-17", clock.now)


def test_a_change_of_what_a_worker_is_at_is_announced_anew(queue, client):
    queue.announce("notes", ["a"])
    queue.take("notes", ["a"])
    queue.announce("notes", ["a"])
    assert sent(client) == [["notes", ["a"]], ["notes", ["a"]]]


def test_what_nobody_has_is_lost(queue):
    queue.announce("notes", ["announced"])
    queue.take("notes", ["taken"])
    queue.take("notes", ["done"])
    queue.let_go("notes", ["done"])
    assert queue.lost("notes", ["announced", "taken", "done", "never"]) == ["done", "never"]
    assert queue.lost("abstracts", ["announced"]) == ["announced"]


def test_after_redis_was_emptied_all_is_lost_and_is_announced_again(queue, client):
    queue.announce("notes", ["a"])
    queue.take("notes", ["b"])
    client.flushall()
    assert queue.lost("notes", ["a", "b"]) == ["a", "b"]
    assert queue.announce("notes", ["a", "b"])
    assert sent(client) == [["notes", ["a", "b"]]]


def test_what_a_dead_worker_was_at_is_lost(queue, clock):
    queue.take("notes", ["a", "b"])
    clock.now += TAKEN_SECONDS - 1
    queue.renew("notes", ["b"])
    assert queue.lost("notes", ["a", "b"]) == []
    clock.now += 2
    assert queue.depth("notes").taken == 1
    assert queue.lost("notes", ["a", "b"]) == ["a"]


def test_a_worker_does_not_renew_what_it_let_go(queue):
    queue.take("notes", ["a"])
    queue.let_go("notes", ["a"])
    queue.renew("notes", ["a"])
    assert queue.lost("notes", ["a"]) == ["a"]


def test_what_a_lost_message_named_is_lost_after_a_while(queue, client, clock):
    queue.announce("notes", ["a"])
    client.delete(ENCODE)
    clock.now += SLACK_SECONDS - 1
    assert queue.lost("notes", ["a"]) == []
    clock.now += 2
    assert queue.lost("notes", ["a"]) == ["a"]


def test_what_waits_long_in_the_list_is_not_lost(queue, client, clock):
    queue.announce("notes", ["lost"])
    clock.now += 2 * SLACK_SECONDS
    queue.announce("notes", ["a"])
    clock.now += 100_000
    queue.announce("notes", ["b"])
    assert queue.lost("notes", ["lost", "a", "b"]) == []
    client.rpop(ENCODE)
    assert queue.lost("notes", ["lost", "a", "b"]) == ["lost"]


def test_a_message_that_nobody_can_read_makes_nothing_lost(queue, client, clock):
    queue.announce("notes", ["a"])
    client.rpush(ENCODE, "no JSON")
    clock.now += 100_000
    assert queue.lost("notes", ["a"]) == []


def test_the_depth_tells_how_much_waits_and_since_when(queue, clock):
    assert queue.depth("notes") == Depth(0, 0, None)
    began = clock.now
    queue.announce("notes", ["a", "b", "c"])
    clock.now += 5
    queue.announce("notes", ["d"])
    queue.take("notes", ["b"])
    assert queue.depth("notes") == Depth(3, 1, began)


def test_starts_of_a_task_are_counted_until_it_ends(queue):
    assert [queue.starts("t"), queue.starts("t"), queue.starts("other")] == [1, 2, 1]
    queue.ended("t")
    assert queue.starts("t") == 1


def test_workers_show_their_figures(queue):
    assert queue.reports() == {}
    queue.report("one", {"documents": 3})
    queue.report("two", {"documents": 4.5})
    assert queue.reports() == {"one": {"documents": 3}, "two": {"documents": 4.5}}


def test_another_task_goes_to_its_own_list(queue, client):
    queue.order(PARSE_TASK, "notes", "file.jsonl", "jsonl", queue=PARSE)
    assert sent(client, PARSE) == [["notes", "file.jsonl", "jsonl"]]
    assert sent(client) == []


CALLS = {
    "send": lambda queue: queue.send("notes", ["a"]),
    "order": lambda queue: queue.order(PARSE_TASK, queue=PARSE),
    "take": lambda queue: queue.take("notes", ["a"]),
    "renew": lambda queue: queue.renew("notes", ["a"]),
    "let_go": lambda queue: queue.let_go("notes", ["a"]),
    "lost": lambda queue: queue.lost("notes", ["a"]),
    "depth": lambda queue: queue.depth("notes"),
    "starts": lambda queue: queue.starts("t"),
    "ended": lambda queue: queue.ended("t"),
    "report": lambda queue: queue.report("one", {}),
    "reports": lambda queue: queue.reports(),
}


@pytest.fixture
def nobody_there(redis):
    redis.kill()
    made = Queue(f"redis://:geheim@127.0.0.1:{redis.port}/0")
    yield made
    made.close()


@pytest.mark.parametrize("call", CALLS)
def test_without_redis_a_call_says_so_and_names_the_place_without_the_password(redis, nobody_there, call):
    with pytest.raises(Unavailable) as caught:
        CALLS[call](nobody_there)
    assert f"127.0.0.1:{redis.port}" in caught.value.message
    assert "geheim" not in caught.value.message


def test_without_redis_an_announcement_is_no_error_and_works_again_when_it_is_back(redis, nobody_there, queue, client):
    assert nobody_there.announce("notes", ["a"]) is False
    assert queue.announce("notes", ["a"]) is False
    redis.start()
    assert queue.announce("notes", ["a"]) is True
    assert sent(client) == [["notes", ["a"]]]


def test_an_open_queue_goes_on_after_redis_was_restarted(redis, queue, client):
    assert queue.announce("notes", ["a"])
    redis.kill()
    redis.start()
    assert queue.announce("notes", ["a", "b"])
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
    assert module.address(given) == "redis://:p%40ss%2Fw%C3%B6rd@host:6379/2"
    opened = open_queue(Settings(redis=redis.url))
    assert opened is not None
    opened.close()
