"""The queue of documents to be indexed: their ids on their way through Redis, and which worker has claimed which.

The truth is in the store, never here: Redis can be emptied at any moment. Beside Celery's own lists there are, for each
target (a collection, or an index that is being built): `queued`, the ids that a message is under way for, and `taken`,
those that a worker has claimed, renewed while it lives. What is pending in the store and in neither is orphaned: the
sweeper announces it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import orjson
import redis

from mappings.errors import InvalidInput, Unavailable
from search.engines.opened import secret
from search.settings import Settings
from workers.messages import MESSAGE_IDS, QueueTarget, split_ids
from workers.queueing.app import ENCODE, INDEX_TASK, PREFIX, make_app

CLAIM_SECONDS: Final = 30.0
"""How long a worker's claim holds when it is not renewed."""

SLACK_SECONDS: Final = 60.0
"""How long a message can take from the note that it is under way to the queue's list."""

_AT_ONCE: Final = 5_000
_SECONDS: Final = 5.0
T = TypeVar("T")

# KEYS: queued. ARGV: now, ids. Returns the ids that no message was under way for.
_NOTE_QUEUED: Final = """
local fresh = {}
for i = 2, #ARGV do
  if redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[i]) == 1 then fresh[#fresh + 1] = ARGV[i] end
end
return fresh
"""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many ids of a target are queued, how many are claimed, and since when the oldest is queued."""

    queued: int
    claimed: int
    since: float | None


class Queue:
    """The sender's and the worker's side of the queue; threads can share it. Raises `Unavailable` when Redis is down."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, decode_responses=True
        )
        self._app = make_app(url)
        self._note_queued = self._redis.register_script(_NOTE_QUEUED)

    def announce(self, target: QueueTarget, ids: Sequence[str], request: str = "", size: int = MESSAGE_IDS) -> bool:
        """Queue these documents, except those that are queued already; false when Redis is unavailable.

        Nothing is lost then: they are pending in the store, and the sweeper finds them. `request` is the id of the
        request they came with, for the log; `size` is how many ids go into one message.
        """
        with suppress(Unavailable):
            for part in split_ids(dict.fromkeys(ids), size):
                self._announce(target, part, request)
            return True
        return False

    def _announce(self, target: QueueTarget, ids: Sequence[str], request: str) -> None:
        fresh = self._call(lambda: self._note_queued(keys=[_queued(target)], args=[time.time(), *ids]))
        if fresh:
            self._send(target, fresh, request)

    def send(self, target: QueueTarget, ids: Sequence[str], request: str = "") -> None:
        """Send a message for these ids, even where one is under way for some of them."""
        self._call(lambda: self._redis.zadd(_queued(target), dict.fromkeys(ids, time.time())))
        self._send(target, ids, request)

    def _send(self, target: QueueTarget, ids: Sequence[str], request: str) -> None:
        headers = {"sent": time.time(), "asked": request}
        arguments = (target.encode(), list(ids))
        self._call(lambda: self._app.send_task(INDEX_TASK, arguments, queue=ENCODE, headers=headers))

    def send_task(self, task: str, *arguments: Any, queue: str) -> None:
        """Send a message for another task."""
        self._call(lambda: self._app.send_task(task, arguments, queue=queue))

    def claim(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """A worker begins with these ids: from now on a change of one of them is announced again."""
        with self._pipeline() as pipe:
            pipe.zrem(_queued(target), *ids)
            pipe.zadd(_claimed(target), dict.fromkeys(ids, time.time()))
            self._call(pipe.execute)

    def renew(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """Renew the claim: the worker is still alive."""
        self._call(lambda: self._redis.zadd(_claimed(target), dict.fromkeys(ids, time.time()), xx=True))

    def release(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """End the claim: the worker is done with them, one way or the other."""
        with self._pipeline() as pipe:
            pipe.zrem(_claimed(target), *ids)
            pipe.hdel(_deaths(target), *ids)
            self._call(pipe.execute)

    def deaths(self, target: QueueTarget, ids: Sequence[str]) -> list[int]:
        """How many workers died while they had claimed each of these ids, since one last released it."""
        found = self._call(lambda: self._redis.hmget(_deaths(target), ids)) if ids else []
        return [int(count or 0) for count in found]

    def find_orphaned(self, target: QueueTarget, ids: Collection[str]) -> list[str]:
        """Those that are neither queued nor claimed by a living worker."""
        self._forget_dead(target)
        orphaned: list[str] = []
        for part in split_ids(ids, _AT_ONCE):
            with self._pipeline() as pipe:
                pipe.zmscore(_queued(target), part)
                pipe.zmscore(_claimed(target), part)
                queued, claimed = self._call(pipe.execute)
            orphaned += [
                name for name, one, other in zip(part, queued, claimed, strict=True) if one is None and other is None
            ]
        return orphaned

    def depth(self, target: QueueTarget) -> QueueDepth:
        """How much is in the queue."""
        with self._pipeline() as pipe:
            pipe.zcard(_queued(target))
            pipe.zcount(_claimed(target), time.time() - CLAIM_SECONDS, "+inf")
            pipe.zrange(_queued(target), 0, 0, withscores=True)
            queued, claimed, first = self._call(pipe.execute)
        return QueueDepth(queued, claimed, first[0][1] if first else None)

    def count_start(self, task: str) -> int:
        """Count that a task begins; more than 1: it began before and did not end, as its worker died."""
        key = f"{PREFIX}starts:{task}"
        with self._pipeline() as pipe:
            pipe.incr(key)
            pipe.expire(key, 86_400)
            return int(self._call(pipe.execute)[0])

    def forget_starts(self, task: str) -> None:
        """The task ended by itself."""
        self._call(lambda: self._redis.delete(f"{PREFIX}starts:{task}"))

    def report(self, worker: str, figures: dict[str, float]) -> None:
        """Keep a worker's figures for a few minutes, so that the gateway can show them."""
        self._call(lambda: self._redis.set(f"{PREFIX}worker:{worker}", orjson.dumps(figures).decode(), ex=300))

    def reports(self) -> dict[str, dict[str, float]]:
        """Worker -> its figures."""
        keys = self._call(lambda: sorted(self._redis.scan_iter(f"{PREFIX}worker:*")))
        values = self._call(lambda: self._redis.mget(keys)) if keys else []
        return {key.rpartition(":")[2]: orjson.loads(value) for key, value in zip(keys, values, strict=True) if value}

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()
        self._app.close()

    def _forget_dead(self, target: QueueTarget) -> None:
        """Drop the claims of dead workers, and the notes of messages that no longer exist.

        Messages leave their list in the order in which they came, so a note that is older than the oldest message left
        belongs to one that is gone: received by a worker, which removes the note, or lost.
        """
        now = time.time()
        dead = self._call(lambda: self._redis.zrangebyscore(_claimed(target), "-inf", now - CLAIM_SECONDS))
        oldest = self._call(lambda: self._redis.lindex(ENCODE, -1))
        before = min(now, _sent(oldest) if oldest else now) - SLACK_SECONDS
        with self._pipeline() as pipe:
            for name in dead:
                pipe.hincrby(_deaths(target), name, 1)
                pipe.zrem(_claimed(target), name)
            pipe.zremrangebyscore(_queued(target), "-inf", before)
            self._call(pipe.execute)

    def _pipeline(self) -> Any:
        return self._redis.pipeline(transaction=True)

    def _call(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except (redis.RedisError, OSError) as error:
            raise Unavailable(f"Redis at {_place(self._url)} does not answer: {error}") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("kombu", "celery", "amqp"):
                raise Unavailable(f"Redis at {_place(self._url)} does not answer: {error}") from error
            raise


def _queued(target: QueueTarget) -> str:
    return f"{PREFIX}queued:{target.encode()}"


def _claimed(target: QueueTarget) -> str:
    return f"{PREFIX}taken:{target.encode()}"  # not "claimed": claims must survive an upgrade


def _deaths(target: QueueTarget) -> str:
    return f"{PREFIX}deaths:{target.encode()}"


def _sent(message: str) -> float:
    """When a message in the list was sent; one that can't be read counts as the oldest of all."""
    try:
        return float(orjson.loads(message)["headers"]["sent"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return 0.0


def _place(url: str) -> str:
    return url.rpartition("@")[2].removeprefix("redis://").removeprefix("rediss://")


def open_queue(settings: Settings) -> Queue | None:
    """The queue of the settings; None where there is none. Raises `InvalidInput` for an address that is not Redis'."""
    return Queue(redis_url(settings)) if settings.redis else None


def require_queue(settings: Settings) -> Queue:
    """The queue of the settings. Raises `InvalidInput` where there is none."""
    return Queue(redis_url(settings))


def redis_url(settings: Settings) -> str:
    """The address of Redis, with its password. Raises `InvalidInput`."""
    url = settings.redis
    if not url:
        raise InvalidInput(
            "there is no queue: set MEDLEY_REDIS to the address of a Redis, such as redis://127.0.0.1:6379/0",
            field="MEDLEY_REDIS",
        )
    if not url.startswith(("redis://", "rediss://")):
        raise InvalidInput(
            f"MEDLEY_REDIS takes an address such as redis://127.0.0.1:6379/0, not {_place(url)!r}", field="MEDLEY_REDIS"
        )
    password = secret(settings.redis_password_file, "MEDLEY_REDIS_PASSWORD_FILE")
    if not password:
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://:{quote(password, safe='')}@{rest.rpartition('@')[2]}"
