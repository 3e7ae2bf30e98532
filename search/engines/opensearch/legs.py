"""Fetches all legs of a search in one `_msearch`, and again a leg that ends in a tie or has too few documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Any, Final, NamedTuple

from mappings import collection
from mappings.documents import document_of, parse_passage_id
from mappings.errors import Unavailable
from search.engines.opensearch.client import Cluster, ndjson
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.errors import checked
from search.engines.opensearch.holders import Finder
from search.engines.opensearch.queries import COUNTS, HOLDERS, WINDOW, Body, OpenSearchQueryCompiler, multi_search
from search.engines.values import check_query_vector, number_text, top_values
from search.protocols import BM25, LegsAnswer, LegsRequest
from search.query import FacetCount, Facets, Ranking, Scored, Total, counted_field

_GROWTH: Final = 3
_ATTEMPTS: Final = 4
# Scores are rounded as in the embedded engine, so that equal texts tie in both. `round` takes half a microsecond a
# score, which was a tenth of the gateway's time for a search.
_BM25_STEPS: Final = 10_000
_DENSE_STEPS: Final = 1_000_000
# Lucene omits the constant k1 + 1 of BM25; with it scores equal those of the embedded engine.
_BM25_SCALE: Final = 2.2 * _BM25_STEPS
_ROUNDED: Final = 1 / _BM25_STEPS

_FOR_SLACK: Final = 10
"""Hits beyond the wanted ones, of a leg with slack: the last wanted one is certain for .947
of 300 claims with 10 in all, for .997 with 30 (these are 20)."""
_NO_FACETS: Final[Facets] = {}
_READ: Final = {
    "filter_path": "responses.status,responses.error,responses.timed_out,responses._shards.failed,responses.hits.total,"
    "responses.hits.hits._score,responses.hits.hits.fields.passage,responses.aggregations"
}
"""What is read of an answer: both sides take time for each byte that is sent."""
_NO_HITS: Final[Mapping[str, Any]] = {"hits": []}


@dataclass(frozen=True, slots=True)
class Spread:
    """How many passages, and how many vector rows, a document of the index has on average."""

    passages: float = 1.0
    rows: float = 1.0

    def limit(self, leg: str, documents: int) -> int:
        """How many hits usually contain `documents` distinct documents."""
        share = self.passages if leg in (BM25, HOLDERS) else self.rows
        return min(WINDOW, int(documents * max(1.0, min(4.0, share))) + 10)

    def limits(self, request: LegsRequest, slack: float = 0.0) -> dict[str, int]:
        """How many hits to fetch at first of each leg of the request; more of the BM25 leg where that has `slack`."""
        holders = (HOLDERS,) if request.lexical.wanted or request.lexical.named else ()
        limits = {leg: self.limit(leg, request.documents) for leg in (BM25, *request.vectors, *holders)}
        return limits | {BM25: min(WINDOW, limits[BM25] + _FOR_SLACK)} if slack else limits


def compiler_of(index: OpenSearchIndexDescription, kind: collection.Collection) -> OpenSearchQueryCompiler:
    """A compiler of searches of an index, by the boosts of its collection."""
    boosts = {"title": kind.title_boost, "heading": kind.heading_boost}
    return OpenSearchQueryCompiler(index.fields, boosts, index.form, index.bits)


def fetch_legs(
    cluster: Cluster,
    request: LegsRequest,
    index: OpenSearchIndexDescription,
    compiler: OpenSearchQueryCompiler,
    spread: Spread,
) -> LegsAnswer:
    """Every leg of the request, the total and the facets; `spread` estimates how many hits to fetch first.

    The searches of one `_msearch` can run before and after a commit. Where legs show two versions of a document, all are
    fetched again; if that does not help, the passages of the older version are left out.
    """
    finder = Finder(cluster, index, compiler, request)
    excluded = finder.excluded()
    request = replace(request, withheld=tuple({*request.withheld, *excluded})) if excluded else request
    for _ in range(_ATTEMPTS):
        answer = _fetch(cluster, request, index, compiler, spread)
        newest = _without_superseded(answer.rankings)
        if newest is answer.rankings:
            break
    if len(excluded) == WINDOW:  # there may be more
        newest = _without(newest, finder.excluded({item.document for ranking in newest.values() for item in ranking}))
    if HOLDERS not in newest:
        return replace(answer, rankings=newest)
    rankings = dict(newest)
    held = rankings.pop(HOLDERS)
    across = finder.across_passages({item.document for item in held}) if spread.passages > 1 else []
    best = _read(finder.best_of(across), bm25)
    return replace(answer, rankings=rankings, holders=(*held, *best.first(best.holding(len(across)))))


def _fetch(
    cluster: Cluster,
    request: LegsRequest,
    index: OpenSearchIndexDescription,
    compiler: OpenSearchQueryCompiler,
    spread: Spread,
) -> LegsAnswer:
    for name, vector in request.vectors.items():
        check_query_vector(index.name, index.dimensions, name, vector)
    slack = {BM25: compiler.slack(request.lexical)}
    limits = spread.limits(request, slack[BM25])
    bodies = compiler.legs(request, limits) | {COUNTS: compiler.counts(request)}
    rankings: dict[str, Ranking] = {}
    missing: dict[str, str] = {}
    total, facets = Total(0), _NO_FACETS
    while bodies:
        answers = _search(cluster, index, request, bodies)
        if COUNTS in answers:
            total, facets = _counts(answers.pop(COUNTS), request, compiler, cluster)
        larger: dict[str, int] = {}
        for leg, answer in answers.items():
            limit = HitLimit(limits[leg], slack.get(leg, 0.0))
            found = _ranking(answer, leg, request.documents, limit, cluster, missing)
            if found is not None:
                rankings[leg] = found
            elif leg not in missing:
                larger[leg] = min(WINDOW, limits[leg] * _GROWTH)
        limits |= larger
        bodies = compiler.legs(request, larger) if larger else {}
    return LegsAnswer({leg: rankings[leg] for leg in limits if leg in rankings}, total, facets, missing)


def bm25(score: float) -> float:
    """The score with the constant that Lucene omits, to four decimals."""
    return floor(score * _BM25_SCALE + 0.5) / _BM25_STEPS


def cosine(score: float) -> float:
    """The inner product behind Lucene's positive score of it, to six decimals."""
    return floor((score - 1 if score >= 1 else 1 - 1 / score) * _DENSE_STEPS + 0.5) / _DENSE_STEPS


