"""One client of `medley bench fusion`, in its own process: like a gateway's workers, clients share no interpreter.

It loads its setup, warms up, prints `ready`, waits for a line on standard input, sends every question, and prints their
times on standard output.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluation.bench.shared.cluster import DEPTH, EncodedQuestion
from mappings.collection import Collection
from search.engines.opensearch.client import Cluster, Connection
from search.engines.opensearch.engine import OpenSearchEngine
from search.engines.opensearch.legs import compiler_of
from search.ranking.fusion import fuse
from search.startup import freeze_loaded_objects

METHODS: Final = ("ours", "hybrid")
"""`ours`: two legs, counts and our fusion; `hybrid`: the in-engine query with the same weights and depth."""

WARM_UP_QUESTIONS: Final = 60


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """What a client needs: the connection, the index, the name of the search pipeline for `hybrid`, and the questions."""

    connection: Connection
    collection: Collection
    index: str
    pipeline: str
    questions: tuple[EncodedQuestion, ...]

    def method(self, name: str) -> Callable[[EncodedQuestion], list[str]]:
        """A function from a question to the ids of its best passages, by one of `METHODS`."""
        engine = OpenSearchEngine(Cluster(self.connection), lambda _: self.collection)
        engine.meta(self.index)  # raises if the index does not exist
        return {"ours": self._ours, "hybrid": self._hybrid}[name](engine)

    def _ours(self, engine: OpenSearchEngine) -> Callable[[EncodedQuestion], list[str]]:
        def ours(item: EncodedQuestion) -> list[str]:
            answer = engine.legs(item.request(self.index))
            return [found.passage for found in fuse(answer.rankings, self.collection.fusion)[:DEPTH]]

        return ours

    def _hybrid(self, engine: OpenSearchEngine) -> Callable[[EncodedQuestion], list[str]]:
        description = engine.describe(self.index)
        compiler = compiler_of(description, self.collection)

        def hybrid(item: EncodedQuestion) -> list[str]:
            restriction = compiler.restriction(item.request(self.index))
            words = compiler.scoring(item.understood.lexical, restriction)
            vectors = compiler.dense("dense", item.vector, restriction, DEPTH)
            both = {"hybrid": {"pagination_depth": DEPTH, "queries": [words, vectors["query"]]}}
            body = vectors | {"track_total_hits": True, "query": both}
            path = f"/{description.physical}/_search"
            hits = engine.cluster.read("POST", path, body, {"search_pipeline": self.pipeline})["hits"]["hits"]
            return [hit["fields"]["passage"][0] for hit in hits]

        return hybrid


def main(file: str, method: str) -> None:
    """Run the client: print the milliseconds of each question, in order, as JSON. `file` holds the pickled setup."""
    setup: ClientSetup = pickle.loads(Path(file).read_bytes())  # noqa: S301 - our own parent process wrote it
    ask = setup.method(method)
    for item in setup.questions[:WARM_UP_QUESTIONS]:
        ask(item)
    freeze_loaded_objects()  # as the gateway does
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    times = []
    for item in setup.questions:
        started = time.perf_counter()
        ask(item)
        times.append(1000 * (time.perf_counter() - started))
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:3])
