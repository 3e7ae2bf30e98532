"""Gains over the simple system by stratum: exact JSON, the table, and what has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluation.breakdown.gains import gains_by_stratum
from evaluation.breakdown.page import breakdown_markdown
from evaluation.task import Corpus, Question, Task

YEARS = {"a": "2", "b": "2", "c": "10", "d": "10", "e": ""}
TASK = Task(
    suite="experts",
    corpus=Corpus("experts", "abstracts", list),
    questions=tuple(Question(name, name, stratum=year) for name, year in YEARS.items()),
    judgements={name: {"right": 1} for name in YEARS},
    measures=("RR", "nDCG@10"),
    strata="year",
)
FIRST, SECOND, NEVER = ["right", "wrong"], ["wrong", "right"], ["wrong"]
RUNS = {
    "simple": {"a": SECOND, "b": SECOND, "c": FIRST, "d": FIRST, "e": NEVER},
    "reranked": {"a": FIRST, "b": FIRST, "c": FIRST, "d": NEVER, "e": FIRST},
}


def test_gains_are_paired_by_year_and_each_year_counts_alike() -> None:
    (found,) = gains_by_stratum(TASK, RUNS, TASK.judgements)
    assert found == {
        "system": "reranked",
        "against": "simple",
        "measure": "RR",
        "by": "year",
        "mean": {"value": 0.0, "low": -0.25, "high": 0.25},
        "strata": [
            {"name": "2", "queries": 2, "difference": {"value": 0.5, "low": 0.5, "high": 0.5}, "p": pytest.approx(0.5, abs=0.02)},
            {"name": "10", "queries": 2, "difference": {"value": -0.5, "low": -1.0, "high": 0.0}, "p": pytest.approx(1)},
        ],
    }  # fmt: skip


def test_a_year_with_more_questions_does_not_count_more() -> None:
    runs = {"simple": RUNS["simple"] | {"d": SECOND}, "fused": RUNS["reranked"] | {"d": SECOND}}
    without = replace(TASK, questions=TASK.questions[:3], judgements={name: {"right": 1} for name in "abc"})
    assert gains_by_stratum(without, runs, without.judgements)[0]["mean"]["value"] == 0.25


def test_the_table_has_a_row_for_each_year_and_the_mean() -> None:
    told = gains_by_stratum(replace(TASK, variant="v"), RUNS, TASK.judgements)
    lines = breakdown_markdown({"gains": told})
    assert lines[0] == "### reranked, v against simple, v, by year"
    assert lines[2:4] == ["| year | queries | gain in RR | p |", "| --- | --- | --- | --- |"]
    assert lines[4].startswith("| 2 | 2 | +0.500 (+0.500 to +0.500) | 0.")
    assert lines[6] == "| mean over 2 | 4 | +0.000 (-0.250 to +0.250) |  |"


@pytest.mark.parametrize(
    ("task", "runs"),
    [
        (replace(TASK, strata=""), RUNS),
        (TASK, {"reranked": RUNS["reranked"]}),
        (replace(TASK, questions=tuple(Question(name) for name in YEARS)), RUNS),
    ],
    ids=["no strata", "no simple system", "questions without a year"],
)
def test_nothing_is_told_without_years_or_the_simple_system(task, runs) -> None:
    assert gains_by_stratum(task, runs, task.judgements) == []
