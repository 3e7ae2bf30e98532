"""The rows and paired tests of a report, from the rankings of each system."""

from __future__ import annotations

from collections.abc import Mapping

from evaluation import stages
from evaluation.baselines import papers
from evaluation.measures import Judgements, Measure, Run, Values, parse, per_query
from evaluation.statistics import closed_share, compare, interval
from evaluation.suite import Report
from evaluation.task import Task


def rows_and_tests(
    task: Task, runs: Mapping[str, Run], judgements: Judgements, variant: str
) -> tuple[list[Report], list[Report]]:
    """A row per system with every measure and its interval, and the paired tests; `variant` marks both."""
    measures = [parse(name) for name in task.measures]
    values = {system: per_query(measures, judgements, run) for system, run in runs.items()}
    suffix = f", {variant}" if variant else ""
    found = [
        {"system": f"{system}{suffix}", "measures": _estimates(found)} | _note(task, system)
        for system, found in values.items()
    ]
    pairs = [pair for pair in stages.COMPARED if set(pair) <= values.keys()]
    tests = [
        _test(f"{first}{suffix}", f"{second}{suffix}", measure, values[first][measure], values[second][measure])
        for first, second in pairs
        for measure in measures[:1]
    ]
    return found, [*tests, *_against_papers(runs, judgements, suffix)]


def _note(task: Task, system: str) -> Report:
    return {"note": task.trained} if task.trained and system in stages.OF_MODELS else {}


def _against_papers(runs: Mapping[str, Run], judgements: Judgements, suffix: str) -> list[Report]:
    """The reranked ranking against the papers' best lexical one, and the share of the distance to a perfect one it closes."""
    pair = (stages.RERANKED, papers.PREPARED)
    if not set(pair) <= runs.keys():
        return []
    measure = Measure("RR")
    ours, theirs = (per_query([measure], judgements, runs[system])[measure] for system in pair)
    test = _test(f"{pair[0]}{suffix}", f"{pair[1]}{suffix}", measure, ours, theirs)
    return [test | {"closes": closed_share(ours, theirs).as_json()}]


def _estimates(found: Mapping[Measure, Values]) -> dict[str, dict[str, float]]:
    return {str(measure): interval(values).as_json() for measure, values in found.items()}


def _test(first: str, second: str, measure: Measure, ours: Values, theirs: Values) -> Report:
    found = compare(ours, theirs)
    return {
        "system": first,
        "against": second,
        "measure": str(measure),
        "difference": found.difference.as_json(),
        "p": round(found.p, 5),
    }
