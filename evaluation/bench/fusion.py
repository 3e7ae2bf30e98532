"""`medley bench fusion`: two legs, counts and our own fusion, beside the in-engine hybrid query of OpenSearch."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from evaluation.bench.shared.cluster import (
    TOP,
    bench_engine,
    encode_questions,
    encoder_identities,
    open_source,
    read_entries,
)
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.bench.shared.fusion_client import METHODS, ClientSetup
from evaluation.suites import scifact
from evaluation.task import Task
from mappings.collection import Collection
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.plugin.resources import fusion_parameters
from search.protocols import IndexMeta
from search.settings import Settings

ROUNDS: Final = {1: 6, 4: 6, 16: 2}
"""Clients at the same time -> how many times each method has its turn."""
COMMIT_EVERY: Final = 16
"""Batches between two commits of the bench's own index."""


def bench_fusion(settings: Settings) -> Report:
    """Times and overlap of both methods on one index, with the same weights and depth, at one, four and sixteen clients."""
    task = scifact.task(settings, distractors=True)
    medley = open_source(task, settings)
    questions = encode_questions(medley, task)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-fusion", window_words=0)
    with bench_engine(settings, collection) as engine, _pipeline(engine.cluster, collection) as pipeline:
        meta = _index(engine, collection, medley, task)
        setup = ClientSetup(engine.cluster.connection, collection, meta.index, pipeline, tuple(questions))
        ours, hybrid = (setup.method(name) for name in METHODS)
        # Asked before anything is timed: a node that has just started is still compiling.
        shared = [len(set(ours(item)[:TOP]) & set(hybrid(item)[:TOP])) / TOP for item in questions]
        figures = {"documents": float(meta.documents), "top10_overlap": float(np.mean(shared)), **_compare(setup)}
    return bench_report("fusion", figures)


def _index(engine: OpenSearchEngine, collection: Collection, medley: Medley, task: Task) -> IndexMeta:
    """An index of the corpus with one vector per passage, merged into one segment as after a rebuild."""
    index = engine.create(collection.name, encoder_identities(medley, task)).index
    with engine.writer(index) as writer:
        for number, entries in enumerate(read_entries(medley, task, collection, whole=False), 1):
            writer.write(entries)
            if number % COMMIT_EVERY == 0:
                writer.commit()
        writer.commit()
    path = f"/{engine.describe(index).physical}"
    engine.cluster.write("POST", f"{path}/_forcemerge", None, {"max_num_segments": "1"}, timeout=600.0)
    engine.cluster.write("POST", f"{path}/_refresh")
    return engine.meta(index)


@contextmanager
def _pipeline(cluster: Cluster, collection: Collection) -> Iterator[str]:
    """A search pipeline that fuses as the collection does."""
    name = f"{cluster.prefix}-bench"
    body = {"phase_results_processors": [{"normalization-processor": fusion_parameters(collection)}]}
    cluster.write("PUT", f"/_search/pipeline/{name}", body)
    try:
        yield name
    finally:
        cluster.write("DELETE", f"/_search/pipeline/{name}")


def _compare(setup: ClientSetup) -> dict[str, float]:
    """Milliseconds of both methods by number of clients, in turns; `p50_ratio` and `p95_ratio` are ours over theirs."""
    figures: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "setup"
        file.write_bytes(pickle.dumps(setup))
        for clients, rounds in ROUNDS.items():
            times: dict[str, list[float]] = {method: [] for method in METHODS}
            for _ in range(rounds):
                for method in METHODS:
                    times[method] += _run_clients(file, method, clients)
            for method, values in times.items():
                found = percentiles(values)
                figures |= {f"{method}_{clients}_{point}_ms": found[f"{point}_ms"] for point in ("p50", "p95")}
            for point in ("p50", "p95"):
                ratio = figures[f"ours_{clients}_{point}_ms"] / figures[f"hybrid_{clients}_{point}_ms"]
                figures[f"{point}_ratio" if clients == 1 else f"{point}_ratio_{clients}_clients"] = ratio
    return figures


def _run_clients(file: Path, method: str, clients: int) -> list[float]:
    """The times of `clients` client processes that start at the same time. Raises `Unavailable` when one fails."""
    command = [sys.executable, "-m", "evaluation.bench.shared.fusion_client", str(file), method]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = [
        subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(clients)
    ]
    for client in started:
        if client.stdout is not None:
            client.stdout.readline()  # `ready`
    times: list[float] = []
    for client in started:
        if client.stdin is not None:
            client.stdin.write("go\n")
            client.stdin.flush()
    for client in started:
        output, _ = client.communicate()
        if client.returncode:
            raise Unavailable("a client of the bench failed; its message is printed above", field=method)
        times += json.loads(output)
    return times
