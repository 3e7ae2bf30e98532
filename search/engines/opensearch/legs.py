"""All legs of a search in one `_msearch`; again, for a leg that ends in a tie or brought too few documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Any, Final

from mappings.documents import parse_passage_id
from mappings.errors import InvalidInput, Unavailable
from search.engines.opensearch.client import Cluster, ndjson
from search.engines.opensearch.description import Description
from search.engines.opensearch.errors import of_answer
from search.engines.opensearch.queries import Compiler
from search.engines.values import check_query_vector
from search.protocols import LegsAnswer, LegsRequest
from search.query import FacetCount, Facets, Ranking, Scored, Total

BM25: Final = "bm25"
COUNTS: Final = " counts"
FACET_VALUES: Final = 100
WINDOW: Final = 10_000
"""Most hits of one leg: `index.max_result_window`, and the most that `k` may be."""

_GROWTH: Final = 3
_TRIES: Final = 4
# Scores are rounded as the embedded engine rounds them, so that equal texts tie there and here. `round` takes half a
# microsecond a score, which was a tenth of what the gateway does for a search.
_BM25_STEPS: Final = 10_000
_DENSE_STEPS: Final = 1_000_000
# Lucene leaves the constant k1 + 1 out of BM25; with it scores are those of the embedded engine.
_BM25_SCALE: Final = 2.2 * _BM25_STEPS

_NO_FACETS: Final[Facets] = {}

Bodies = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Leg:
    """One ranking being fetched: a body for so many hits, and a score of ours for one of Lucene's."""

    name: str
    body: Callable[[int], dict[str, Any]]
    score: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Spread:
    """How many passages, and how many rows of vectors, a document of the index has on average."""

    passages: float = 1.0
    rows: float = 1.0

    def limit(self, leg: str, documents: int) -> int:
        """So many hits bring `documents` distinct documents as a rule."""
        share = self.passages if leg == BM25 else self.rows
        return min(WINDOW, int(documents * max(1.0, min(4.0, share))) + 10)


def ask(cluster: Cluster, request: LegsRequest, index: Description, compiler: Compiler, spread: Spread) -> LegsAnswer:
    """Every leg of the request, the total and the facets; `spread` gives a first guess of how many hits to fetch.

    The searches of one `_msearch` may fall before and after a commit. Where legs show two versions of a document, all are
    asked again; what still differs then is left out where it is older.
    """
    for _ in range(_TRIES):
        answer = _ask(cluster, request, index, compiler, spread)
        newest = _newest(answer.rankings)
        if newest is answer.rankings:
            return answer
    return replace(answer, rankings=newest)


def _ask(cluster: Cluster, request: LegsRequest, index: Description, compiler: Compiler, spread: Spread) -> LegsAnswer:
    restriction = compiler.restriction(request.filters, request.access)
    for name, vector in request.vectors.items():
        check_query_vector(index.name, index.dimensions, name, vector)
    legs = _legs(request, compiler, restriction)
    limits = {leg.name: spread.limit(leg.name, request.documents) for leg in legs}
    bodies = {leg.name: leg.body(limits[leg.name]) for leg in legs}
    bodies[COUNTS] = compiler.counted(request.lexical, restriction, request.facets)
    rankings: dict[str, Ranking] = {}
    missing: dict[str, str] = {}
    total, facets = Total(0), _NO_FACETS
    while bodies:
        answers = _search(cluster, index, request, bodies)
        if COUNTS in answers:
            total, facets = _counts(answers[COUNTS], request, compiler, cluster)
        waiting: Bodies = {}
        for leg in (leg for leg in legs if leg.name in bodies):
            found = _ranking(answers[leg.name], leg, request.documents, limits[leg.name], cluster, missing)
            if found is not None:
                rankings[leg.name] = found
            elif leg.name not in missing:
                limits[leg.name] = min(WINDOW, limits[leg.name] * _GROWTH)
                waiting[leg.name] = leg.body(limits[leg.name])
        bodies = waiting
    return LegsAnswer({leg.name: rankings[leg.name] for leg in legs if leg.name in rankings}, total, facets, missing)


def _legs(request: LegsRequest, compiler: Compiler, restriction: Sequence[dict[str, Any]]) -> list[Leg]:
    def dense(name: str) -> Callable[[int], dict[str, Any]]:
        return lambda limit: compiler.dense(name, request.vectors[name], restriction, limit)

    words = Leg(BM25, lambda limit: compiler.lexical(request.lexical, restriction, limit), bm25)
    return [words, *(Leg(name, dense(name), cosine) for name in request.vectors)]


def bm25(score: float) -> float:
    """The score with the constant that Lucene leaves out, to four decimals."""
    return floor(score * _BM25_SCALE + 0.5) / _BM25_STEPS


