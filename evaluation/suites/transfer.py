"""The suite `transfer`: what each stage gains over the simple system, over data sets left out of training.

Choices are made by it: the mean over data sets of the gain in nDCG@10, and the worst of them. A data set of which a model
is known to have seen a question or a judged text is measured, and not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluation import stages
from evaluation.ancestry import describe_ancestry, is_seen
from evaluation.baselines.simple import rank_simple
from evaluation.corpus.index import home, mark, open_corpus
from evaluation.measures import Values, parse, per_query
from evaluation.models import open_session, require_models
from evaluation.statistics import Estimate, interval, mean_of_means
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites import (
    answers,
    check_covid,
    citations,
    cystic_fibrosis,
    evidence,
    experts,
    forms,
    lay,
    press,
    scifact,
)
from evaluation.task import Task
from evaluation.tuning.choosing import losses
from mappings.errors import InvalidInput
from search.models.registry import Models
from search.settings import Settings

NAME: Final = "transfer"
MEASURE: Final = "nDCG@10"
GAIN: Final = "gain"
PROMPTS: Final = 300
OF_EACH_FORM: Final = 100
DATA_SETS: Final[Mapping[str, Callable[[Settings], Task]]] = {
    "experts": lambda settings: experts.tasks(settings)[-1],
    "citations": citations.task,
    "lay": lay.task,
    "answers": answers.task,
    "cystic-fibrosis": cystic_fibrosis.task,
    "press": press.task,
    "scifact": scifact.task,
    "check-covid": check_covid.task,
    "evidence": lambda settings: evidence.test_task(settings).sampled(PROMPTS),
    "forms": lambda settings: forms.tasks(settings)[0].sampled(OF_EACH_FORM),
}
"""The data sets by the suite that they come from; of the experts' questions, those of the years that are never trained on."""
_NOTES: Final = (
    "gain: nDCG@10 above that of the simple system (BM25 and untrained MiniLM at equal shares), for the same questions",
    "the mean is over data sets, each counting alike; its interval resamples the questions of each",
    f"evidence: a fixed sample of {PROMPTS} prompts of test articles; forms: {OF_EACH_FORM} abstracts in each form",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A data set with nDCG@10 of each question by system, shape (questions,), and what the models saw of it."""

    name: str
    values: Mapping[str, Values]
    ancestry: Sequence[Report]

    @property
    def is_left_out(self) -> bool:
        """Whether no model is known to have seen any of it."""
        return not is_seen(self.ancestry)

    def gain(self, system: str) -> Values:
        """What a system gains over the simple one, shape (questions,)."""
        return self.values[system] - self.values[stages.SIMPLE]


class TransferSuite:
    """The suite, which searches one collection for each data set and a second one for the simple system."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises what the suites of the data sets raise, `Unavailable` without MiniLM."""
        started = time.perf_counter()
        whole = {name: find(settings) for name, find in DATA_SETS.items()}
        tasks = {name: task.sampled(options.queries) for name, task in whole.items()}
        asked, every = (sum(len(task.questions) for task in found.values()) for found in (tasks, whole))
        require_models(list(tasks.values()), settings, options.rerank)
        measured = [_measure(name, task, settings, options, progress) for name, task in tasks.items()]
        return {
            "suite": NAME,
            "collection": "",
            "queries": asked,
            "sample": {"queries": asked, "of": every, "fixed": True} if asked < every else None,
            **describe_gains(measured),
            "published": [],
            "command": command(NAME, options),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where a model can't be opened."""
        require_models(list(_tasks(settings, options).values()), settings, options.rerank)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: the data sets and the models."""
        found = [
            [name, mark(task.corpus, home(settings)), [str(item) for item in task.questions], task.judgements]
            for name, task in _tasks(settings, options).items()
        ]
        return command(NAME, options), [found, settings.form, settings.device]


SUITE: Final = Suite(
    NAME,
    "what each stage gains over the simple system, on data sets left out of training",
    forms=(),  # it needs the extra "train", which the other suites do not
    standalone=TransferSuite(),
)


def describe_gains(measured: Sequence[Measured]) -> Report:
    """Rows, tests, notes and ancestry: the mean gain of each system over the data sets that count, and the gain on each.

    Raises `InvalidInput` if no data set counts.
    """
    counted = [item for item in measured if item.is_left_out]
    if not counted:
        names = ", ".join(item.name for item in measured)
        raise InvalidInput(f"the models have seen something of every data set: {names}", field="models")
    systems = [name for name in measured[0].values if name != stages.SIMPLE]
    rows: list[Report] = [{"system": stages.SIMPLE, "measures": _absolute(measured, stages.SIMPLE)}]
    rows += [{"system": name, "measures": _gains(name, measured, counted)} for name in systems]
    seen = [item.name for item in measured if not item.is_left_out]
    unknown = [item.name for item in counted if any(row["state"] == "unknown" for row in item.ancestry)]
    lost = [(name, lost) for name in systems for lost in losses({item.name: item.gain(name) for item in counted})]
    notes = [
        *_NOTES,
        f"{stages.SIMPLE}: nDCG@10 itself",
        *([f"not counted, because a model has seen some of it: {', '.join(seen)}"] if seen else []),
        *([f"not recorded, whether a model has seen some of it: {', '.join(unknown)}"] if unknown else []),
        *(f"{system} loses on {name} by more than its interval" for system, name in lost),
    ]
    ancestry = [row | {"model": f"{row['model']} ({item.name})"} for item in measured for row in item.ancestry]
    return {"rows": rows, "tests": [], "notes": notes, "ancestry": ancestry}


def _absolute(measured: Sequence[Measured], system: str) -> dict[str, dict[str, float]]:
    return {item.name: interval(item.values[system]).as_json() for item in measured}


def _gains(system: str, measured: Sequence[Measured], counted: Sequence[Measured]) -> dict[str, dict[str, float]]:
    mean: Estimate = mean_of_means([item.gain(system) for item in counted])
    each = {item.name: interval(item.gain(system)).as_json() for item in measured}
    return {GAIN: mean.as_json(), **each}


def _tasks(settings: Settings, options: SuiteOptions) -> dict[str, Task]:
    return {name: find(settings).sampled(options.queries) for name, find in DATA_SETS.items()}


def _measure(name: str, task: Task, settings: Settings, options: SuiteOptions, progress: Progress | None) -> Measured:
    simple = rank_simple(task, settings, progress)
    medley = open_corpus(task.corpus, settings)
    session = open_session(medley, task, options.rerank)
    runs = {stages.SIMPLE: simple} | stages.run_task(session, progress)
    measure = parse(MEASURE)
    values = {system: per_query([measure], task.judgements, run)[measure] for system, run in runs.items()}
    return Measured(name, values, describe_ancestry(Models(medley.settings), name, task, options.rerank))
