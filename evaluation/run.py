"""The suites by name, and the one way to run them: task → collection → stages → measures → report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluation import stages
from evaluation.baselines import papers as reference
from evaluation.index import open_corpus
from evaluation.measures import Judgements, Run
from evaluation.models import described, require
from evaluation.rows import rows_and_tests
from evaluation.score_cache import KeptScores
from evaluation.suites import beir, check_covid, claims, cystic_fibrosis, evidence, medquad, notes, press, scifact
from evaluation.suites.radiology import suite as radiology
from evaluation.task import Corpus, Task
from mappings.analysis.abstract_excerpt import EXCERPTS, AbstractExcerpt, excerpt
from mappings.errors import InvalidInput, NotFound
from search.bootstrap import Medley
from search.ranking.anytime import Anytime, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.settings import Settings

Report = dict[str, Any]
STRICT: Final = "strict"
ONLY_FOR: Final[Mapping[str, Sequence[str]]] = {
    "folder": ("claims", "beir"),
    "split": ("claims", "beir"),
    "kind": ("beir",),
    "full": ("medquad",),
    "distractors": ("scifact", "check-covid"),
    "reading": ("scifact", "check-covid", "claims"),
    "folds": (radiology.SUITE,),
    "baseline": (radiology.SUITE,),
}
"""Option -> the suites that know it; the others refuse it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a run of a suite may be told.

    `queries`: a fixed sample of so many; `full`: no candidate protocol; `distractors`: the pool joins the corpus;
    `folder`, `split`, `kind`: for `beir`; `rerank`: whether the cross-encoder takes part; `variants`: whether
    further rows (titles, slots, strict) are printed; `reading`: how much of an abstract is read (`mappings.analysis.abstract_excerpt`);
    `folds`, `baseline`: models for `radiology`.
    """

    queries: int | None = None
    full: bool = False
    distractors: bool = False
    folder: Path | None = None
    split: str = "test"
    kind: str = "abstracts"
    rerank: bool = True
    variants: bool = True
    reading: AbstractExcerpt = "whole"
    folds: Path | None = None
    baseline: str = ""

    def __post_init__(self) -> None:
        if self.queries is not None and self.queries < 1:
            raise InvalidInput(f"queries is {self.queries}; a sample has 1 or more", field="queries")
        if self.reading not in EXCERPTS:
            raise InvalidInput(f"reading is {self.reading!r}; it is one of {', '.join(EXCERPTS)}", field="reading")


@dataclass(frozen=True, slots=True)
class Suite:
    """A named suite: `tasks` are its rows, the main task first. `alone` runs one that is no task of a collection.

    `forms` are the options with which `evaluate all` runs it; `quick`: whether the first of them does without the pool.
    """

    name: str
    summary: str
    tasks: Callable[[Settings, Options], Sequence[Task]] = lambda settings, options: ()
    forms: Sequence[Mapping[str, Any]] = ({},)
    quick: bool = True
    alone: Callable[[Settings, Options, stages.Progress | None], Report] | None = None


def _beir(settings: Settings, options: Options) -> Sequence[Task]:
    if options.folder is None:
        raise InvalidInput("evaluate beir needs a folder with corpus.jsonl, queries.jsonl and qrels/", field="folder")
    return [beir.task(options.folder, options.split, options.kind, settings.collections)]


def _read(task: Task, reading: AbstractExcerpt) -> Sequence[Task]:
    """The task over abstracts of which only a part is read: a corpus of its own, and rows that say so."""
    if reading == "whole":
        return [task]
    corpus = task.corpus
    name = f"{corpus.name}-reading-{reading.lower()}"
    read = Corpus(name, corpus.kind, lambda: (excerpt(document, reading) for document in corpus.documents()))
    note = f"reading {reading}: every stage reads that part of an abstract only"
    return [replace(task, corpus=read, variant=f"reading {reading}", notes=(*task.notes, note), reference=False)]


_POOLED: Final[Sequence[Mapping[str, Any]]] = ({}, {"distractors": True})


def _radiology(settings: Settings, options: Options, progress: stages.Progress | None) -> Report:
    return radiology.run(settings, options.queries, options.folds, options.baseline, options.variants, progress)


_ALL: Final = (
    Suite(
        "scifact",
        "claims to research abstracts",
        lambda s, o: _read(scifact.task(s, o.distractors), o.reading),
        _POOLED,
    ),
    Suite(
        "check-covid",
        "news claims to abstracts",
        lambda s, o: _read(check_covid.task(s, o.distractors), o.reading),
        _POOLED,
    ),
    Suite(
        "medquad",
        "questions to passages of health articles",
        lambda s, o: medquad.tasks(s, o.full),
        ({}, {"full": True}),
    ),
    Suite("notes", "entity and heading to sections of clinical notes", lambda s, _: [notes.task(s)]),
    Suite("press", "press-release conclusions to abstract conclusions", lambda s, _: [press.task(s)]),
    Suite("cystic-fibrosis", "questions to abstracts, graded", lambda s, _: [cystic_fibrosis.task(s)]),
    Suite("evidence", "a trial's question to its abstract", lambda s, _: [evidence.task(s)]),
    Suite(
        "claims",
        "headlines to the abstracts behind them",
        lambda s, o: _read(claims.task(s, o.folder, o.split), o.reading),
        quick=False,
    ),
    Suite(radiology.SUITE, "findings, there or ruled out, to sentences of X-ray reports", alone=_radiology),
    Suite("beir", "judgements of your own in BEIR's form", _beir, forms=()),
)
SUITES: Final[Mapping[str, Suite]] = {suite.name: suite for suite in _ALL}


def run_suite(name: str, options: Options, settings: Settings, progress: stages.Progress | None = None) -> Report:
    """Run a suite; the report in the stable JSON form of `medley evaluate --json`.

    Raises `NotFound` for an unknown suite or missing data, `InvalidInput` for malformed data,
    `Unavailable` without the extra `eval`, `ModelError` for a broken model.
    """
    started = time.perf_counter()
    _check(name, options)
    alone = SUITES[name].alone
    if alone is not None:
        return alone(settings, options, progress)
    whole, tasks = chosen_tasks(name, options, settings)
    if options.rerank:
        require(tasks, settings)
    rows: list[Report] = []
    tests: list[Report] = []
    models: Report = {}
    for task in tasks:
        medley = open_corpus(task.corpus, settings)
        models = models or described(medley, task, options.rerank)
        found, compared = _measured(task, _runs(medley, task, options, progress), options.variants)
        rows += found
        tests += compared
    return _report(whole, tasks[0], options, rows, tests) | {
        "models": models,
        "seconds": round(time.perf_counter() - started, 1),
    }


def chosen_tasks(name: str, options: Options, settings: Settings) -> tuple[Task, list[Task]]:
    """The suite's main task with all its questions, and the tasks that a run measures. Raises as `run_suite` does."""
    _check(name, options)
    everything = SUITES[name].tasks(settings, options)
    chosen = everything if options.variants else everything[:1]
    return everything[0], [task.sampled(options.queries) for task in chosen]