def cosine(score: float) -> float:
    """The inner product behind Lucene's score of it, which is kept above 0, to six decimals."""
    return floor((score - 1 if score >= 1 else 1 - 1 / score) * _DENSE_STEPS + 0.5) / _DENSE_STEPS


def _search(cluster: Cluster, index: Description, request: LegsRequest, bodies: Bodies) -> dict[str, Any]:
    asked = f"{request.access.key}\x1f{request.lexical}"
    header = {
        "index": index.physical,
        # The same question goes to the same copy of a shard: copies may differ in what they have merged away.
        "preference": hashlib.blake2b(asked.encode(errors="replace"), digest_size=8).hexdigest(),
        "allow_partial_search_results": False,
    }
    # Over several shards words are weighed by the statistics of all of them.
    lexical = header | ({"search_type": "dfs_query_then_fetch"} if index.shards > 1 else {})
    lines = [line for name, body in bodies.items() for line in (lexical if name == BM25 else header, body)]
    answer = cluster.read("POST", "/_msearch", ndjson(lines))
    return dict(zip(bodies, answer["responses"], strict=True))


def _checked(answer: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    if "error" in answer:
        problem = of_answer(answer.get("status", 500), answer, where)
        # What was asked for was checked before: an answer that calls it wrong is a fault of the index.
        raise Unavailable(problem.message) if isinstance(problem, InvalidInput) else problem
    if answer.get("timed_out") or answer["_shards"]["failed"]:
        raise Unavailable(f"OpenSearch at {where} answered for a part of the index only; try again")
    return answer


def _ranking(
    answer: Mapping[str, Any], leg: Leg, documents: int, limit: int, cluster: Cluster, missing: dict[str, str]
) -> Ranking | None:
    """The leg's ranking, cut where `documents` distinct documents stand; None: more must be fetched, or it is missing."""
    try:
        hits = _checked(answer, cluster.where)["hits"]["hits"]
    except Unavailable as error:
        if leg.name == BM25:
            raise
        missing[leg.name] = error.message
        return None
    ranking = _read(hits, leg.score)
    end = ranking.holding(documents)
    last = leg.score(hits[-1]["_score"]) if hits else 0.0
    # Fetching past the last score makes a tie at the end fall to the lower id, whatever the order in the shards.
    complete = len(hits) < limit or (end is not None and ranking[end - 1].score > last)
    return ranking.first(end) if complete or limit >= WINDOW else None


def _read(hits: Sequence[Any], score: Callable[[float], float]) -> Ranking:
    names = [hit["fields"]["passage"][0] for hit in hits]
    scores = [score(hit["_score"]) for hit in hits]
    if len(set(names)) < len(names):  # rows of one passage: it stands where the best of them does
        best = dict(zip(reversed(names), reversed(scores), strict=True))
        names, scores = list(best), list(best.values())
    return Ranking(map(Scored, names, [name.rpartition("@")[0] for name in names], scores))


def _newest(rankings: Mapping[str, Ranking]) -> Mapping[str, Ranking]:
    """The rankings without passages of superseded versions; the same object where there are none."""
    items = list({item.passage: item for ranking in rankings.values() for item in ranking.items}.values())
    if len({item.document for item in items}) == len(items):  # each document by one passage
        return rankings
    if len({item.passage.rpartition("#")[0] for item in items}) == len({item.document for item in items}):
        return rankings
    newest: dict[str, int] = {}
    for item in items:
        newest[item.document] = max(newest.get(item.document, 0), parse_passage_id(item.passage)[1])
    return {
        name: Ranking(item for item in ranking if parse_passage_id(item.passage)[1] == newest[item.document])
        for name, ranking in rankings.items()
    }


def _counts(
    answer: Mapping[str, Any], request: LegsRequest, compiler: Compiler, cluster: Cluster
) -> tuple[Total, Facets]:
    _checked(answer, cluster.where)
    found = answer["hits"]["total"]
    total = Total(found["value"], "exact" if found["relation"] == "eq" else "at_least")
    counted = answer.get("aggregations", {})
    return total, {name: _facet(counted.get(name, {}), compiler.field_kind(name)) for name in request.facets}


def _facet(answer: Mapping[str, Any], kind: str) -> tuple[FacetCount, ...]:
    """The most frequent values, ties by value."""
    counts = [FacetCount(_value(kind, item), int(item["doc_count"])) for item in answer.get("buckets", ())]
    return tuple(sorted(counts, key=lambda item: (-item.count, item.value))[:FACET_VALUES])


def _value(kind: str, bucket: Mapping[str, Any]) -> str:
    if kind == "number":
        return f"{bucket['key']:.15g}"
    return str(bucket["key_as_string"] if kind == "date" else bucket["key"])
