"""The measures against a reference written out from their definitions."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.measures import KINDS, NEED_CUTOFF, Measure, ordered, parse, per_query
from mappings.errors import InvalidInput, Unavailable

pytest.importorskip("ir_measures")

MEASURES = [
    parse(name) for name in ("nDCG@10", "nDCG@3", "nDCG", "RR", "RR@2", "AP", "R@3", "Success@1", "Success@5", "P@4")
]


def reference(measure: Measure, grades: dict[str, int], ranking: list[str]) -> float:
    """The textbook definition, one query."""
    cut = ranking[: measure.cutoff] if measure.cutoff else ranking
    gains = [max(grades.get(key, 0), 0) for key in cut]
    good = sum(grade > 0 for grade in grades.values())
    hits = [rank for rank, gain in enumerate(gains, 1) if gain > 0]
    if measure.kind == "RR":
        return 1 / hits[0] if hits else 0.0
    if measure.kind == "Success":
        return float(bool(hits))
    if measure.kind == "P":
        return len(hits) / measure.cutoff
    if measure.kind == "R":
        return len(hits) / good if good else 0.0
    if measure.kind == "AP":
        return sum(number / rank for number, rank in enumerate(hits, 1)) / good if good else 0.0
    ideal = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[: measure.cutoff]
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(ideal, 1))
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1)) / best if best else 0.0


IDS = st.text("abc #@ é", min_size=1, max_size=3)
GRADES = st.dictionaries(IDS, st.integers(-1, 4), min_size=1, max_size=6)
SCORES = st.dictionaries(IDS, st.sampled_from([0.0, 0.5, 1.0, 7.25]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(IDS, st.tuples(GRADES, SCORES), min_size=1, max_size=4))
def test_every_measure_is_its_definition(case: dict[str, tuple[dict[str, int], dict[str, float]]]) -> None:
    judgements = {query: grades for query, (grades, _) in case.items()}
    run = {query: ordered(scores) for query, (_, scores) in case.items()}
    values = per_query(MEASURES, judgements, run)
    for measure in MEASURES:
        expected = [reference(measure, judgements[query], run[query]) for query in judgements]
        assert values[measure] == pytest.approx(expected, abs=1e-6), str(measure)


@given(st.sampled_from(KINDS), st.none() | st.integers(1, 10_000))
def test_a_name_parses_back(kind: str, cutoff: int | None) -> None:
    if cutoff is None and kind in NEED_CUTOFF:
        with pytest.raises(InvalidInput, match=f"{kind} needs a cutoff, such as {kind}@10"):
            Measure(kind)
    else:
        assert parse(str(Measure(kind, cutoff))) == Measure(kind, cutoff)


@pytest.mark.parametrize("name", ["", "nDCG@", "nDCG@0", "nDCG@-1", "recall@5", "RR@x", "nDCG(gains={1:10})@10"])
def test_a_bad_name_is_named(name: str) -> None:
    with pytest.raises(InvalidInput):
        parse(name)


def test_ties_are_decided_by_id_not_by_chance() -> None:
    run = {"q": ordered({"b": 1.0, "a": 1.0, "c": 1.0})}
    assert run == {"q": ["a", "b", "c"]}
    values = per_query([parse("RR"), parse("RR@10")], {"q": {"b": 1}}, run)
    assert [value.tolist() for value in values.values()] == [[0.5], [0.5]]


def test_values_follow_the_order_of_the_judgements_and_a_missing_query_counts_zero() -> None:
    values = per_query([parse("Success@1")], {"z": {"d": 1}, "a": {"d": 1}, "m": {"d": 1}}, {"a": ["d"], "z": ["e"]})
    assert np.array_equal(values[parse("Success@1")], [0.0, 1.0, 0.0])


def test_no_judgements_and_a_doubled_id_are_errors() -> None:
    with pytest.raises(InvalidInput, match="no judged query"):
        per_query([parse("RR")], {}, {})
    with pytest.raises(InvalidInput, match="'q' contains an id twice"):
        per_query([parse("RR")], {"q": {"d": 1}}, {"q": ["d", "d"]})


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(Unavailable, match=r"pip install -e '.\[eval\]'"):
        per_query([parse("RR")], {"q": {"d": 1}}, {"q": ["d"]})
