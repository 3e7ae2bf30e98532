"""One client of `medley bench fusion`, a process of its own: as a gateway's workers are, which share no interpreter.

It reads its job, warms up, says that it is ready, waits for a line, and asks every question; its times go to the
standard output.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluation.stages import ACCESS
from mappings.collection import Collection
from search.engines.opensearch import queries
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.engine import OpenSearchEngine
from search.pipeline.results import Understanding
from search.process import settle
from search.protocols import LegsRequest
from search.ranking.fusion import fuse

DEPTH: Final = 100
WARM_UP: Final = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A question read and encoded: what both engines, and both ways of fusing, are given alike."""

    id: str
    understood: Understanding
    vector: Any

    def request(self, index: str) -> LegsRequest:
        """The question to an index."""
        return LegsRequest(index, self.understood.lexical, {"dense": self.vector}, ACCESS, DEPTH)


@dataclass(frozen=True, slots=True)
class Job:
    """What a client needs: the cluster, the index, the search pipeline of the in-engine way, and the questions."""

    connection: Connection
    collection: Collection
    index: str
    pipeline: str
    asked: tuple[Asked, ...]

    def way(self, name: str) -> Callable[[Asked], Any]:
        """`ours`: two legs, counts and our fusion; `hybrid`: the in-engine query with the same weights and depth."""
        engine = OpenSearchEngine(Cluster(self.connection), lambda _: self.collection)
        engine.meta(self.index)
        description = engine.describe(self.index)
        compiler = queries.OpenSearchQueryCompiler(description.fields, {"title": self.collection.title_boost})
        restriction = compiler.restriction((), ACCESS)

        def ours(item: Asked) -> list[str]:
            answer = engine.legs(item.request(self.index))
            return [found.passage for found in fuse(answer.rankings, self.collection.fusion)[:DEPTH]]

        def hybrid(item: Asked) -> list[str]:
            legs = (
                compiler.lexical(item.understood.lexical, restriction, DEPTH),
                compiler.dense("dense", item.vector, restriction, DEPTH),
            )
            both = {"hybrid": {"pagination_depth": DEPTH, "queries": [leg["query"] for leg in legs]}}
            body = legs[0] | {"track_total_hits": True, "query": both}
            path = f"/{description.physical}/_search"
            hits = engine.cluster.read("POST", path, body, {"search_pipeline": self.pipeline})["hits"]["hits"]
            return [hit["fields"]["passage"][0] for hit in hits]

        return {"ours": ours, "hybrid": hybrid}[name]


def main(file: str, way: str) -> None:
    """The client: milliseconds of each question, in order, as JSON."""
    job: Job = pickle.loads(Path(file).read_bytes())  # noqa: S301 - our own parent wrote it
    ask = job.way(way)
    for item in job.asked[:WARM_UP]:
        ask(item)
    settle()  # as the gateway does
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    times = []
    for item in job.asked:
        started = time.perf_counter()
        ask(item)
        times.append(1000 * (time.perf_counter() - started))
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:3])
