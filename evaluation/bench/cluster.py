"""`medley bench agreement`, `fusion` and `bulk`: the OpenSearch engine beside the embedded one, and beside its own ways.

They need a cluster (`MEDLEY_OPENSEARCH`), and take away the indexes that they make, but for the corpus of the suite.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import orjson

from evaluation.bench.search import machine, percentiles
from evaluation.bench.shared.client import DEPTH, Asked, Job
from evaluation.index import Fill, opened
from evaluation.measures import parse, per_query
from evaluation.stages import ACCESS
from evaluation.suites import scifact
from evaluation.task import Task
from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.errors import InvalidInput, MedleyError, Unavailable
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.records import entry_ids, records
from search.pipeline.understanding import understand
from search.protocols import IndexEntry, IndexMeta
from search.query import Query
from search.ranking.fusion import fuse
from search.settings import Settings
from search.storage import State

Report = dict[str, Any]
TOP: Final = 10
CLIENTS: Final = (1, 4)
WAYS: Final = ("ours", "hybrid")
ROUNDS: Final = 6
BULK_DOCUMENTS: Final = 6_000
BATCH: Final = 256


def agreement(settings: Settings, fill: Fill) -> Report:
    """SciFact's claims over its abstracts and the 39k distractors, on both engines: how alike their answers are."""
    task = scifact.task(settings, distractors=True)
    embedded, cluster = opened(task.corpus, replace(settings, opensearch=""), fill), _opened(task, settings, fill)
    asked = _asked(embedded, task)
    one, other = ([_ranked(medley, task.corpus.name, item) for item in asked] for medley in (embedded, cluster))
    same = [first[0] == second[0] for first, second in zip(one, other, strict=True)]
    overlap = [len(set(first[1][:TOP]) & set(second[1][:TOP])) / TOP for first, second in zip(one, other, strict=True)]
    scores = [_measured(task, asked, found) for found in (one, other)]
    figures = {
        "queries": float(len(asked)),
        "bm25_same_top100": float(np.mean(same)),
        "fused_overlap_top10": float(np.mean(overlap)),
        "embedded_nDCG@10": scores[0],
        "opensearch_nDCG@10": scores[1],
        "nDCG@10_difference": abs(scores[0] - scores[1]),
    }
    return _report("agreement", figures)


def fusion(settings: Settings, fill: Fill) -> Report:
    """Two legs, counts and our own fusion, beside the in-engine hybrid query: one index, the same weights and depth."""
    task = scifact.task(settings, distractors=True)
    medley = _opened(task, settings, fill)
    asked, engine = _asked(medley, task), _engine(medley)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-fusion", window_words=0)
    with _index(engine, collection, medley, task) as meta, _pipeline(engine.cluster, collection) as pipeline:
        job = Job(engine.cluster.connection, collection, meta.index, pipeline, tuple(asked))
        figures = _compared(job)
        ways = [job.way(name) for name in WAYS]
        shared = [len(set(ways[0](item)[:TOP]) & set(ways[1](item)[:TOP])) / TOP for item in asked]
        figures |= {"documents": float(meta.documents), "top10_overlap": float(np.mean(shared))}
    return _report("fusion", figures)


def bulk(settings: Settings, fill: Fill) -> Report:
    """Documents with vectors ready into the cluster: our writer, beside `helpers.parallel_bulk` of the same bodies."""
    from opensearchpy import OpenSearch
    from opensearchpy.helpers import parallel_bulk

    task = scifact.task(settings, distractors=True)
    medley = _opened(task, settings, fill)
    collection = replace(medley.collections.get(task.corpus.name), name="bench-bulk")
    entries = [entry for some in _entries(medley, task, collection, whole=True) for entry in some][:BULK_DOCUMENTS]
    engine, encoders = _engine(medley, collection), _encoders(medley, task)
    bare = OpenSearch(settings.opensearch.split(","), timeout=120)

    def ours(index: str) -> None:
        with engine.writer(index) as writer:
            for start in range(0, len(entries), BATCH):
                writer.write(entries[start : start + BATCH])
                writer.commit()

    def plain(index: str) -> None:
        physical = engine.describe(index).physical
        actions = [{**body, "_index": physical} for body in bodies]
        for ok, item in parallel_bulk(bare, actions):
            if not ok:
                raise MedleyError(f"bulk: {item}")
        bare.indices.refresh(index=physical)

    bodies = list(_bodies(engine, entries, collection, encoders))
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(2):  # in turns, so that what the machine does beside falls on both
        for name, run in (("plain", plain), ("ours", ours)):
            index = engine.create(collection.name, encoders).index
            started = time.perf_counter()
            run(index)
            seconds[name].append(time.perf_counter() - started)
            engine.drop(index)
    best = {name: min(values) for name, values in seconds.items()}
    figures = {
        "documents": float(len(entries)),
        "rows": float(len(bodies)),
        "documents_per_second": len(entries) / best["ours"],
        "parallel_bulk_documents_per_second": len(entries) / best["plain"],
        "speed_ratio": best["plain"] / best["ours"],
    }
    return _report("bulk", figures)


