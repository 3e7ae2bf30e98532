"""`medley bench soak`: an installation that is asked twice as much as it can answer, for an hour.

A gateway and a worker, as users run them, over a home of their own. First clients that wait for each answer show how much
the machine can do. Then twice as many requests arrive as that, whether or not earlier ones were answered: searches of four
users, and among them new, changed and deleted documents. `p95_growth` and `memory_growth` compare the last tenth of the
time with the second (memory is still filling in the first).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import urllib3

from evaluation.bench.load.arrivals import (
    ANSWERED,
    NO_ANSWER,
    REFUSED,
    LoadReply,
    MemoryWatch,
    run_closed,
    run_open,
)
from evaluation.bench.shared.commands import environment_of
from evaluation.bench.shared.figures import Report, bench_report
from evaluation.bench.shared.ingestion import NAME
from evaluation.bench.shared.servers import RunningServer, embedded_gateway, worker
from evaluation.suites import scifact
from mappings.documents import Document
from mappings.errors import InvalidInput, Unavailable
from search.bootstrap import Medley
from search.settings import Settings
from search.storage import State
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest_all

MINUTES: Final = 60
DOCUMENTS: Final = 1_000
"""Documents that are there from the beginning."""
USERS: Final = 4
CLIENTS: Final = 4
CAPACITY_SECONDS: Final = 40.0
TIMES: Final = 2.0
"""How many times its capacity the installation is asked."""
PARTS: Final = 10
SAMPLES: Final = 24
"""How many times memory is read in each part."""
WRITE_EVERY: Final = 10
"""One in so many requests writes."""
_DRAIN_SECONDS: Final = 1_800.0
_TIMEOUT: Final = 30.0
_ALL: Final = 2**62


@dataclass(slots=True)
class AcknowledgedChanges:
    """What the gateway accepted: the documents that exist since then, and those that were deleted last."""

    existing: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    accepted: int = 0

    def forget(self, names: set[str]) -> None:
        """These documents are not compared."""
        self.existing -= names
        self.deleted -= names


def bench_soak(
    settings: Settings, minutes: float = MINUTES, documents: int = DOCUMENTS, capacity_seconds: float = CAPACITY_SECONDS
) -> Report:
    """Answers, refusals, times and memory of the soak, and what was lost. Raises `InvalidInput` without a Redis.

    `documents` are there from the beginning, twice as many are written; how much the machine can do is measured for
    `capacity_seconds`.
    """
    if not settings.redis:
        raise InvalidInput("the soak needs a Redis for its queue: set MEDLEY_REDIS", field="redis")
    task = scifact.task(settings)
    chosen = [item for item in islice(task.corpus.documents(), 2 * documents) if isinstance(item, Document)]
    with tempfile.TemporaryDirectory() as home:
        own = replace(settings, home=Path(home), opensearch="")
        _fill(own, chosen[: len(chosen) // 2])
        tokens = [_add_token(own, f"user-{number}") for number in range(USERS)]
        known = environment_of(own)
        with worker(known) as indexing, embedded_gateway(known) as serving:
            texts = [question.text for question in task.questions]
            client = SoakClient(serving.address, tokens, texts, chosen)
            replies = run_closed(client.send, CLIENTS, capacity_seconds)
            capacity = sum(reply.status == ANSWERED for reply in replies) / capacity_seconds
            _await_indexed(own)
            figures = _soak(client, own, (serving, indexing), capacity, 60.0 * minutes)
    return bench_report("soak", figures, {"minutes": minutes})


def _soak(
    client: SoakClient, settings: Settings, servers: Sequence[RunningServer], capacity: float, seconds: float
) -> dict[str, float]:
    def held() -> float:
        return sum(server.memory().get("pss_mb", 0.0) for server in servers)

    before = held()
    with MemoryWatch(held, seconds / (SAMPLES * PARTS)) as memory:
        replies = run_open(client.send, TIMES * capacity, seconds)
    started = time.perf_counter()
    _await_indexed(settings)
    return {
        "capacity_per_second": capacity,
        "offered_per_second": TIMES * capacity,
        "memory_before_mb": before,
        "drained_seconds": time.perf_counter() - started,
        **_replied(replies, seconds),
        **_grown(replies, memory.megabytes, seconds),
        **_kept(client.written, settings),
    }


class SoakClient:
    """Sends the requests of the soak: searches in turn for each user, and writes by the last of them."""

    def __init__(
        self, address: str, tokens: Sequence[str], texts: Sequence[str], documents: Sequence[Document]
    ) -> None:
        self._address, self._texts, self._documents = address, texts, documents
        self._headers = [{"Authorization": f"Bearer {token}", "Content-Type": "application/json"} for token in tokens]
        self._pool = urllib3.PoolManager(maxsize=256, retries=False)
        self.written = AcknowledgedChanges({f"s{number}" for number in range(len(documents) // 2)})

    def send(self, number: int) -> tuple[int, bool]:
        """Send request `number`: a search, or every tenth time a document; its status, and whether it was a search."""
        if number % WRITE_EVERY:
            body = {"collection": NAME, "text": self._texts[number % len(self._texts)], "size": 10}
            return self._post("/v1/search", orjson.dumps(body), number % USERS)[0], True
        turn = number // WRITE_EVERY
        document = (len(self._documents) // 4 + turn) % len(self._documents)
        if turn % 5 == 0:
            return self._write([{"id": f"s{document}", "deleted": True}]), False
        return self._write([self._line(document, f" Version {number}.")]), False

    def _line(self, number: int, added: str) -> dict[str, Any]:
        document = self._documents[number]
        text = " ".join(section.text for section in document.sections)
        return {"id": f"s{number}", "title": document.title, "text": text + added, "labels": ["public"]}

    def _write(self, lines: Sequence[dict[str, Any]]) -> int:
        body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        status, answer = self._post(f"/v1/documents?collection={NAME}", body, USERS - 1, "application/x-ndjson")
        if status == NO_ANSWER:  # nobody knows whether they were accepted
            self.written.forget({line["id"] for line in lines})
        if status != ANSWERED:
            return status
        for outcome in map(orjson.loads, answer.splitlines()[:-1]):
            self._note(outcome)
        return status

    def _note(self, outcome: dict[str, Any]) -> None:
        name, status = outcome["id"], outcome["status"]
        if status in ("accepted", "unchanged"):
            self.written.existing.add(name)
            self.written.deleted.discard(name)
        elif status in ("deleted", "unknown"):
            self.written.existing.discard(name)
            self.written.deleted.add(name)
        self.written.accepted += status in ("accepted", "deleted")

    def _post(self, path: str, body: bytes, user: int, kind: str = "application/json") -> tuple[int, bytes]:
        headers = {**self._headers[user], "Content-Type": kind}
        try:
            answer = self._pool.request("POST", self._address + path, body=body, headers=headers, timeout=_TIMEOUT)
        except urllib3.exceptions.HTTPError:
            return NO_ANSWER, b""
        return answer.status, answer.data


def _fill(settings: Settings, documents: Sequence[Document]) -> None:
    """Index the documents that are there from the beginning."""
    medley = Medley.open(settings)
    medley.collections.create(NAME)
    public = frozenset(["public"])
    named = [replace(item, id=f"s{number}", labels=public) for number, item in enumerate(documents)]
    medley.collections.store(NAME).put(named)
    ingest_all(Indexer.of(medley, NAME))


def _add_token(settings: Settings, user: str) -> str:
    command = [sys.executable, "-m", "web.cli", "tokens", "add", user, "--label", "public", "--write", NAME, "--json"]
    environment = {**os.environ, "MEDLEY_HOME": str(settings.home)}
    ran = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603
    return str(orjson.loads(ran.stdout)["token"])


def _await_indexed(settings: Settings) -> None:
    """Wait until nothing is pending. Raises `Unavailable` after half an hour."""
    medley, until = Medley.open(settings), time.monotonic() + _DRAIN_SECONDS
    store = medley.collections.store(NAME)
    while time.monotonic() < until:
        index = medley.engine.published(NAME)
        if index and not list(store.pending(index, 1)):
            return
        time.sleep(0.5)
    raise Unavailable("documents were still waiting after half an hour: does a worker run?")


def _replied(replies: Sequence[LoadReply], seconds: float) -> dict[str, float]:
    statuses = [reply.status for reply in replies]
    answered, refused = statuses.count(ANSWERED), statuses.count(REFUSED)
    return {
        "requests": float(len(replies)),
        "answered": float(answered),
        "refused": float(refused),
        "failed": float(len(replies) - answered - refused),
        "no_answer": float(statuses.count(NO_ANSWER)),
        "answered_per_second": answered / seconds,
    }


def _grown(replies: Sequence[LoadReply], megabytes: Sequence[float], seconds: float) -> dict[str, float]:
    """The times of answered searches and the memory, and how the last tenth compares with the second."""
    parts = [list[float]() for _ in range(PARTS)]
    for reply in replies:
        if reply.is_search and reply.status == ANSWERED:
            parts[min(PARTS - 1, int(PARTS * reply.due / seconds))].append(reply.milliseconds)
    p50, p95, p99 = np.percentile([value for part in parts for value in part] or [0.0], (50, 95, 99))
    slow = [float(np.percentile(part or [0.0], 95)) for part in parts]
    held = [max(part, default=0.0) for part in _split(megabytes)]
    return {
        "p50_ms": float(p50),
        "p95_ms": float(p95),
        "p99_ms": float(p99),
        "p95_early_ms": slow[1],
        "p95_late_ms": slow[-1],
        "p95_growth": slow[-1] / slow[1] if slow[1] else 0.0,
        "memory_most_mb": max(megabytes, default=0.0),
        "memory_growth": held[-1] / held[1] if held[1] else 0.0,
    }


def _split(values: Sequence[float]) -> Iterator[Sequence[float]]:
    return (values[len(values) * part // PARTS : len(values) * (part + 1) // PARTS] for part in range(PARTS))


def _kept(written: AcknowledgedChanges, settings: Settings) -> dict[str, float]:
    """What the index holds in the end, compared with what was acknowledged."""
    medley = Medley.open(settings)
    index = medley.engine.resolve(NAME).index
    found = {document for document, _, _ in medley.engine.contents(index)}
    failed = medley.collections.store(NAME).states(index, State.FAILED, _ALL)
    return {
        "changes_accepted": float(written.accepted),
        "documents_lost": float(len(written.existing - found)),
        "deletions_lost": float(len(written.deleted & found)),
        "documents_failed": float(len(failed)),
    }
