"""`medley bench plugin`: a search by OpenSearch's own pipelines with our models, beside the same search by the gateway.

Both search SciFact's abstracts on one node, with the same models on one model server. Each claim is asked of each, over HTTP,
in turns, without stances: first without the deadline of reranking, which a slow machine reaches sooner on one way than on the
other, to compare the answers; then with it, to compare the times. An abstract of up to 1,000 words is one passage on both ways,
since what a client indexes is not divided; `as_shipped_same_documents_share` is how often the gateway has the same ten documents
where it divides them as the kind does. `p50_ratio` and `p95_ratio` are the gateway's milliseconds over the plug-in's; the gateway also
marks evidence and explains each hit. `ranking_p50_ratio` and `ranking_p95_ratio` leave out of its time what it says that
evidence took: sentences are read once everything is ranked, and the plug-in reads none. `…_disk_mb` is what is on the node:
of the gateway its index and its store of documents.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import orjson
import urllib3

from evaluation.bench.shared.cluster import TOP, engine_of, open_on_cluster
from evaluation.bench.shared.figures import Report, bench_report, percentiles
from evaluation.bench.shared.servers import gateway, model_server
from evaluation.suites import scifact
from evaluation.task import Task
from mappings.collection import SHIPPED_KINDS, load
from mappings.documents import Document
from mappings.errors import Unavailable
from search.bootstrap import Medley
from search.engines.opensearch.client import Cluster, ndjson
from search.engines.opensearch.plugin.backfill import BATCH
from search.engines.opensearch.plugin.example import example_query
from search.engines.opensearch.plugin.lifecycle import install, remove
from search.engines.opensearch.plugin.resources import PluginPlan
from search.settings import Settings

INDEX: Final = "medley-bench-plugin"
RANKING: Final = "ranking"
WARM_UP: Final = 10
_WHOLE: Final = "max_words = 1000"
"""The setting of a kind whose passages are whole abstracts; five of SciFact's 5,183 have more words."""
_PATIENT: Final = "deadline_ms = 0"
_JSON: Final = {"Content-Type": "application/json"}

Ask = Callable[[str], tuple[list[str], float]]
"""The ids of the first documents for a text, and the milliseconds that evidence took."""


def bench_plugin(settings: Settings) -> Report:
    """Times of both, and for how many claims they agree. Raises `InvalidInput` without a cluster, or without ML Commons on it."""
    with _kinds(_WHOLE) as whole, _kinds(_WHOLE, _PATIENT) as patient:
        settings = replace(settings, collections=whole, encoder="", reranker="")
        task = scifact.task(settings)
        claims = [question.text for question in task.questions]
        with model_server([], settings={"MEDLEY_COLLECTIONS": str(patient)}) as server:
            medley = open_on_cluster(task, replace(settings, inference=server))
            cluster = engine_of(medley).cluster
            try:
                with _ways(medley, task, server, patient=True) as ways:
                    figures = {"documents_per_second": _index(cluster, task), "claims": float(len(claims))}
                    _, found = _ask(ways, claims)
                figures["plugin_disk_mb"] = _disk(cluster, INDEX)
                figures["gateway_disk_mb"] = medley.engines.catalog.size(task.corpus.name) / 1e6
                figures |= _agreement(found) | _as_shipped(task, settings, server, found["plugin"])
                with model_server([]) as server, _ways(medley, task, server, patient=False) as ways:
                    times, _ = _ask(ways, claims)
            finally:
                cluster.write("DELETE", f"/{INDEX}", params={"ignore_unavailable": "true"})
    for name, values in times.items():
        figures |= {f"{name}_{key}": value for key, value in percentiles(values).items()}
    for point in ("p50", "p95"):
        for ratio, own in (("", "gateway"), ("ranking_", RANKING)):
            figures[f"{ratio}{point}_ratio"] = figures[f"{own}_{point}_ms"] / figures[f"plugin_{point}_ms"]
    return bench_report("plugin", figures)


@contextmanager
def _kinds(*changes: str) -> Iterator[Path]:
    """A folder with the shipped kinds, with these settings instead of theirs of the same names."""
    with TemporaryDirectory() as folder:
        for path in SHIPPED_KINDS.glob("*.toml"):
            text = path.read_text(encoding="utf-8")
            for change in changes:
                name, _, _ = change.partition(" ")
                text = re.sub(rf"(?m)^{name} = .*$", change, text)
            (Path(folder) / path.name).write_text(text, encoding="utf-8")
        yield Path(folder)


@contextmanager
def _ways(medley: Medley, task: Task, server: str, patient: bool) -> Iterator[dict[str, Ask]]:
    """Both ways to search by the models of `server`; a patient gateway has no deadline."""
    cluster = engine_of(medley).cluster
    plan = PluginPlan(load(task.corpus.kind, extra=medley.settings.collections), server, INDEX)
    settings = replace(medley.settings, inference=server)
    with _installed(cluster, plan), gateway(settings) as address, _connections() as pool:
        yield {
            "plugin": _plugin(pool, cluster.connection.hosts[0], plan),
            "gateway": _gateway(pool, address, task.corpus.name, {"deadline_ms": 0} if patient else {}),
        }