def _report(name: str, figures: dict[str, float]) -> Report:
    return {"bench": name, "machine": machine(), "figures": {key: round(value, 4) for key, value in figures.items()}}


def _opened(task: Task, settings: Settings, fill: Fill) -> Medley:
    if not settings.opensearch:
        raise InvalidInput(
            "this bench measures a cluster: name one in MEDLEY_OPENSEARCH, as http://127.0.0.1:9200",
            field="MEDLEY_OPENSEARCH",
        )
    return opened(task.corpus, settings, fill)


def _engine(medley: Medley, collection: Collection | None = None) -> OpenSearchEngine:
    engine = medley.engine
    if not isinstance(engine, OpenSearchEngine):
        raise InvalidInput("this bench measures a cluster: name one in MEDLEY_OPENSEARCH", field="MEDLEY_OPENSEARCH")
    return engine if collection is None else OpenSearchEngine(engine.cluster, lambda name: collection)


def _asked(medley: Medley, task: Task) -> list[Asked]:
    (encoder,) = medley.models.encoders(medley.collections.get(task.corpus.name)).values()
    read = [understand(Query(task.corpus.name, ACCESS, question.text)) for question in task.questions]
    vectors = encoder.encode_queries([item.model_text for item in read])
    return [Asked(task.questions[number].id, item, vectors[number]) for number, item in enumerate(read)]


def _ranked(medley: Medley, name: str, item: Asked) -> tuple[list[str], list[str]]:
    """The passages of the BM25 leg, and the documents of the fused order."""
    answer = medley.engine.legs(item.request(medley.engine.resolve(name).index))
    fused = fuse(answer.rankings, medley.collections.get(name).fusion)
    words = [scored.passage for scored in answer.rankings["bm25"]][:DEPTH]
    return words, list(dict.fromkeys(found.document for found in fused))


def _measured(task: Task, asked: Sequence[Asked], found: Sequence[tuple[list[str], list[str]]]) -> float:
    run = {item.id: documents[:DEPTH] for item, (_, documents) in zip(asked, found, strict=True)}
    measure = parse("nDCG@10")
    return float(per_query([measure], task.judgements, run)[measure].mean())


def _encoders(medley: Medley, task: Task) -> dict[str, tuple[str, int]]:
    encoders = medley.models.encoders(medley.collections.get(task.corpus.name))
    return {name: (encoder.fingerprint, encoder.dimension) for name, encoder in encoders.items()}


def _entries(medley: Medley, task: Task, collection: Collection, whole: bool) -> Iterator[list[IndexEntry]]:
    """The corpus with its vectors, as the suite's index holds them: all rows, or their mean as one row a passage."""
    store, index = medley.collections.store(task.corpus.name), medley.engine.resolve(task.corpus.name).index
    names = [record.id for record in store.states(index, State.INDEXED, 2**62)]
    for start in range(0, len(names), BATCH):
        stored = [item for item in store.latest(names[start : start + BATCH]).values() if item.document is not None]
        pieces = {item.id: passages(item.document, item.version, collection) for item in stored if item.document}
        rows = medley.engine.vectors(index, [passage for own in pieces.values() for passage in own])
        made = []
        for item in stored:
            own, document = pieces[item.id], item.document
            if document is None or any(passage.id not in rows for passage in own):
                continue
            found = [rows[passage.id]["dense"] for passage in own]
            windows = tuple(map(len, found)) if whole else ()
            stacked = np.concatenate(found if whole else [_mean(part) for part in found])
            made.append(
                IndexEntry(item.id, item.version, document.labels, document.fields, own, {"dense": stacked}, windows)
            )
        yield made


