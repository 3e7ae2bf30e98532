"""The one way to run a suite: task → collection → stages → measures → report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from evaluation import stages
from evaluation.ancestry import describe_ancestry
from evaluation.baselines import papers
from evaluation.baselines.encoders import find_ways_of_reading
from evaluation.baselines.simple import rank_simple
from evaluation.baselines.trained import describe_runs, rank_systems, require_systems, takes_systems
from evaluation.breakdown.gains import gains_by_stratum
from evaluation.breakdown.surroundings import compare_surroundings
from evaluation.corpus.index import open_corpus
from evaluation.measures import Judgements, Run
from evaluation.models import configure, describe_baseline, describe_models, open_session, require_models
from evaluation.rows import break_down, describe_rows, find_alike, lead, rows_and_tests
from evaluation.suite import Progress, Report, SuiteOptions, command
from evaluation.suites.registry import find_suite
from evaluation.task import Task
from search.bootstrap import Medley
from search.settings import Settings

STRICT: Final = "strict"


def run_suite(name: str, options: SuiteOptions, settings: Settings, progress: Progress | None = None) -> Report:
    """Run a suite; the report in the stable JSON form of `medley evaluate --json`.

    Raises `NotFound` for an unknown suite or missing data, `InvalidInput` for malformed data,
    `Unavailable` without the extra `eval`, `ModelError` for a broken model.
    """
    started = time.perf_counter()
    standalone = find_suite(name, options).standalone
    if standalone is not None:
        return standalone.run(settings, options, progress)
    whole, tasks = chosen_tasks(name, options, settings)
    require_models(tasks, settings, options.rerank)
    rows: list[Report] = []
    tests: list[Report] = []
    breakdowns: list[Report] = []
    gains: list[Report] = []
    models: Report = {}
    systems = require_systems(tasks, options)
    ancestry: list[Report] = []
    for task in tasks:
        medley = open_corpus(task.corpus, configure(task, settings))
        if not models:
            models = describe_models(medley, task.corpus.name, options.rerank)
            ancestry = describe_ancestry(medley.models, judged_as(name, options), task, options.rerank)
        models |= {stages.BASELINE: describe_baseline(medley, task)} if task.encoder else {}
        runs = _rank(medley, task, options, progress)
        if options.simple and task is tasks[0]:
            runs = {stages.SIMPLE: rank_simple(task, settings, progress)} | runs
        runs |= rank_systems(task, runs, options, settings, progress)
        more_rows, more_tests = _measure(task, runs, options)
        rows += more_rows
        tests += more_tests
        judged = _judged(task, runs)
        breakdowns += break_down(task, runs, judged)
        gains += gains_by_stratum(task, runs, judged)
    report = _report(whole, tasks, rows, tests)
    report |= {name: found for name, found in (("breakdowns", breakdowns), ("gains", gains)) if found}
    report["command"] = command(name, options)
    models |= {"systems": systems, **describe_runs(options.systems)} if options.systems and systems else {}
    return report | {"models": models, "ancestry": ancestry, "seconds": round(time.perf_counter() - started, 1)}


def chosen_tasks(name: str, options: SuiteOptions, settings: Settings) -> tuple[Task, list[Task]]:
    """The suite's main task with all its questions, and the tasks that a run measures. Raises as `run_suite` does."""
    everything = find_suite(name, options).tasks(settings, options)
    chosen = everything if options.variants else everything[:1]
    return everything[0], [task.sampled(options.queries) for task in chosen]


def judged_as(name: str, options: SuiteOptions) -> str:
    """The suite whose data set a suite evaluates: `claims` has no claims of its own unless it is given a folder."""
    return "check-covid" if name == "claims" and options.folder is None else name


def _report(whole: Task, tasks: list[Task], rows: list[Report], tests: list[Report]) -> Report:
    main = tasks[0]
    sampled = len(main.questions) < len(whole.questions)
    sample = {"queries": len(main.questions), "of": len(whole.questions), "fixed": True} if sampled else None
    return {
        "suite": main.suite,
        "collection": main.corpus.kind,
        "queries": len(main.questions),
        "sample": sample,
        **describe(tasks, rows, tests),
    }


def describe(tasks: Sequence[Task], rows: Sequence[Report], tests: Sequence[Report]) -> Report:
    """The part of a report that words decide: the order and notes of its rows, the published ones, the suite's notes."""
    return {
        **find_alike(tasks, rows),
        "rows": describe_rows(tasks, rows),
        "tests": lead(tasks, tests),
        "published": [item.as_json() for item in tasks[0].published],
        "notes": list(tasks[0].notes),
    }


def _rank(medley: Medley, task: Task, options: SuiteOptions, progress: Progress | None) -> dict[str, Run]:
    """System → its rankings."""
    found = stages.run_task(open_session(medley, task, options.rerank and not task.encoder), progress)
    if task.reference:
        chosen = {item.id: _candidates(found, item.id) for item in task.questions} if task.candidates else None
        found = papers.rank(task, chosen) | found
    return found


def _candidates(found: Mapping[str, Run], question: str) -> frozenset[str]:
    """Everything that the legs rank: within a candidate protocol these are its candidates."""
    return frozenset(key for run in found.values() for key in run[question])


def _judged(task: Task, runs: Mapping[str, Run]) -> Judgements:
    """The judgements; of a protocol's candidates only: a twin that is no candidate can't be ranked, so it isn't missed."""
    if not task.candidates:
        return task.judgements
    chosen = {query: _candidates(runs, query) for query in task.judgements}
    return {
        query: {key: grade for key, grade in grades.items() if key in chosen[query]}
        for query, grades in task.judgements.items()
    }


def _measure(task: Task, runs: Mapping[str, Run], options: SuiteOptions) -> tuple[list[Report], list[Report]]:
    judgements = _judged(task, runs)
    if task.encoder:  # BM25 ranks as it does beside the collection's own encoder: its rows are there
        runs = {f"{stages.BASELINE} {system}": runs[system] for system in (stages.DENSE, stages.FUSED)}
    rows, tests = rows_and_tests(task, runs, judgements, task.variant)
    if options.systems and takes_systems(task):
        more_rows, more_tests = compare_surroundings(task, runs, judgements, find_ways_of_reading(options.systems))
        rows, tests = rows + more_rows, tests + [test for test in more_tests if test not in tests]
    if task.strict is not None and options.variants and not task.variant and not task.encoder:
        more_rows, more_tests = rows_and_tests(task, runs, task.strict, STRICT)
        rows, tests = rows + more_rows, tests + more_tests
    return rows, tests