def _search(
    cluster: Cluster, index: OpenSearchIndexDescription, request: LegsRequest, bodies: Mapping[str, Body]
) -> dict[str, Any]:
    answer = cluster.read("POST", "/_msearch", ndjson(multi_search(index, request, bodies)), _READ)
    return dict(zip(bodies, answer["responses"], strict=True))


class HitLimit(NamedTuple):
    """How many hits were asked for, and by which share of the last one's score others can exceed it."""

    hits: int
    slack: float

    def suffices(self, ranking: Ranking, end: int | None, hits: int, last: float) -> bool:
        """Whether no passage beyond the `hits` that were found, down to the score `last`, can be before the `end`.

        Fetching past the last score gives a tie at the end to the lower id, whatever the order in the shards.
        """
        if hits < self.hits or self.hits >= WINDOW:
            return True
        best = last * (1 + self.slack) + _ROUNDED if self.slack else last
        return end is not None and ranking[end - 1].score > best


def _ranking(
    answer: Mapping[str, Any], leg: str, documents: int, limit: HitLimit, cluster: Cluster, missing: dict[str, str]
) -> Ranking | None:
    """The leg's ranking, cut at `documents` distinct documents; None: it needs more hits, or is missing."""
    score = bm25 if leg in (BM25, HOLDERS) else cosine
    try:
        hits = checked(answer, cluster.where).get("hits", _NO_HITS)["hits"]
    except Unavailable as error:
        if leg == BM25:
            raise
        missing[leg] = error.message
        return None
    ranking = _read(hits, score)
    end = ranking.holding(documents)
    last = score(hits[-1]["_score"]) if hits else 0.0
    return ranking.first(end) if limit.suffices(ranking, end, len(hits), last) else None


def _read(hits: Sequence[Any], score: Callable[[float], float]) -> Ranking:
    names = [hit["fields"]["passage"][0] for hit in hits]
    scores = [score(hit["_score"]) for hit in hits]
    if len(set(names)) < len(names):  # several rows of one passage: the best of them counts
        best = dict(zip(reversed(names), reversed(scores), strict=True))
        names, scores = list(best), list(best.values())
    return Ranking(map(Scored, names, map(document_of, names), scores))


def _without_superseded(rankings: Mapping[str, Ranking]) -> Mapping[str, Ranking]:
    """The rankings without passages of superseded versions; the same object where there are none."""
    items = list({item.passage: item for ranking in rankings.values() for item in ranking.items}.values())
    if len({item.document for item in items}) == len(items):  # one passage of each document
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


def _without(rankings: Mapping[str, Ranking], documents: Collection[str]) -> Mapping[str, Ranking]:
    dropped = frozenset(documents)
    return {name: Ranking(item for item in own if item.document not in dropped) for name, own in rankings.items()}


def _counts(
    answer: Mapping[str, Any], request: LegsRequest, compiler: OpenSearchQueryCompiler, cluster: Cluster
) -> tuple[Total, Facets]:
    checked(answer, cluster.where)
    found = answer["hits"]["total"]
    total = Total(found["value"], "exact" if found["relation"] == "eq" else "at_least")
    counted = answer.get("aggregations", {})
    return total, {
        name: _facet(counted[name], compiler.field_kind(counted_field(name))) if name in counted else ()
        for name in request.facets
    }


def _facet(answer: Mapping[str, Any], kind: str) -> tuple[FacetCount, ...]:
    return top_values(
        FacetCount(bucket_value(kind, item), int(item["doc_count"])) for item in answer.get("buckets", ())
    )


def bucket_value(kind: str, bucket: Mapping[str, Any]) -> str:
    """The value that a bucket of an aggregation counts, as a facet has it."""
    if kind == "number":
        return number_text(bucket["key"])
    return str(bucket["key_as_string"] if kind == "date" else bucket["key"])
