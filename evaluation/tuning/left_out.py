"""`medley tune transfer`: one fusion and one share of the reranker for abstracts and articles, by the data sets left out.

The grids are those of `evaluation.tuning.weights`; the figure of an option is its gain over the simple system, as in the suite
`transfer`, and `evaluation.tuning.choosing` chooses. The report says what the choice gains on each data set that had no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluation import stages
from evaluation.baselines.simple import rank_simple
from evaluation.measures import Values, parse, per_query
from evaluation.models import require_models
from evaluation.statistics import interval, mean_of_means
from evaluation.suites.transfer import DATA_SETS, GAIN
from evaluation.task import Task
from evaluation.tuning import choosing, weights
from evaluation.tuning.choosing import Gains
from evaluation.tuning.weights import SHARES, Prepared, ScoredOrder, TuningOptions
from mappings.collection import Fusion
from mappings.errors import InvalidInput
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
    data_sets: dict[str, DataSet] = {}
    for name, task in tasks.items():
        simple = _measure_simple(task, settings, progress)
        data_sets[name] = DataSet(weights.prepare(task, settings, options, progress), simple)
    return describe_choice(data_sets, options, progress)


def _measure_simple(task: Task, settings: Settings, progress: stages.Progress | None) -> Values:
    measure = parse(weights.MEASURE)
    return per_query([measure], task.judgements, rank_simple(task, settings, progress))[measure]


def describe_choice(
    data_sets: Mapping[str, DataSet], options: TuningOptions, progress: stages.Progress | None = None
) -> Report:
    """The report on data sets whose legs are ranked; it needs two."""
    fusions = sorted(weights.fusions(), key=weights.distance)  # of equally good fusions the more even one is safer
    fused = [_gains_of_fusion(data_sets, fusion) for fusion in fusions]
    best, without = choosing.choose(fused), choosing.choose_without(fused)
    reranks = options.rerank and all(item.prepared.session.rerankers for item in data_sets.values())
    places = {best, *without.values()} if reranks else set()
    grids = {place: _rerank_grid(data_sets, fusions[place], progress) for place in sorted(places)}
    shares, shares_without = grids.get(best, []), {key: choosing.choose_without(grid) for key, grid in grids.items()}
    chosen = {"fusion": weights.describe_fusion(fusions[best]), "rerank": _share(shares)}
    left_out = {
        name: _without(name, fusions[place], fused[place], grids.get(place, []), shares_without.get(place, {}))
        for name, place in without.items()
    }
    return {
        "tune": NAME,
        "measure": GAIN,
        "queries": sum(item.simple.size for item in data_sets.values()),
        "grid": [weights.describe_fusion(fusion) | _row(gains) for fusion, gains in zip(fusions, fused, strict=True)],
        "rerank": [{"weight": share} | _row(gains) for share, gains in zip(SHARES, shares, strict=bool(shares))],
        "chosen": chosen,
        "left_out": [row for row, _ in left_out.values()],
        f"{GAIN}_left_out": mean_of_means([values for _, values in left_out.values()]).as_json(),
        "notes": _notes(data_sets),
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


def _share(shares: Sequence[Gains]) -> float | None:
    return SHARES[choosing.choose(shares)] if shares else None


def _without(
    name: str, fusion: Fusion, fused: Gains, shares: Sequence[Gains], chosen: Mapping[str, int]
) -> tuple[Report, Values]:
    """What a data set gains by the fusion and the share that all others choose."""
    place = chosen.get(name)
    values = fused[name] if place is None else shares[place][name]
    row = {"data_set": name, "fusion": weights.describe_fusion(fusion), GAIN: interval(values).as_json()}
    return row | {"rerank": None if place is None else SHARES[place]}, values


def _row(gains: Gains) -> Report:
    judged = choosing.judge(gains)
    worst = {"data_set": judged.worst, "value": round(float(gains[judged.worst].mean()), 6)}
    return {GAIN: judged.gain.as_json(), "worst": worst, "loses": list(judged.loses)}


def _notes(data_sets: Mapping[str, DataSet]) -> list[str]:
    asked = ", ".join(f"{name} {item.simple.size}" for name, item in data_sets.items())
    return [
        "gain: nDCG@10 above that of the simple system, as in `medley evaluate transfer`; the mean is over data sets",
        "an option that loses on a data set by more than its interval is not chosen while another does not",
        f"questions: {asked}",
    ]
