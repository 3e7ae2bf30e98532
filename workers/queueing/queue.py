"""The queue of documents to be indexed, in Redis: which ids are queued, and which are claimed by a worker.

The store is the source of truth, never the queue: Redis can be emptied at any time. Besides Celery's own lists there are,
for each target (a collection, or an index that is being built): `queued`, the ids in messages that no worker has received
yet, and `taken`, the ids that a worker has claimed, renewed while it lives. A document that is pending in the store and
in neither is orphaned: the sweeper announces it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import orjson
import redis

from mappings.errors import Unavailable
from search.settings import Settings
from search.tracing import spans
from workers.messages import MESSAGE_IDS, QueueTarget, first_argument, is_of, split_ids
from workers.queueing.address import place_of, redis_url
from workers.queueing.app import ENCODE, INDEX_TASK, PARSE, PREFIX, URGENT, make_app

CLAIM_SECONDS: Final = 30.0
"""How long a worker's claim lasts without renewal."""

SLACK_SECONDS: Final = 60.0
"""How long a message can take to reach the queue's list after its ids were added to `queued`."""

_AT_ONCE: Final = 5_000
_SECONDS: Final = 5.0
T = TypeVar("T")

# KEYS: queued. ARGV: now, ids. Adds the ids to `queued`; returns those that were not in it.
_ADD_QUEUED: Final = """
local fresh = {}
for i = 2, #ARGV do
  if redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[i]) == 1 then fresh[#fresh + 1] = ARGV[i] end
end
return fresh
"""

