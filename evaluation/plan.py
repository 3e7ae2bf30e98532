"""`medley evaluate all`: every suite in every form, one after the other; an existing report is not measured again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from evaluation.ancestry import describe_ancestry
from evaluation.baselines.trained import describe_trained
from evaluation.corpus.index import home, mark
from evaluation.models import configure, reranker_fingerprints
from evaluation.run import chosen_tasks, describe, judged_as
from evaluation.suite import Report, SuiteOptions, command, spell_option
from evaluation.suites.registry import SUITES, find_suite, suites_with
from evaluation.task import Task
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.models.registry import Models
from search.settings import Settings

QUICK_QUERIES: Final = 50
VERSION: Final = "evaluation-3"
"""Part of a report's identity: it changes when the same models and data would give other rows."""


def plan(options: SuiteOptions, quick: bool = False) -> Iterator[tuple[str, SuiteOptions]]:
    """Every (suite, options) of `all`; `quick`: a fixed sample of each suite's first form, without the pool's 39k.

    Options of `Suite.in_all` go to their suite alone. Raises `InvalidInput` for others that some suite does not know.
    """
    accepted = {option for suite in SUITES.values() for option in suite.in_all}
    for option in options.chosen:
        if option not in accepted:
            raise InvalidInput(
                f"{spell_option(option)} is for {suites_with(option)}, one at a time, not for all", field=option
            )
    for suite in SUITES.values():
        own = options.only(suite.in_all)
        if suite.standalone is not None:
            own = replace(own, simple=False)
        if not quick:
            yield from ((suite.name, replace(own, **form)) for form in suite.forms)
        elif suite.quick and suite.forms:
            yield suite.name, replace(own, **suite.forms[0], queries=own.queries or QUICK_QUERIES)


def require_standalone_models(options: SuiteOptions, settings: Settings) -> None:
    """Raise where a model of a standalone suite can't be opened: before `all` begins, not hours later."""
    for suite in SUITES.values():
        if suite.standalone is not None and suite.forms:
            suite.standalone.require(settings, options.only(suite.in_all))


def identity(name: str, options: SuiteOptions, settings: Settings) -> tuple[str, str]:
    """The command of a report, and SHA-256 of all that decides it: the command, the data, the models, the settings."""
    standalone = find_suite(name, options).standalone
    if standalone is not None:
        printed, decided = standalone.identify(settings, options)
    else:
        _, tasks = chosen_tasks(name, options, settings)
        printed = command(name, options)
        decided = [_identify(task, options, home(settings)) for task in tasks]
    text = json.dumps([VERSION, printed, decided], sort_keys=True, default=str)
    return printed, sha256(text.encode("utf-8", "replace")).hexdigest()


def _identify(task: Task, options: SuiteOptions, settings: Settings) -> dict[str, Any]:
    collection = kinds.load(task.corpus.name, task.corpus.kind, settings.collections)
    further = {"systems": describe_trained(options.systems)} if options.systems else {}
    return {
        **further,
        "corpus": mark(task.corpus, configure(task, settings)),
        "questions": [str(question) for question in task.questions],
        "judgements": [task.judgements, task.strict],
        "measures": [task.measures, task.unit, task.candidates, task.reference, task.depth],
        "collection": _spell_collection(collection),
        "reranking": reranker_fingerprints(collection, settings) or None if options.rerank else None,
        "searched": [settings.window, settings.candidates, settings.form, settings.device],
    }


def _spell_collection(collection: Collection) -> str:
    """The collection as text, as it was when reports were kept: `PassageParts` was `Parts`, and no name had a weight."""
    return str(collection).replace("PassageParts(", "Parts(").replace(", name_weight=0.0", "")


def renew(report: Report, name: str, options: SuiteOptions, settings: Settings) -> Report:
    """A kept report with today's notes, published rows and ancestry: a change of these is no reason to measure again.

    That of a standalone suite stays as it is, since its notes are measured.
    """
    if find_suite(name, options).standalone is not None:
        return report
    _, tasks = chosen_tasks(name, options, settings)
    ancestry = describe_ancestry(Models(home(settings)), judged_as(name, options), tasks[0], options.rerank)
    return report | describe(tasks, report["rows"], report["tests"]) | {"ancestry": ancestry}


def find_kept(file: Path, identity: str) -> Report | None:
    """The report in `file` where it has this identity."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("identity") == identity else None
