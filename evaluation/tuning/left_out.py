"""`medley tune transfer`: one fusion and one share of the reranker for abstracts and articles, by the data sets left out.

The grids are those of `evaluation.tuning.weights`; the figure of an option is its gain over the simple system, as in the
suite `transfer`, and `evaluation.tuning.choosing` chooses. The report says what the choice gains on each data set that had
no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluation import stages
from evaluation.ancestry import describe_ancestry, is_seen
from evaluation.baselines.simple import rank_simple
from evaluation.measures import Values, parse, per_query
from evaluation.models import require_models
from evaluation.statistics import interval, mean_of_means
from evaluation.suites.transfer import DATA_SETS, GAIN
from evaluation.task import Task
from evaluation.tuning import weights
from evaluation.tuning.choosing import Choice, Gains, Judged
from evaluation.tuning.weights import SHARES, Prepared, ScoredOrder, TuningOptions
from mappings.errors import InvalidInput
from mappings.stages import Fusion
from search.models.registry import Models
from search.ranking.fusion import fuse
from search.settings import Settings

NAME: Final = "transfer"
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set with its legs' rankings, and nDCG@10 of the simple system for each question, shape (questions,)."""

    prepared: Prepared
    simple: Values


def run(settings: Settings, options: TuningOptions, progress: stages.Progress | None = None) -> Report:
    """The report: both grids by mean gain over data sets, what was chosen, and what each data set gains left out.

    Raises `InvalidInput` for judgements of one's own, and what the data sets, the models and untrained MiniLM raise.
    """
    if options.folder is not None:
        raise InvalidInput("`medley tune transfer` has its own data sets; leave out --folder", field="folder")
    tasks = {name: find(settings).sampled(options.queries) for name, find in DATA_SETS.items()}
    require_models(list(tasks.values()), settings, options.rerank)
    models = Models(settings)
    seen = [name for name, task in tasks.items() if is_seen(describe_ancestry(models, name, task, options.rerank))]
    data_sets: dict[str, DataSet] = {}
    for name, task in tasks.items():
        if name not in seen:
            simple = _measure_simple(task, settings, progress)
            data_sets[name] = DataSet(weights.prepare(task, settings, options, progress), simple)
    return describe_choice(data_sets, options, progress, seen)


def _measure_simple(task: Task, settings: Settings, progress: stages.Progress | None) -> Values:
    measure = parse(weights.MEASURE)
    return per_query([measure], task.judgements, rank_simple(task, settings, progress))[measure]


def describe_choice(
    data_sets: Mapping[str, DataSet],
    options: TuningOptions,
    progress: stages.Progress | None = None,
    seen: Sequence[str] = (),
) -> Report:
    """The report on data sets whose legs are ranked; it needs two. `seen` names those that the models saw something of."""
    fusions = sorted(weights.fusions(), key=weights.distance)  # of equally good fusions the more even one is safer
    fused = [_gains_of_fusion(data_sets, fusion) for fusion in fusions]
    choice = Choice(fused)
    best, without = choice.best, {name: choice.without(name) for name in data_sets}
    reranks = options.rerank and all(item.prepared.session.rerankers for item in data_sets.values())
    places = {best, *without.values()} if reranks else set()
    grids = {place: Choice(_rerank_grid(data_sets, fusions[place], progress)) for place in sorted(places)}
    shares = grids.get(best)
    chosen = {"fusion": weights.describe_fusion(fusions[best]), "rerank": SHARES[shares.best] if shares else None}
    left_out = {
        name: _without(name, fusions[place], fused[place], _share(name, grids.get(place)))
        for name, place in without.items()
    }
    return {
        "tune": NAME,
        "measure": GAIN,
        "queries": sum(item.simple.size for item in data_sets.values()),
        "grid": [weights.describe_fusion(fusion) | _row(choice.judge(place)) for place, fusion in enumerate(fusions)],
        "rerank": [{"weight": share} | _row(shares.judge(place)) for place, share in enumerate(SHARES)]
        if shares
        else [],
        "chosen": chosen,
        "left_out": [row for row, _ in left_out.values()],
        f"{GAIN}_left_out": mean_of_means([values for _, values in left_out.values()]).as_json(),
        "notes": _notes(data_sets, seen),
        "command": weights.command(NAME, options),
    }


def _gains_of_fusion(data_sets: Mapping[str, DataSet], fusion: Fusion) -> Gains:
    return {
        name: weights.measure_orders(
            item.prepared.task, [fuse(found.answer.rankings, fusion) for found in item.prepared.retrieved]
        )
        - item.simple
        for name, item in data_sets.items()
    }


def _rerank_grid(data_sets: Mapping[str, DataSet], fusion: Fusion, progress: stages.Progress | None) -> list[Gains]:
    """The gains beside a fusion at every share of the reranker."""
    known: dict[str, Sequence[ScoredOrder]] = {
        name: weights.score_orders(item.prepared, fusion, progress) for name, item in data_sets.items()
    }
    return [
        {
            name: weights.rerank_orders(item.prepared, known[name], share) - item.simple
            for name, item in data_sets.items()
        }
        for share in SHARES
    ]


def _share(name: str, grid: Choice | None) -> tuple[float, Values] | None:
    """The share of the reranker that all other data sets choose, and what this one gains by it."""
    if grid is None:
        return None
    place = grid.without(name)
    return SHARES[place], grid.options[place][name]


def _without(name: str, fusion: Fusion, fused: Gains, shared: tuple[float, Values] | None) -> tuple[Report, Values]:
    """What a data set gains by the fusion and the share that all others choose."""
    share, values = shared or (None, fused[name])
    row = {"data_set": name, "fusion": weights.describe_fusion(fusion), GAIN: interval(values).as_json()}
    return row | {"rerank": share}, values


def _row(judged: Judged) -> Report:
    worst = {"data_set": judged.worst, "value": round(judged.least, 6)}
    return {GAIN: judged.gain.as_json(), "worst": worst, "loses": list(judged.loses)}


def _notes(data_sets: Mapping[str, DataSet], seen: Sequence[str]) -> list[str]:
    asked = ", ".join(f"{name} {item.simple.size}" for name, item in data_sets.items())
    return [
        "gain: nDCG@10 above that of the simple system, as in `medley evaluate transfer`; the mean is over data sets",
        "an option that loses on a data set by more than its interval is not chosen while another does not",
        f"questions: {asked}",
        *([f"left out, because a model has seen some of it: {', '.join(seen)}"] if seen else []),
    ]
