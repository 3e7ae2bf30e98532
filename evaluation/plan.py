"""`medley evaluate all`: every suite in every form, one after the other, and what is there already is not run again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from evaluation.index import home, mark
from evaluation.run import ONLY_FOR, SUITES, Options, Report, chosen_tasks, command, given, shown
from evaluation.suites.radiology import suite as radiology
from evaluation.task import Task
from mappings import collection as kinds
from mappings.errors import InvalidInput
from search.models.registry import Models
from search.ranking.cascade import RerankStages
from search.settings import Settings

QUICK_QUERIES: Final = 50
VERSION: Final = "evaluation-3"
"""Part of a report's identity: it changes when the same models and data would give other rows."""


def plan(options: Options, quick: bool = False) -> Iterator[tuple[str, Options]]:
    """Every (suite, options) of `all`; `quick`: a fixed sample of each suite's first form, without the pool's 39k.

    The models of `radiology` go to it alone. Raises `InvalidInput` for other options that some suite does not know.
    """
    without_models = replace(options, folds=None, baseline="")
    for option in given(without_models):
        raise InvalidInput(
            f"{shown(option)} is for {', '.join(ONLY_FOR[option])}, one at a time, not for all", field=option
        )
    for suite in SUITES.values():
        own = options if suite.name == radiology.SUITE else without_models
        if not quick:
            yield from ((suite.name, replace(own, **form)) for form in suite.forms)
        elif suite.quick and suite.forms:
            yield suite.name, replace(own, **suite.forms[0], queries=own.queries or QUICK_QUERIES)


def identity(name: str, options: Options, settings: Settings) -> tuple[str, str]:
    """The command of a report, and SHA-256 of all that decides it: the command, the data, the models, the settings."""
    if name == radiology.SUITE:
        printed, decided = radiology.decided(
            settings, options.queries, options.folds, options.baseline, options.variants
        )
    else:
        whole, tasks = chosen_tasks(name, options, settings)
        printed = command(whole.suite, options)
        decided = [_decided(task, options, home(settings)) for task in tasks]
    text = json.dumps([VERSION, printed, decided], sort_keys=True, default=str)
    return printed, sha256(text.encode("utf-8", "replace")).hexdigest()


def _decided(task: Task, options: Options, settings: Settings) -> dict[str, Any]:
    collection = kinds.load(task.corpus.name, task.corpus.kind, settings.collections)
    stages = Models(settings).rerank_stages(collection) if options.rerank else None
    return {
        "corpus": mark(task.corpus, settings),
        "questions": [str(question) for question in task.questions],
        "judgements": [task.judgements, task.strict],
        "measures": [task.measures, task.unit, task.candidates, task.reference, task.depth],
        "collection": str(collection),
        "reranking": _fingerprints(stages) if stages else None,
        "searched": [settings.window, settings.candidates, settings.form, settings.device],
    }


def _fingerprints(stages: RerankStages) -> list[str]:
    return [item.reranker.fingerprint for item in (stages.first, stages.last) if item is not None]


def kept(file: Path, identity: str) -> Report | None:
    """The report in `file` where it has this identity."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("identity") == identity else None