# KEYS: claimed, deaths. ARGV: until when a claim is dead. In one step: two sweeps count a death once, and a claim that is
# renewed meanwhile stays.
_COUNT_DEATHS: Final = """
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HINCRBY', KEYS[2], id, 1)
end
"""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many ids of a target are queued and claimed, and since when the oldest one is queued."""

    queued: int
    claimed: int
    since: float | None


class Queue:
    """The sender's and the worker's side of the queue. Thread-safe. Raises `Unavailable` if Redis is unavailable."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, decode_responses=True
        )
        self._app = make_app(url)
        self._add_queued = self._redis.register_script(_ADD_QUEUED)
        self._count_deaths = self._redis.register_script(_COUNT_DEATHS)

    @property
    def place(self) -> str:
        """Where its Redis is, without user name and password."""
        return place_of(self._url)

    def announce(self, target: QueueTarget, ids: Sequence[str], request: str = "", size: int = MESSAGE_IDS) -> bool:
        """Queue these documents, except those that are already queued; false if Redis is unavailable.

        Nothing is lost then: the documents are pending in the store, and the sweeper finds them. `request` is the id of the
        HTTP request that delivered them, for the log; `size` is how many ids go into one message.
        """
        return self._announce_all(target, ids, request, size, ENCODE)

    def announce_urgent(self, target: QueueTarget, ids: Sequence[str], request: str = "") -> bool:
        """Like `announce`, for documents that workers should take before all others.

        One that already waits in the ordinary queue is queued again: the worker that comes second finds nothing to do.
        """
        return not ids or self._announce_all(target, ids, request, MESSAGE_IDS, URGENT)

    def _announce_all(self, target: QueueTarget, ids: Sequence[str], request: str, size: int, queue: str) -> bool:
        with suppress(Unavailable):
            for part in split_ids(dict.fromkeys(ids), size):
                self._announce(target, part, request, queue)
            return True
        return False

    def _announce(self, target: QueueTarget, ids: Sequence[str], request: str, queue: str) -> None:
        fresh = self._call(lambda: self._add_queued(keys=[_queued(target)], args=[time.time(), *ids]))
        if chosen := ids if queue == URGENT else fresh:
            self._send(target, chosen, request, queue)

    def send(self, target: QueueTarget, ids: Sequence[str], request: str = "") -> None:
        """Send a message for these ids, even if some of them are already queued."""
        self._call(lambda: self._redis.zadd(_queued(target), dict.fromkeys(ids, time.time())))
        self._send(target, ids, request, ENCODE)

    def _send(self, target: QueueTarget, ids: Sequence[str], request: str, queue: str) -> None:
        headers = {"sent": time.time(), "asked": request, **spans.headers()}
        arguments = (target.encode(), list(ids))
        self._call(lambda: self._app.send_task(INDEX_TASK, arguments, queue=queue, headers=headers))

    def send_task(self, task: str, *arguments: Any, queue: str) -> None:
        """Send a message for another task."""
        self._call(lambda: self._app.send_task(task, arguments, queue=queue))

    def claim(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """Claim these ids for a worker that starts on them: a later change of one of them is announced again."""
        with self._pipeline() as pipe:
            pipe.zrem(_queued(target), *ids)
            pipe.zadd(_claimed(target), dict.fromkeys(ids, time.time()))
            self._call(pipe.execute)

    def renew(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """Renew the claim of a worker that is still alive."""
        self._call(lambda: self._redis.zadd(_claimed(target), dict.fromkeys(ids, time.time()), xx=True))

    def release(self, target: QueueTarget, ids: Sequence[str]) -> None:
        """End the claim: the worker has finished with these ids, whatever the outcome."""
        with self._pipeline() as pipe:
            pipe.zrem(_claimed(target), *ids)
            pipe.hdel(_deaths(target), *ids)
            self._call(pipe.execute)

    def deaths(self, target: QueueTarget, ids: Sequence[str]) -> list[int]:
        """How many workers died while they had each of these ids claimed, since it was last released."""
        found = self._call(lambda: self._redis.hmget(_deaths(target), ids)) if ids else []
        return [int(count or 0) for count in found]

    def find_orphaned(self, target: QueueTarget, ids: Collection[str]) -> list[str]:
        """Return those of `ids` that are neither queued nor claimed by a living worker."""
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
        """How many ids of `target` are queued and claimed."""
        with self._pipeline() as pipe:
            pipe.zcard(_queued(target))
            pipe.zcount(_claimed(target), time.time() - CLAIM_SECONDS, "+inf")
            pipe.zrange(_queued(target), 0, 0, withscores=True)
            queued, claimed, first = self._call(pipe.execute)
        return QueueDepth(queued, claimed, first[0][1] if first else None)

    def count_start(self, task: str) -> int:
        """Count a start of a task; a result above 1 means that it was started before and its worker died."""
        key = f"{PREFIX}starts:{task}"
        with self._pipeline() as pipe:
            pipe.incr(key)
            pipe.expire(key, 86_400)
            return int(self._call(pipe.execute)[0])

    def forget_starts(self, task: str) -> None:
        """Reset the count of a task that has ended normally."""
        self._call(lambda: self._redis.delete(f"{PREFIX}starts:{task}"))

    def report(self, worker: str, figures: dict[str, float]) -> None:
        """Store a worker's figures for a few minutes, so that the gateway can show them."""
        self._call(lambda: self._redis.set(f"{PREFIX}worker:{worker}", orjson.dumps(figures).decode(), ex=300))

    def reports(self) -> dict[str, dict[str, float]]:
        """Worker -> its figures."""
        keys = self._call(lambda: sorted(self._redis.scan_iter(f"{PREFIX}worker:*")))
        values = self._call(lambda: self._redis.mget(keys)) if keys else []
        return {key.rpartition(":")[2]: orjson.loads(value) for key, value in zip(keys, values, strict=True) if value}

    def drop(self, collection: str) -> int:
        """Remove what is queued and claimed for a collection that was deleted; returns how many messages.

        Messages that workers have already received stay: they find that the collection is gone.
        """
        kinds = (f"{PREFIX}{kind}:" for kind in ("queued", "taken", "deaths"))
        keys = [(kind, key) for kind in kinds for key in self._call(partial(self._keys, f"{kind}*"))]
        if gone := [key for kind, key in keys if is_of(key.removeprefix(kind), collection)]:
            self._call(lambda: self._redis.delete(*gone))
        removed = 0
        for name in (URGENT, ENCODE, PARSE):
            for message in self._call(partial(self._redis.lrange, name, 0, -1)):
                if is_of(first_argument(message), collection):
                    removed += self._call(partial(self._redis.lrem, name, 1, message))
        return removed

    def _keys(self, pattern: str) -> list[str]:
        return sorted(self._redis.scan_iter(pattern))

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()
        self._app.close()

    def _forget_dead(self, target: QueueTarget) -> None:
        """Remove the claims of dead workers, and the `queued` entries of messages that no longer exist.

        Messages leave their list in the order of arrival, so an entry that is older than the oldest remaining message
        belongs to one that is gone: received by a worker, which removes the entry, or lost.
        """
        now = time.time()
        oldest = self._call(lambda: [self._redis.lindex(name, -1) for name in (URGENT, ENCODE)])
        before = min([now, *(_sent(message) for message in oldest if message)]) - SLACK_SECONDS
        self._call(lambda: self._count_deaths(keys=[_claimed(target), _deaths(target)], args=[now - CLAIM_SECONDS]))
        self._call(lambda: self._redis.zremrangebyscore(_queued(target), "-inf", before))

    def _pipeline(self) -> Any:
        return self._redis.pipeline(transaction=True)

    def _call(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except redis.ResponseError as error:
            raise Unavailable(f"Redis at {place_of(self._url)} refuses: {error}") from error
        except (redis.RedisError, OSError) as error:
            raise Unavailable(f"Redis at {place_of(self._url)} does not answer: {error}") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("kombu", "celery", "amqp"):
                raise Unavailable(f"Redis at {place_of(self._url)} does not answer: {error}") from error
            raise


def _queued(target: QueueTarget) -> str:
    return f"{PREFIX}queued:{target.encode()}"


def _claimed(target: QueueTarget) -> str:
    return f"{PREFIX}taken:{target.encode()}"  # not "claimed": claims must survive an upgrade


def _deaths(target: QueueTarget) -> str:
    return f"{PREFIX}deaths:{target.encode()}"


def _sent(message: str) -> float:
    """When a message in the list was sent; 0 for one that cannot be parsed."""
    try:
        return float(orjson.loads(message)["headers"]["sent"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return 0.0


def open_queue(settings: Settings) -> Queue | None:
    """The queue of the settings; None if there is none. Raises `InvalidInput` for a URL that is not one of Redis."""
    return Queue(redis_url(settings)) if settings.redis else None


def require_queue(settings: Settings) -> Queue:
    """The queue of the settings. Raises `InvalidInput` if there is none."""
    return Queue(redis_url(settings))
