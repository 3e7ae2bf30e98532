"""Measuring a collection in a fresh process, so that building the index does not count as memory of a search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from evaluation.bench.shared.commands import environment_of
from evaluation.corpus.index import home, open_corpus
from evaluation.suites import scifact
from evaluation.task import Task
from mappings.errors import MedleyError, Unavailable
from search.bootstrap import Medley
from search.settings import Settings, read

WARM_UP: Final = 20

Measurement = Callable[[Medley, str, Sequence[str], Sequence[str]], dict[str, float]]
"""(medley, collection, warm-up queries, queries) → figures."""


def prepare_collection(settings: Settings) -> Task:
    """SciFact's claims over its abstracts and the 39k distractors, indexed on the embedded engine."""
    task = scifact.task(settings, distractors=True)
    open_corpus(task.corpus, replace(settings, opensearch=""))
    return task


def measure_apart(module: str, mode: str, collection: str, settings: Settings) -> dict[str, float]:
    """The figures that `python -m module mode collection` prints. Raises `Unavailable` with its message when it fails."""
    child = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", module, mode, collection],
        env=os.environ | environment_of(settings) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise Unavailable(f"the measured process failed: {child.stderr.strip()[-500:]}", field=mode)
    figures: dict[str, float] = json.loads(child.stdout)
    return figures


def run_measurement(measurements: Mapping[str, Measurement]) -> None:
    """The measured process: read mode and collection from the command line, print the figures as JSON, and exit."""
    mode, collection = sys.argv[1:3]
    try:
        settings = read()
        claims = [question.text for question in scifact.task(settings).questions]
        train = [question.text for question in scifact.task(settings, split="train").questions]
        medley = Medley.open(home(settings))
        json.dump(measurements[mode](medley, collection, train[:WARM_UP], claims), sys.stdout)
    except MedleyError as problem:
        sys.exit(problem.message)
