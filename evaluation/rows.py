"""The rows and paired tests of a report, from the rankings of each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from evaluation import stages
from evaluation.baselines import papers
from evaluation.measures import Judgements, Measure, Run, Values, parse, per_query
from evaluation.statistics import closed_share, compare, interval
from evaluation.suite import Report
from evaluation.task import SEPARATOR, Task

PLAIN: Final = stages.OF_MODELS | {stages.BM25, stages.SIMPLE, *papers.SYSTEMS}
"""The systems of every suite: stages of a search, and what they are compared with."""
FEW: Final = 4
"""So many trained systems are compared with one another wherever they are given; of more, there would be dozens of tests."""


def rows_and_tests(
    task: Task, runs: Mapping[str, Run], judgements: Judgements, variant: str
) -> tuple[list[Report], list[Report]]:
    """A row per system with every measure and its interval, and the paired tests; `variant` marks both."""
    measures = [parse(name) for name in task.measures]
    values = {system: per_query(measures, judgements, run) for system, run in runs.items()}
    suffix = f"{SEPARATOR}{variant}" if variant else ""
    found = [{"system": f"{system}{suffix}", "measures": _estimates(found)} for system, found in values.items()]
    pairs = [pair for pair in stages.COMPARED if set(pair) <= values.keys()]
    trained = [system for system in runs if system not in PLAIN and not system.startswith(stages.BASELINE)]
    if task.listed or len(trained) <= FEW:
        pairs += combinations(trained, 2)
    # Also against what found their candidates.
    lexical = papers.PREPARED if task.listed else stages.BM25 if task.leads else ""
    pairs += [(system, lexical) for system in trained if lexical in runs]
    tests = [
        paired_test(f"{first}{suffix}", f"{second}{suffix}", measure, values[first][measure], values[second][measure])
        for first, second in pairs
        for measure in measures[:1]
    ]
    return found, [*tests, *_against_papers(runs, judgements, suffix)]


def break_down(task: Task, runs: Mapping[str, Run], judgements: Judgements) -> list[Report]:
    """The breakdown of the last stage, and of every system that is neither a stage nor lexical; none if the task has none."""
    if task.breakdown is None:
        return []
    last = next(stage for stage in (stages.RERANKED, stages.FUSED) if stage in runs)
    chosen = [system for system in runs if system == last or system not in PLAIN]
    return [
        task.breakdown.describe(f"{system}{SEPARATOR}{task.variant}", runs[system], judgements) for system in chosen
    ]


def describe_rows(tasks: Sequence[Task], rows: Sequence[Report]) -> list[Report]:
    """The rows of a suite's tasks with what is to be known of them today, those of leading tasks first.

    The first task is the main one; rows of another task with more or fewer questions say how many. Rows of a kept report
    lose the notes that they had.
    """
    found = []
    for row in lead(tasks, rows):
        system, _, variant = row["system"].partition(SEPARATOR)
        task = _task_of(tasks, variant)
        trained = task.trained if _is_of_model(system) else ""
        bare = {key: value for key, value in row.items() if key != "note"}
        other = variant == task.variant and len(task.questions) != len(tasks[0].questions)
        number = {"queries": len(task.questions)} if other else {}
        found.append(bare | number | ({"note": trained} if trained else {}))
    return found


def _is_of_model(system: str) -> bool:
    """Whether what is said of a task's trained models holds for a system: not for one that saw nothing of the data set."""
    untrained = system in (stages.BM25, stages.SIMPLE, *papers.SYSTEMS) or system.startswith(stages.BASELINE)
    return not untrained and not system.endswith(stages.ZERO_SHOT)


def find_alike(tasks: Sequence[Task], rows: Sequence[Report]) -> Report:
    """`{"alike": system}`: the last stage in the set-up of the published rows; empty where no task has it."""
    last = [
        f"{stage}{SEPARATOR}{task.variant}" for task in tasks if task.leads for stage in (stages.RERANKED, stages.FUSED)
    ]
    systems = {row["system"] for row in rows}
    return next(({"alike": name} for name in last if name in systems), {})


def lead(tasks: Sequence[Task], items: Sequence[Report]) -> list[Report]:
    """Rows or tests, those of leading tasks first, otherwise in their order."""
    return sorted(items, key=lambda item: not _task_of(tasks, item["system"].partition(SEPARATOR)[2]).leads)


def _task_of(tasks: Sequence[Task], variant: str) -> Task:
    """The task whose rows are marked so, those of a part of its questions included; strict rows are the main task's.

    A variant can begin as another one does: the longer one counts.
    """
    own = (task for task in tasks if task.variant and f"{variant}{SEPARATOR}".startswith(f"{task.variant}{SEPARATOR}"))
    return max(own, key=lambda task: len(task.variant), default=tasks[0])


def _against_papers(runs: Mapping[str, Run], judgements: Judgements, suffix: str) -> list[Report]:
    """The reranked ranking against the papers' best lexical one, and the share of the distance to a perfect one it closes."""
    pair = (stages.RERANKED, papers.PREPARED)
    if not set(pair) <= runs.keys():
        return []
    measure = Measure("RR")
    ours, theirs = (per_query([measure], judgements, runs[system])[measure] for system in pair)
    test = paired_test(f"{pair[0]}{suffix}", f"{pair[1]}{suffix}", measure, ours, theirs)
    return [test | {"closes": closed_share(ours, theirs).as_json()}]


def _estimates(found: Mapping[Measure, Values]) -> dict[str, dict[str, float]]:
    return {str(measure): interval(values).as_json() for measure, values in found.items()}


def paired_test(first: str, second: str, measure: Measure, ours: Values, theirs: Values) -> Report:
    """The paired test of one system against another, by their values of a measure for the same queries."""
    found = compare(ours, theirs)
    return {
        "system": first,
        "against": second,
        "measure": str(measure),
        "difference": found.difference.as_json(),
        "p": round(found.p, 5),
    }
