"""`medley bench nodes`: a cluster of several nodes is searched and fed while its nodes are killed and restarted.

Needs the addresses of all nodes, processes of this machine, in `MEDLEY_OPENSEARCH`, and something that starts each again
that ends: `python tests/services/opensearch_cluster.py` prints such addresses and does so.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from evaluation.bench.load.events import Load, LoadLog, find_lost
from evaluation.bench.shared.cluster import engine_of
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.corpus.indexing import index_all
from evaluation.suites import scifact
from mappings.documents import Document
from mappings.errors import InvalidInput, MedleyError, Unavailable
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster
from search.models.registry import HASHING
from search.settings import Settings

NAME: Final = "abstracts"
DOCUMENTS: Final = 500
QUIET_SECONDS: Final = 5.0
BACK_SECONDS: Final = 600.0
_LEAST: Final = 3


def bench_nodes(settings: Settings) -> Report:
    """What clients notice of nodes killed and restarted; whether anything was lost; the seconds until all is green again.

    `p95_ratio`: searches while nodes are killed, to those before. The encoder is hashed words: nothing here depends on it.
    Raises `InvalidInput` for fewer than three addresses, and for nodes that are no processes of this machine.
    """
    nodes = _Nodes.of(settings)
    with TemporaryDirectory() as home:
        prefix = f"{settings.opensearch_prefix}-nodes-{secrets.token_hex(3)}"
        own = replace(settings, home=Path(home), encoder=HASHING, reranker="none", opensearch_prefix=prefix)
        medley = Medley.open(own, patient=True)
        try:
            return bench_report("nodes", _measured(medley, own, nodes))
        finally:
            engine_of(medley).cluster.write("DELETE", f"/{prefix}.*")


def _measured(medley: Medley, settings: Settings, nodes: _Nodes) -> dict[str, float]:
    task = scifact.task(settings)
    known = list(task.corpus.documents())
    arriving = _endless(known)
    medley.collections.create(NAME)
    first = [next(arriving) for _ in range(DOCUMENTS)]
    medley.collections.store(NAME).put(first)
    index_all(medley, NAME)
    load = Load(settings, NAME, [question.text for question in task.questions], arriving)
    nodes.wait_until_green()
    cold = load.during(lambda: time.sleep(QUIET_SECONDS))  # nodes that have just started are still compiling
    quiet = load.during(lambda: time.sleep(QUIET_SECONDS))
    killed, kill_seconds = _timed(load, nodes, signal.SIGKILL)
    restarted, restart_seconds = _timed(load, nodes, signal.SIGTERM)
    every = cold + quiet + killed + restarted
    accepted = [*(document.id for document in first), *every.accepted]
    lost = find_lost(medley, NAME, accepted)
    return {
        "nodes": float(nodes.size),
        "documents": float(len(accepted)),
        "documents_lost": float(len(lost)),
        "searches": float(len(every.times) + len(every.failures)),
        "failed_searches": float(len(every.failures)),
        "degraded_searches": float(every.degraded),
        "interrupted_deliveries": float(len(every.interruptions)),
        "quiet_p95_ms": percentiles(quiet.times)["p95_ms"],
        "killed_p95_ms": percentiles(killed.times)["p95_ms"],
        "killed_longest_ms": max(killed.times),
        "restarted_p95_ms": percentiles(restarted.times)["p95_ms"],
        "restarted_longest_ms": max(restarted.times),
        "p95_ratio": percentiles(killed.times)["p95_ms"] / percentiles(quiet.times)["p95_ms"],
        "kill_to_green_seconds": kill_seconds / nodes.size,
        "restart_to_green_seconds": restart_seconds / nodes.size,
    }


def _timed(load: Load, nodes: _Nodes, how: signal.Signals) -> tuple[LoadLog, float]:
    started = time.perf_counter()
    log = load.during(lambda: nodes.end_one_by_one(how))
    return log, time.perf_counter() - started


def _endless(documents: Sequence[Document]) -> Iterator[Document]:
    for turn in count():
        yield from (replace(document, id=f"{document.id}-{turn}") for document in documents)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes of a cluster, processes of this machine."""

    cluster: Cluster
    size: int

    @classmethod
    def of(cls, settings: Settings) -> _Nodes:
        hosts = settings.opensearch.split(",") if settings.opensearch else []
        if len(hosts) < _LEAST or any(urlsplit(host).hostname not in ("127.0.0.1", "localhost") for host in hosts):
            raise InvalidInput(
                "this bench kills nodes: name three of this machine in MEDLEY_OPENSEARCH, as "
                "`python tests/services/opensearch_cluster.py` prints them",
                field="MEDLEY_OPENSEARCH",
            )
        medley = Medley.open(settings, patient=True)
        made = cls(engine_of(medley).cluster, len(hosts))
        for process in made.processes():
            _require_node(process)
        return made

    def processes(self) -> list[int]:
        """The process of each node."""
        found: dict[str, Any] = self.cluster.read("GET", "/_nodes/process")["nodes"]
        return [int(node["process"]["id"]) for _, node in sorted(found.items(), key=lambda item: str(item[1]["name"]))]

    def end_one_by_one(self, how: signal.Signals) -> None:
        """Send the signal to each; go on to the next when the node is back and every copy of a shard is there."""
        for process in self.processes():
            _end(process, how)
            _wait("the node did not come back", partial(self._is_replaced, process))
            self.wait_until_green()

    def _is_replaced(self, process: int) -> bool:
        processes = self.processes()
        return process not in processes and len(processes) == self.size

    def wait_until_green(self) -> None:
        """Return when every node is there and every copy of a shard is. Raises `Unavailable` if that takes too long."""
        wanted = {"wait_for_status": "green", "wait_for_nodes": str(self.size), "timeout": "5s"}
        _wait(
            "the cluster did not become green",
            lambda: not self.cluster.read("GET", "/_cluster/health", None, wanted)["timed_out"],
        )


def _end(process: int, how: signal.Signals) -> None:
    _require_node(process)
    os.kill(process, how)
    _wait("the node did not end", lambda: not _command(process))


def _wait(what: str, is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + BACK_SECONDS
    while time.monotonic() < until:
        with suppress(MedleyError):
            if is_so():
                return
        time.sleep(0.1)
    raise Unavailable(f"{what} within {BACK_SECONDS:.0f} s")


def _require_node(process: int) -> None:
    """Raise `InvalidInput` unless the process is a node on this machine: in a container its number is another one's here."""
    if "org.opensearch.bootstrap.OpenSearch" not in _command(process):
        raise InvalidInput("the nodes in MEDLEY_OPENSEARCH are no processes of this machine", field="MEDLEY_OPENSEARCH")


def _command(process: int) -> str:
    """The command line of a process; empty for one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
