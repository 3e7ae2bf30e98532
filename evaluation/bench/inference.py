"""`medley bench inference`: the model server with and without batching, and past its capacity.

The same requests go to both, from `CLIENTS` threads, in turns; a figure is the median over the rounds, and a ratio the
median of the rounds' ratios.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import orjson
import urllib3

from encoders.onnx import ort
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.bench.shared.models import ENCODER
from evaluation.bench.shared.servers import model_server
from evaluation.bench.shared.workload import SENTENCES
from mappings.errors import Unavailable
from search.settings import Settings

CLIENTS: Final = 16
REQUESTS: Final = 240
ROUNDS: Final = 16
START_SECONDS: Final = 120.0
FLOOD_CLIENTS: Final = 32
FLOOD_REQUESTS: Final = 1_280
FLOOD_WAITING: Final = 64
FLOOD_TEXTS: Final = 8
REFUSED_SECONDS: Final = 0.1
"""How long a refused client waits before its next request, with jitter, as independent clients do: a tenth of what the
server asks for."""

QUERY_WORDS: Final = 8
LONG_WORDS: Final = 220
"""Words of the longest texts: about 300 tokens."""


def bench_inference(settings: Settings) -> Report:
    """Texts per second of the bi-encoder with and without batching, `speed_ratio`, and the refusals past capacity."""
    name = settings.encoder or ENCODER
    requests = [[text] for text in texts(REQUESTS, seed=0)]
    with model_server([name]) as batched, model_server([name], "--no-batching") as alone, _connections() as pool:
        form = _info(pool, batched)["model_dtype"]
        rates: dict[str, list[float]] = {batched: [], alone: []}
        for step in range(ROUNDS + 1):
            # In turns, and each is first every other round: other load on the machine falls on both.
            for address, found in sorted(rates.items(), reverse=bool(step % 2)):
                rate = _rate(pool, address, requests)
                if step:  # the first round warms up
                    found.append(rate)
    with model_server([name], "--max-waiting", str(FLOOD_WAITING)) as small, _connections() as pool:
        refusals = _flood(pool, small)
    medians = {address: statistics.median(found) for address, found in rates.items()}
    figures = {
        # A ratio per round: other load on the machine changes from round to round.
        "speed_ratio": statistics.median(
            ours / theirs for ours, theirs in zip(rates[batched], rates[alone], strict=True)
        ),
        "batched_per_second": medians[batched],
        "alone_per_second": medians[alone],
        "clients": float(CLIENTS),
        **refusals,
    }
    return bench_report("inference", figures, {"model": name, "form": form, "onnxruntime": ort.__version__})


def texts(count: int, seed: int) -> list[str]:
    """Half of them as long as queries, half from a sentence to about 300 tokens; the same in every run."""
    draw = random.Random(seed)  # noqa: S311 - a fixed sequence is what is wanted
    words = " ".join(SENTENCES).split()

    def one(number: int) -> str:
        length = QUERY_WORDS if number % 2 else draw.randint(QUERY_WORDS, LONG_WORDS)
        start = draw.randrange(len(words))
        return " ".join((words * 3)[start : start + length])

    return [one(number) for number in range(count)]


def _rate(pool: urllib3.PoolManager, address: str, requests: Sequence[Sequence[str]]) -> float:
    """Texts per second over all requests. Raises `Unavailable` when one is refused."""
    started = time.perf_counter()
    statuses = [status for status, _ in _send(pool, address, requests, CLIENTS)]
    seconds = time.perf_counter() - started
    if set(statuses) != {200}:
        raise Unavailable(f"{address} answered {sorted(set(statuses))}; 200 was expected")
    return sum(len(request) for request in requests) / seconds


def _flood(pool: urllib3.PoolManager, address: str) -> dict[str, float]:
    """More requests than the queue holds: the share of 429, how soon they come, and the share answered afterwards."""
    long = texts(2 * FLOOD_REQUESTS, seed=1)[::2]
    answers = _send(pool, address, [[text] * FLOOD_TEXTS for text in long[:FLOOD_REQUESTS]], FLOOD_CLIENTS)
    refused = [1000 * seconds for status, seconds in answers if status == 429]
    after = _send(pool, address, [[text] for text in long[:CLIENTS]], 4)
    times = percentiles(refused) if refused else {}
    return {
        "refused_share": len(refused) / len(answers),
        "answered_share": sum(status == 200 for status, _ in answers) / len(answers),
        **{f"refused_{key}": value for key, value in times.items() if key in ("p50_ms", "p95_ms")},
        "answered_afterwards_share": float(np.mean([status == 200 for status, _ in after])),
    }


def _send(
    pool: urllib3.PoolManager, address: str, requests: Sequence[Sequence[str]], clients: int
) -> list[tuple[int, float]]:
    """(status, seconds) of each request, in order."""
    bodies = [orjson.dumps({"inputs": list(request)}) for request in requests]

    def one(body: bytes) -> tuple[int, float]:
        started = time.perf_counter()
        answer = pool.request("POST", f"{address}/embed", body=body, headers={"Content-Type": "application/json"})
        seconds = time.perf_counter() - started
        if answer.status == 429:
            time.sleep(REFUSED_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - no secret depends on it
        return answer.status, seconds

    with ThreadPoolExecutor(clients) as threads:
        return list(threads.map(one, bodies))


@contextmanager
def _connections() -> Iterator[urllib3.PoolManager]:
    """Persistent connections, closed at the end: a stopping server waits for them."""
    pool = urllib3.PoolManager(maxsize=FLOOD_CLIENTS, retries=False)
    yield pool
    pool.clear()


def _info(pool: urllib3.PoolManager, address: str) -> dict[str, Any]:
    info: dict[str, Any] = pool.request("GET", f"{address}/info").json()
    return info