def _agreement(found: dict[str, list[list[str]]]) -> dict[str, float]:
    """The shares of claims whose first ten are the same in the same order, and the same in any; their mean overlap."""
    pairs = list(zip(found["plugin"], found["gateway"], strict=True))
    return {
        "same_first_ten_share": float(np.mean([one == other for one, other in pairs])),
        "same_documents_share": float(np.mean([set(one) == set(other) for one, other in pairs])),
        "same_first_share": float(np.mean([one[:1] == other[:1] for one, other in pairs])),
        "overlap": float(np.mean([len({*one} & {*other}) / max(1, len({*one, *other})) for one, other in pairs])),
    }


def _as_shipped(task: Task, settings: Settings, server: str, found: list[list[str]]) -> dict[str, float]:
    """How often what the plug-in found are the documents of a gateway whose kind is the shipped one, without its deadline."""
    with _kinds(_PATIENT) as kinds:
        own = open_on_cluster(task, replace(settings, collections=kinds, inference=server))
        with gateway(own.settings) as address, _connections() as pool:
            ask = _gateway(pool, address, task.corpus.name, {"deadline_ms": 0})
            shipped = [ask(question.text)[0] for question in task.questions]
    share = _agreement({"plugin": found, "gateway": shipped})["same_documents_share"]
    return {"as_shipped_same_documents_share": share}


def _disk(cluster: Cluster, index: str) -> float:
    """MB of an index on the disks of the cluster."""
    answer = cluster.read("GET", f"/{index}/_stats/store")
    return float(answer["_all"]["total"]["store"]["size_in_bytes"]) / 1e6


@contextmanager
def _installed(cluster: Cluster, plan: PluginPlan) -> Iterator[None]:
    """The plug-in on the cluster, without a trace at the end."""
    try:
        install(cluster, plan, trust=True)
        yield
    finally:
        remove(cluster, plan)


def _index(cluster: Cluster, task: Task) -> float:
    """Index the corpus as any client would; returns documents a second."""
    started, count = time.perf_counter(), 0
    documents = (item for item in task.corpus.documents() if isinstance(item, Document))
    while batch := list(islice(documents, BATCH)):
        lines = [line for item in batch for line in _lines(item)]
        answer = cluster.write("POST", "/_bulk", ndjson(lines), timeout=600.0)
        if answer["errors"]:
            raise Unavailable(f"a document was refused: {answer['items'][0]}"[:500])
        count += len(batch)
    seconds = time.perf_counter() - started
    cluster.write("POST", f"/{INDEX}/_forcemerge", None, {"max_num_segments": "1"}, timeout=600.0)
    cluster.write("POST", f"/{INDEX}/_refresh")
    return count / seconds


def _lines(document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
    own = {"title": document.title, "text": document.labelled_text}
    return {"index": {"_index": INDEX, "_id": document.id}}, own


def _ask(ways: dict[str, Ask], texts: Sequence[str]) -> tuple[dict[str, list[float]], dict[str, list[list[str]]]]:
    """(milliseconds, answers) of each way, in turns, so that other load falls on both; the first claims warm up.

    The times `RANKING` are the gateway's without those of evidence.
    """
    times: dict[str, list[float]] = {name: [] for name in (*ways, RANKING)}
    found: dict[str, list[list[str]]] = {name: [] for name in ways}
    for number, text in enumerate(texts):
        for name in sorted(ways, reverse=bool(number % 2)):
            started = time.perf_counter()
            answer, evidence = ways[name](text)
            found[name].append(answer)
            if number >= WARM_UP:
                times[name].append(1000 * (time.perf_counter() - started))
                if name == "gateway":
                    times[RANKING].append(times[name][-1] - evidence)
    return times, found


def _plugin(pool: urllib3.PoolManager, node: str, plan: PluginPlan) -> Ask:
    def ask(text: str) -> tuple[list[str], float]:
        answer = _post(pool, f"{node}/{INDEX}/_search", example_query(plan, text, TOP))
        return [hit["_id"] for hit in answer["hits"]["hits"]], 0.0

    return ask


def _gateway(pool: urllib3.PoolManager, address: str, collection: str, further: dict[str, int]) -> Ask:
    def ask(text: str) -> tuple[list[str], float]:
        body = {"collection": collection, "text": text, "size": TOP, "stances": False, **further}
        answer = _post(pool, f"{address}/v1/search", body)
        return [hit["document"] for hit in answer["hits"]], float(answer["timings_ms"]["evidence"])

    return ask


def _post(pool: urllib3.PoolManager, address: str, body: dict[str, Any]) -> Any:
    answer = pool.request("POST", address, body=orjson.dumps(body), headers=_JSON)
    if answer.status != 200:
        raise Unavailable(f"{address} answered {answer.status}: {answer.data[:300].decode(errors='replace')}")
    return orjson.loads(answer.data)


@contextmanager
def _connections() -> Iterator[urllib3.PoolManager]:
    """Persistent connections, closed at the end: a stopping server waits for them."""
    pool = urllib3.PoolManager(retries=False)
    yield pool
    pool.clear()