def _mean(rows: Any) -> Any:
    mean = rows.mean(axis=0, keepdims=True)
    return mean / np.linalg.norm(mean)


def _bodies(
    engine: OpenSearchEngine, entries: Sequence[IndexEntry], collection: Collection, encoders: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    fields = {name: field.type for name, field in collection.fields.items()}
    for entry in entries:
        for name, line in zip(entry_ids(entry), records(entry, fields, list(encoders)), strict=True):
            yield {"_id": name, "routing": entry.document, "_source": orjson.loads(line)}


@contextmanager
def _index(engine: OpenSearchEngine, collection: Collection, medley: Medley, task: Task) -> Iterator[IndexMeta]:
    """An index of the corpus with one vector a passage, merged into one segment as after a rebuild; gone afterwards."""
    own = OpenSearchEngine(engine.cluster, lambda name: collection)
    index = own.create(collection.name, _encoders(medley, task)).index
    try:
        with own.writer(index) as writer:
            for number, entries in enumerate(_entries(medley, task, collection, whole=False), 1):
                writer.write(entries)
                if number % 16 == 0:
                    writer.commit()
            writer.commit()
        path = f"/{own.describe(index).physical}"
        engine.cluster.write("POST", f"{path}/_forcemerge", None, {"max_num_segments": "1"}, timeout=600.0)
        engine.cluster.write("POST", f"{path}/_refresh")
        yield own.meta(index)
    finally:
        with suppress(MedleyError):
            own.drop(index)


@contextmanager
def _pipeline(cluster: Cluster, collection: Collection) -> Iterator[str]:
    """A search pipeline that fuses by min-max and the collection's weights."""
    name, weights = f"{cluster.prefix}-bench", collection.fusion.weights
    combination = {
        "technique": "arithmetic_mean",
        "parameters": {"weights": [weights["bm25"], weights["dense"]]},
    }
    processor = {"normalization": {"technique": "min_max"}, "combination": combination}
    body = {"phase_results_processors": [{"normalization-processor": processor}]}
    cluster.write("PUT", f"/_search/pipeline/{name}", body)
    try:
        yield name
    finally:
        cluster.write("DELETE", f"/_search/pipeline/{name}")


def _compared(job: Job) -> dict[str, float]:
    """Milliseconds of both ways at one client and at four, in turns; `p50_ratio` and `p95_ratio` are ours over theirs."""
    figures: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "job"
        file.write_bytes(pickle.dumps(job))
        for clients in CLIENTS:
            times: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(ROUNDS):
                for way in WAYS:
                    times[way] += _at_once(file, way, clients)
            for way, values in times.items():
                found = percentiles(values)
                figures |= {f"{way}_{clients}_p50_ms": found["p50_ms"], f"{way}_{clients}_p95_ms": found["p95_ms"]}
            for point in ("p50", "p95"):
                ratio = figures[f"ours_{clients}_{point}_ms"] / figures[f"hybrid_{clients}_{point}_ms"]
                figures[f"{point}_ratio" if clients == 1 else f"{point}_ratio_{clients}_clients"] = ratio
    return figures


def _at_once(file: Path, way: str, clients: int) -> list[float]:
    """The times of so many client processes that begin at once. Raises `Unavailable` when one fails."""
    command = [sys.executable, "-m", "evaluation.bench.shared.client", str(file), way]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = [
        subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(clients)
    ]
    for client in started:
        if client.stdout is not None:
            client.stdout.readline()  # it is ready
    times: list[float] = []
    for client in started:
        if client.stdin is not None:
            client.stdin.write("go\n")
            client.stdin.flush()
    for client in started:
        output, _ = client.communicate()
        if client.returncode:
            raise Unavailable("a client of the bench failed; its message stands above", field=way)
        times += json.loads(output)
    return times