def _check(name: str, options: Options) -> None:
    if name not in SUITES:
        raise NotFound(f"there is no suite {name!r}; there are {', '.join(SUITES)}", field="suite")
    for option in given(options):
        if name not in ONLY_FOR[option]:
            raise InvalidInput(f"{shown(option)} is for {', '.join(ONLY_FOR[option])}, not for {name}", field=option)


def given(options: Options) -> list[str]:
    """The options of `ONLY_FOR` that differ from their defaults."""
    return [option for option in ONLY_FOR if getattr(options, option) != getattr(Options(), option)]


def shown(option: str) -> str:
    """The option as it is written on the command line."""
    return "a folder" if option == "folder" else f"--{option}"


def _report(whole: Task, main: Task, options: Options, rows: list[Report], tests: list[Report]) -> Report:
    sampled = len(main.questions) < len(whole.questions)
    sample = {"queries": len(main.questions), "of": len(whole.questions), "fixed": True} if sampled else None
    return {
        "suite": main.suite,
        "collection": main.corpus.kind,
        "queries": len(main.questions),
        "sample": sample,
        "rows": rows,
        "tests": tests,
        "published": [item.as_json() for item in main.published],
        "notes": list(main.notes),
        "command": command(main.suite, options),
    }


def command(suite: str, options: Options) -> str:
    """The command line that prints this report."""
    name = next(known for known in sorted(SUITES, key=len, reverse=True) if suite.startswith(known))
    words = ["medley evaluate", name]
    words += [options.folder.name] if options.folder else []
    words += [f"--kind {options.kind}"] if options.kind != Options().kind else []
    words += [f"--queries {options.queries}"] if options.queries else []
    words += [f"--split {options.split}"] if options.split != "test" else []
    words += [f"--reading {options.reading}"] if options.reading != "whole" else []
    flags = {"--full": options.full, "--distractors": options.distractors}
    flags |= {"--no-rerank": not options.rerank, "--no-variants": not options.variants}
    return " ".join([*words, *(flag for flag, given in flags.items() if given)])


def open_session(medley: Medley, task: Task, rerank: bool) -> stages.Session:
    """The task over its open collection, with cross-encoder scores kept on disk."""
    found = medley.models.rerank_stages(medley.collections.get(task.corpus.name)) if rerank else None
    if found is None:
        return stages.Session(medley, task, None)
    first = _kept(medley, found.first) if found.first else None
    return stages.Session(medley, task, RerankStages(_kept(medley, found.last), first))


def _kept(medley: Medley, anytime: Anytime) -> Anytime:
    return Anytime(KeptScores(anytime.reranker, medley.settings.home / "scores.sqlite"), ScoreCache(1_000), Pace())


def _runs(medley: Medley, task: Task, options: Options, progress: stages.Progress | None) -> dict[str, Run]:
    found = stages.run_task(open_session(medley, task, options.rerank), progress)
    if task.reference:
        chosen = {item.id: _candidates(found, item.id) for item in task.questions} if task.candidates else None
        found = reference.runs(task, chosen) | found
    return found


def _candidates(found: Mapping[str, Run], question: str) -> frozenset[str]:
    """All that the legs rank: within a protocol these are its candidates."""
    return frozenset(key for run in found.values() for key in run[question])


def _within(task: Task, runs: Mapping[str, Run]) -> Judgements:
    """Judgements of a protocol's candidates only: a twin that is no candidate can't be ranked, so it isn't missed."""
    chosen = {query: _candidates(runs, query) for query in task.judgements}
    return {
        query: {key: grade for key, grade in grades.items() if key in chosen[query]}
        for query, grades in task.judgements.items()
    }


def _measured(task: Task, runs: Mapping[str, Run], variants: bool) -> tuple[list[Report], list[Report]]:
    judgements = _within(task, runs) if task.candidates else task.judgements
    rows, tests = rows_and_tests(task, runs, judgements, task.variant)
    if task.strict is not None and variants and not task.variant:
        more, others = rows_and_tests(task, runs, task.strict, STRICT)
        rows, tests = rows + more, tests + others
    return rows, tests
