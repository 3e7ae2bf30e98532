"""Every search body for OpenSearch, whole, beside golden files: a change of one is visible and intended.

`MEDLEY_WRITE_GOLDEN=1 pytest tests/engines/test_opensearch_queries.py` writes them again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mappings.collection import load
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.document_criteria import DocumentCriterion
from search.engines.opensearch import fetches, queries
from search.engines.opensearch.client import Connection, ndjson
from search.engines.opensearch.cohorts.bodies import PatientBodies
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.documents import queries as store_queries
from search.engines.opensearch.legs import Spread
from search.engines.opensearch.queries import COUNTS, OpenSearchQueryCompiler
from search.protocols import LegsRequest, PatientsRequest
from search.query import Filter, LexicalQuery, NameAlternatives, Range, Terms
from search.storage import State

GOLDEN = Path(__file__).parents[1] / "golden" / "opensearch"
PUBLIC = Access("reader", frozenset({"public"}))
CLINICIAN = Access("clinician", frozenset({"public", "ward-b", "ward-a"}))
WORDS = LexicalQuery((("heart", 1.0), ("failur", 1.0)))
FIRST, SECOND = (np.asarray(vector, np.float32) for vector in ([0.5, 0.5, 0.5, 0.5], [0.0, 0.6, -0.8, 0.0]))
INDEX = OpenSearchIndexDescription(
    name="abstracts-3",
    physical="medley.search.abstracts.3",
    collection="abstracts",
    generation=3,
    encoders={"dense": ("0123456789abcdef", 4), "finding": ("fedcba9876543210", 4)},
    analysis="1",
    windows=60,
    fields={name: field.type for name, field in load("abstracts").fields.items()},
)


def request(lexical: LexicalQuery = WORDS, access: Access = PUBLIC, **rest: Any) -> LegsRequest:
    return LegsRequest(INDEX.name, lexical, rest.pop("vectors", {}), access, 100, **rest)


def filtered(*filters: Filter) -> LegsRequest:
    return request(vectors={"dense": FIRST}, filters=filters)


PHRASES = LexicalQuery(
    (("mi", 1.0), ("sob", 1.0), ("mi", 1.0)),
    ((("myocardi", "infarct"), 0.3), (("short", "", "breath"), 0.3), (("dyspnea",), 0.3)),
)
OTHER_NAMES = LexicalQuery(
    (("attack", 1.0), ("heart", 1.0), ("statin", 1.0)),
    alternatives=(NameAlternatives(("heart", "attack"), ((("myocardi", "infarct"), 0.5), (("coronari",), 0.5))),),
)
SEARCHES = {
    "text": request(),
    "text-and-vectors": request(vectors={"dense": FIRST, "finding": SECOND}),
    "vectors-alone": request(LexicalQuery(()), vectors={"dense": FIRST}),
    "phrases-of-abbreviations": request(PHRASES),
    "other-names": request(OTHER_NAMES),
    "terms-of-a-keyword": filtered(Terms("journal", ("Lancet", "BMJ"))),
    "terms-of-a-number": filtered(Terms("year", ("2001", "2003.5"))),
    "terms-of-a-date": filtered(Terms("published", ("2020-12-31",))),
    "range-of-numbers": filtered(Range("year", 1999.0, 2005.0)),
    "range-of-dates": filtered(Range("published", date(1543, 6, 1), date(2020, 12, 31))),
    "open-ranges": filtered(Range("year", low=1999.0), Range("published", high=date(2020, 12, 31)), Range("year")),
    "several-labels": request(access=CLINICIAN, vectors={"dense": FIRST}),
    "no-labels": request(access=Access("nobody", frozenset())),
    "facets": request(filters=(Terms("journal", ("BMJ",)),), facets=("journal", "year", "published")),
}
MET = DocumentCriterion((Terms("journal", ("BMJ",)),), ((("heart", "failur"), ("edema",)),), within_days=7, of=0)
OTHERS: dict[str, Callable[[], Any]] = {
    "passages": lambda: fetches.passages(["a@1#0", "b@2#1"], CLINICIAN),
    "document-fields": lambda: fetches.document_fields(["a", "b"], CLINICIAN),
    "any-visible": lambda: fetches.any_visible(CLINICIAN),
    "counted-values": lambda: fetches.counted_values("journal", CLINICIAN, ["a", "b"]),
    "patients": lambda: patients().names(MET, alone=False, dated=False, after=None),
    "patients-alone": lambda: patients().names(MET, alone=True, dated=False, after={"name": "a"}),
    "patients-by-day": lambda: patients().names(MET, alone=False, dated=True, after=None),
    "patients-documents": lambda: patients().documents(MET, ["Lancet", "id:a"], ["a"]),
    "index-counts": fetches.index_counts,
    "last-commit": fetches.last_commit,
    "first-page": lambda: fetches.page({"term": {"kind": "passage"}}, {"includes": ["document", "version"]}, 1_000),
    "later-page": lambda: fetches.page({"match_all": {}}, {"excludes": ["rest"]}, 1_000, ["a@1#0", 2]),
    "entries-of-documents": lambda: fetches.entries_of(["a", "b"], 10_000, ["a@1#0", 2]),
    "store-pending": lambda: store_queries.pending("abstracts-3"),
    "store-failed": lambda: store_queries.failed("abstracts-3"),
    "store-received": lambda: store_queries.in_state("abstracts-3", State.RECEIVED, None),
    "store-failed-of-a-job": lambda: store_queries.in_state("abstracts-3", State.FAILED, "abstracts.17"),
    "store-indexed": lambda: store_queries.in_state("abstracts-3", State.INDEXED, None),
    "store-counts": lambda: store_queries.counts("abstracts-3", None),
    "store-counts-of-a-job": lambda: store_queries.counts("abstracts-3", "abstracts.17"),
    "store-oldest-pending": lambda: store_queries.oldest_pending("abstracts-3"),
    "store-index-names": lambda: store_queries.values("settled"),
    "store-recorded": lambda: store_queries.recorded("abstracts-3"),
}


def compiler() -> OpenSearchQueryCompiler:
    collection = load("abstracts")
    boosts = {"title": collection.title_boost, "heading": collection.heading_boost}
    return OpenSearchQueryCompiler(INDEX.fields, boosts)


def patients() -> PatientBodies:
    criteria = (DocumentCriterion(), MET)
    asked = PatientsRequest(INDEX.name, "journal", CLINICIAN, criteria, date="published", withheld=("b",))
    return PatientBodies(asked, compiler())


def sent(asked: LegsRequest, index: OpenSearchIndexDescription = INDEX) -> list[dict[str, Any]]:
    """The lines of the `_msearch` as they are sent."""
    made = compiler()
    bodies = made.legs(asked, Spread(passages=1.5, rows=3.25).limits(asked)) | {COUNTS: made.counts(asked)}
    return [json.loads(line) for line in ndjson(queries.multi_search(index, asked, bodies)).splitlines()]


def check(name: str, value: Any) -> None:
    file = GOLDEN / f"{name}.json"
    if os.environ.get("MEDLEY_WRITE_GOLDEN"):
        file.write_text(json.dumps(value, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    assert json.loads(file.read_text(encoding="utf-8")) == value


@pytest.mark.parametrize("name", SEARCHES)
def test_the_multi_search_is_the_golden_one(name):
    check(f"search-{name}", sent(SEARCHES[name]))


@pytest.mark.parametrize("name", OTHERS)
def test_the_body_is_the_golden_one(name):
    check(name, OTHERS[name]())


def test_every_golden_file_has_a_test():
    names = {f"search-{name}" for name in SEARCHES} | OTHERS.keys()
    assert {path.stem for path in GOLDEN.glob("*.json")} == names


def test_over_several_shards_only_the_lexical_leg_asks_for_global_statistics():
    asked = SEARCHES["text-and-vectors"]
    assert [line.get("search_type") for line in sent(asked, replace(INDEX, shards=2))[::2]] == [
        "dfs_query_then_fetch",
        None,
        None,
        None,
    ]
    assert all("search_type" not in line for line in sent(asked)[::2])


def test_equal_queries_of_equal_access_prefer_the_same_copy():
    def preference(asked: LegsRequest) -> str:
        headers = sent(asked)[::2]
        assert len({header["preference"] for header in headers}) == 1
        return str(headers[0]["preference"])

    assert preference(request()) == preference(request(vectors={"dense": FIRST}))
    assert preference(request()) != preference(request(PHRASES))
    assert preference(request()) != preference(request(access=CLINICIAN))


@pytest.mark.parametrize(
    "asked",
    [
        filtered(Terms("colour", ("red",))),
        filtered(Terms("published", ("31/12/2020",))),
        filtered(Range("journal", 1.0, 2.0)),
    ],
    ids=["unknown field", "invalid date", "range of a keyword"],
)
def test_an_invalid_request_is_rejected_before_anything_is_sent(asked):
    with pytest.raises(InvalidInput):
        sent(asked)


def test_hosts_with_and_without_tls_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="mixes http and https"):
        Connection(("https://a:9200", "http://b:9200"), password="secret")
    Connection(("https://a:9200", "https://b:9200"))
