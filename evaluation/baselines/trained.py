"""The trained systems of papers in a folder: matching networks and discourse models, or the runs that made them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from evaluation.baselines.discourse import describe_discourse, rank_discourse
from evaluation.baselines.matchers import describe_matchers, rank_matchers
from evaluation.measures import Run
from evaluation.stages import Progress
from evaluation.task import Task
from mappings.errors import NotFound


def describe_trained(folder: Path) -> dict[str, str]:
    """What identifies each trained system in a folder, by name. Raises `NotFound` if it holds none, `ModelError`."""
    found = {**describe_matchers(folder), **describe_discourse(folder)} if folder.is_dir() else {}
    if not found:
        raise NotFound(f"{folder} holds no trained matching network and no discourse model", field="systems")
    return found


def rank_trained(
    task: Task, folder: Path, chosen: Mapping[str, Collection[str]], progress: Progress | None = None
) -> Iterator[tuple[str, Run]]:
    """(name, question → judged keys, best first) of each system in `folder`, among the `chosen` of a question."""
    yield from rank_matchers(task, folder, chosen, progress)
    yield from rank_discourse(task, folder, chosen)
