"""Answers in OpenSearch's form: hits with `_source`, totals, aggregations, and what was missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from flask import make_response
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import parse_passage_id
from mappings.errors import Unavailable
from search.pipeline.results import Explanation, Hit, Results
from search.query import Total
from web.compatible.body import CompatibleSearch
from web.compatible.query.days import milliseconds
from web.compatible.shapes import unsupported
from web.search_answers import HitJson, RerankedJson

SHARDS: Final = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
_MOST_WARNINGS: Final = 10
_WARNING_CHARACTERS: Final = 300


def search_answer(asked: CompatibleSearch, results: Results, collection: Collection) -> dict[str, Any]:
    """The whole answer to one search. Raises `Unavailable` if it has to count, and so many changes wait that it can't."""
    if asked.aggregations and results.total.relation == "at_most":
        raise Unavailable(
            "so many changed documents wait to be indexed that nothing can be counted: ask again later, or without aggregations",
            field="aggs",
        )
    shown = results.hits[asked.start : asked.start + asked.size]
    total = _total(asked, results)
    best = max((hit.score for hit in results.hits), default=None) if asked.has_scores and asked.size else None
    answer: dict[str, Any] = {
        "took": int(results.timings_ms.get("total", 0)),
        "timed_out": bool(results.partial),
        "_shards": SHARDS,
        "hits": {
            **({"total": total} if total else {}),
            "max_score": best,
            "hits": [_hit(asked, hit, place, collection) for place, hit in enumerate(shown, asked.start)],
        },
    }
    if asked.aggregations:
        answer["aggregations"] = {item.name: item.answer(results.facets[item.facet]) for item in asked.aggregations}
    answer["ext"] = {"medley": _extension(asked, results, collection)}
    return answer


def warnings_of(answer: dict[str, Any]) -> list[str]:
    """What an answer says is missing, as its `Warning` header says it, too."""
    found = answer.get("ext", {}).get("medley", {})
    return [*found.get("degraded", ()), *found.get("partial", ())]


def json_response(body: Any, pretty: bool, warnings: Sequence[str] = (), status: int = 200) -> Response:
    """A JSON answer; clients of OpenSearch show their user what its `Warning` headers say."""
    response = make_response(json.dumps(body, ensure_ascii=False, indent=2 if pretty else None), status)
    response.headers["Content-Type"] = "application/json"
    for text in list(dict.fromkeys(warnings))[:_MOST_WARNINGS]:
        plain = " ".join(text.replace('"', "'").encode("ascii", "replace").decode().split())
        response.headers.add("Warning", f'299 Medley "{plain[:_WARNING_CHARACTERS]}"')
    return response


def check_whole_totals(asked: CompatibleSearch) -> None:
    """Raise `InvalidInput` where a total as a number could not say that it is counted up to a limit only."""
    if not isinstance(asked.total, bool):
        raise unsupported(
            "[rest_total_hits_as_int] with a number", "track_total_hits", "give true or false, or leave one of them out"
        )


def with_typed_keys(answer: dict[str, Any], asked: CompatibleSearch) -> dict[str, Any]:
    """The answer with the types of its aggregations in their names, as `typed_keys` asks for it."""
    if found := answer.get("aggregations"):
        answer["aggregations"] = {item.typed_name: found[item.name] for item in asked.aggregations}
    return answer


def as_whole_totals(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with its total as a number, as `rest_total_hits_as_int` asks for it; -1 where none was asked for."""
    if hits := answer.get("hits"):
        total = hits.pop("total", None)
        answer["hits"] = {"total": total["value"] if total else -1, **hits}
    return answer


def _total(asked: CompatibleSearch, results: Results) -> dict[str, Any]:
    if asked.total is False:
        return {}
    total = results.total
    if total.relation == "at_most":  # OpenSearch has no such relation, but so many are certain
        total = Total(sum(hit.lexical for hit in results.hits), "at_least")
    if asked.total is not True and total.value > asked.total:
        total = Total(asked.total, "at_least")
    return {"value": total.value, "relation": "eq" if total.relation == "exact" else "gte"}


def _hit(asked: CompatibleSearch, hit: Hit, place: int, collection: Collection) -> dict[str, Any]:
    shape = HitJson.model_validate(hit)
    found: dict[str, Any] = {"_index": collection.name, "_id": hit.document}
    if asked.has_versions:
        found["_version"] = parse_passage_id(hit.passage)[1]
    found["_score"] = hit.score if asked.has_scores else None
    if asked.source.is_shown:
        found["_source"] = asked.source.of({"title": hit.title, "text": hit.text, **shape.fields})
    found["fields"] = _further(shape)
    if asked.highlights and (marked := {item.name: item.of(hit) for item in asked.highlights}):
        found["highlight"] = {name: parts for name, parts in marked.items() if parts}
    if asked.is_sorted:
        found["sort"] = [_sort_value(name, hit, place) for name in asked.sort_keys]
    if hit.explain:
        found["_explanation"] = _explanation(hit.explain)
    return found


def _sort_value(name: str, hit: Hit, place: int) -> Any:
    """What a hit is sorted by under one key; `_doc` is its place among the hits, which no two share."""
    if name in ("_score", "_doc"):
        return hit.score if name == "_score" else place
    value = hit.fields.get(name)
    return milliseconds(value) if isinstance(value, date) else value


def _further(shape: HitJson) -> dict[str, list[Any]]:
    """What else is known of a hit, as lists, which the values of `fields` are."""
    values: dict[str, Any] = {
        "passage": shape.passage,
        "heading": shape.heading,
        "lexical": shape.lexical,
        "others": shape.others,
        "badges": shape.badges,
        "stance": shape.stance.label if shape.stance else None,
        "probability": shape.probability,
    }
    lists = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    return {name: value for name, value in lists.items() if value not in ([], [None], [""])}


def _explanation(found: Explanation) -> dict[str, Any]:
    """The parts of the final score, which add up to it; the fused score is that of the legs, before its share is taken."""
    legs = [
        _part(leg.contribution, f"leg {name}, rank {leg.rank}: {leg.weight:g} times {leg.normalised:g}")
        for name, leg in found.legs.items()
    ]
    fused = [_part(found.fused, "fused score, sum of:", legs)]
    details = [
        _part(value, f"share of {name}", fused if name == "fused" else ()) for name, value in found.final.items()
    ]
    return _part(found.score, "final score, sum of:", details)


def _part(value: float, description: str, details: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"value": value, "description": description, "details": list(details)}


def _extension(asked: CompatibleSearch, results: Results, collection: Collection) -> dict[str, Any]:
    return {
        "degraded": list(results.degraded),
        "partial": [*results.partial, *_limits(asked, results)],
        "notes": list(results.understood.notes),
        "reranked": RerankedJson.model_validate(results.reranked).model_dump(),
        "invented": collection.invented,
        "index": results.index,
    }


def _limits(asked: CompatibleSearch, results: Results) -> list[str]:
    """What a client would expect and the answer does not have."""
    notes = [
        f"the aggregation '{item.name}' has the most frequent values only"
        for item in asked.aggregations
        if item.is_cut(results.facets[item.facet]) and item.is_yearly
    ]
    if asked.is_sorted and asked.size and results.total.value > asked.window:
        notes.append(f"of {results.total.value:,} matching documents, those of the result window were sorted")
    return notes
