"""The trained systems of papers in a folder: matching networks, discourse models and transformers, or the runs that made them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evaluation.baselines import papers
from evaluation.baselines.discourse import check_documents, describe_discourse, find_discourse, rank_discourse
from evaluation.baselines.matchers import describe_matchers, rank_matchers
from evaluation.baselines.transformers import (
    describe_transformers,
    find_bi_encoders,
    rank_shipped,
    rank_transformers,
    spell_runs,
)
from evaluation.measures import Run
from evaluation.stages import Progress
from evaluation.suite import SuiteOptions
from evaluation.task import Task
from mappings.errors import InvalidInput, NotFound
from search.settings import Settings

Chosen = Mapping[str, Collection[str]]
"""Question → what its systems rank."""


def describe_trained(folder: Path) -> dict[str, str]:
    """What identifies each trained system in a folder, by name. Raises `NotFound` if it holds none, `ModelError`."""
    describe = (describe_matchers, describe_discourse, describe_transformers)
    found = {name: value for each in describe for name, value in each(folder).items()} if folder.is_dir() else {}
    if not found:
        raise NotFound(f"{folder} holds no trained system: no run, no model directory", field="systems")
    return found


def describe_runs(folder: Path) -> dict[str, dict[str, str]]:
    """`{"trained": {name: its base and length}}` of the runs in a folder whose base is a pretrained model; else empty."""
    found = spell_runs(folder)
    return {"trained": found} if found else {}


def require_systems(tasks: Collection[Task], options: SuiteOptions) -> dict[str, str]:
    """The trained systems that the options name, before anything is ranked. Raises `InvalidInput` and `NotFound`."""
    if options.systems is None:
        return {}
    if not any(map(takes_systems, tasks)):
        message = "these systems rank the candidates of a question asked by entity and aspect: leave out --full and --no-variants"
        raise InvalidInput(message, field="systems")
    found = describe_trained(options.systems)
    for task in filter(takes_systems, tasks):
        check_documents(task, options.systems)
    if not any(task.candidates or _has_list(task) for task in tasks) and not find_bi_encoders(options.systems):
        message = (
            f"{options.systems} holds no bi-encoder; with --reading only these rank, since BM25+† finds no candidates"
        )
        raise InvalidInput(message, field="systems")
    return found


def takes_systems(task: Task) -> bool:
    """Whether the task has a set-up of the published rows: asked by slots among candidates, or a list to rank."""
    return bool(task.listed) or (task.leads and bool(task.candidates))


def rank_systems(
    task: Task, runs: Mapping[str, Run], options: SuiteOptions, settings: Settings, progress: Progress | None = None
) -> dict[str, Run]:
    """System → question → judged keys, best first, of all that the options name; empty where the task takes none.

    Of a task with a list the reranker of its collection kind ranks that, too.
    """
    if options.systems is None or not takes_systems(task):
        return {}
    chosen = _choose(task, runs)
    found = dict(rank_trained(task, options.systems, chosen, settings, progress))
    if task.listed and chosen and options.rerank:
        found |= rank_shipped(task, chosen, settings, progress)
    return found


def rank_trained(
    task: Task, folder: Path, chosen: Chosen, settings: Settings, progress: Progress | None = None
) -> Iterator[tuple[str, Run]]:
    """(name, question → judged keys, best first) of each system in `folder`, among the `chosen` of a question."""
    if chosen:
        yield from rank_matchers(task, folder, chosen, progress)
    if find_discourse(folder):
        yield from rank_discourse(task, folder, chosen)
    yield from rank_transformers(task, folder, chosen, settings, progress)


def _choose(task: Task, runs: Mapping[str, Run]) -> Chosen:
    """The candidates of the protocol: all that the legs rank; or the first of BM25+†, without any that it missed."""
    if task.candidates:
        return {item.id: {key for run in runs.values() for key in run[item.id]} for item in task.questions}
    listed = runs.get(papers.PREPARED, {})
    return {question: keys[: task.listed] for question, keys in listed.items()}


def _has_list(task: Task) -> bool:
    return bool(task.listed) and task.reference
