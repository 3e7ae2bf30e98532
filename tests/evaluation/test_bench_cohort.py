"""The bench of cohorts, whole, on few notes; and its plain loop, by which it judges the engines."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from test_bench_search import settings  # noqa: F401 - a fixture

from evaluation.bench import cohort as bench
from mappings.documents import Access
from mappings.errors import MedleyError
from search.document_criteria import DocumentCriterion
from search.protocols import PatientsRequest
from search.query import Range, Terms

NAMES = {"first_ms", "fresh_p50_ms", "fresh_p95_ms", "p50_ms", "p95_ms", "queries"}


def note(patient: str, day: int, word: str, *keys: str) -> bench.MadeNote:
    return bench.MadeNote(day, patient, date(2020, 1, day), frozenset(keys), (word,), frozenset({word}))


def test_the_plain_loop_counts_patients():
    one = DocumentCriterion((Terms("asserted", ("a|present",)),))
    two = DocumentCriterion((Terms("asserted", ("b|present",)), Range("date", date(2020, 1, 2))), ((("wound",),),))
    three = DocumentCriterion((Terms("asserted", ("c|present",)),))
    request = PatientsRequest("", "patient", Access("u", frozenset()), (one, two), none=(three,))
    notes = [
        note("met", 1, "drain", "a|present"),
        note("met", 2, "wound", "b|present"),
        note("early", 1, "wound", "a|present", "b|present"),
        note("wordless", 3, "drain", "a|present", "b|present"),
        note("barred", 4, "wound", "a|present", "b|present", "c|present"),
        note("other", 4, "wound", "a|ruled-out", "b|present"),
    ]
    assert bench.count_patients(notes, request) == (1, 4, 3, 1)


def test_no_criterion_is_asked_before_it_is_measured():
    before = {item for request in bench.make_requests(bench.WARM_UP, 2, "ruled-out") for item in request.criteria}
    assert before.isdisjoint(item for request in bench.make_requests(bench.QUERIES) for item in request.criteria)


def test_cohorts_are_timed_and_counted(settings):  # noqa: F811
    report = bench.bench_cohort(settings, notes=300, queries=5, warm_up=7)
    figures = report["figures"]
    assert set(figures) == {"notes"} | {f"embedded_{name}" for name in NAMES}
    assert (report["bench"], figures["notes"], figures["embedded_queries"]) == ("cohort", 300.0, 5.0)
    assert 0 < figures["embedded_p50_ms"] <= figures["embedded_p95_ms"]


def test_a_wrong_count_fails_the_bench(settings, monkeypatch):  # noqa: F811
    right = bench.count_patients
    monkeypatch.setattr(bench, "count_patients", lambda *given: (right(*given)[0] + 1, *right(*given)[1:]))
    with pytest.raises(MedleyError, match="by a plain loop"):
        bench.bench_cohort(settings, notes=50, queries=1, warm_up=1)


@pytest.mark.opensearch
def test_a_cluster_is_timed_too_and_keeps_nothing(settings, node):  # noqa: F811
    report = bench.bench_cohort(replace(settings, opensearch=node.url), notes=300, queries=3, warm_up=4)
    names = {f"{engine}_{name}" for engine in ("embedded", "opensearch") for name in NAMES}
    assert set(report["figures"]) == {"notes"} | names
    assert "-Xmx" in report["machine"]["opensearch"]
