"""What a system gains over another in each part of the questions, such as a year, and over all parts alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from evaluation import stages
from evaluation.measures import Judgements, Run, parse, per_query
from evaluation.rows import paired_test
from evaluation.statistics import mean_of_means
from evaluation.task import SEPARATOR, Task

PAIRS: Final = ((stages.RERANKED, stages.SIMPLE), (stages.FUSED, stages.SIMPLE))


def gains_by_stratum(task: Task, runs: Mapping[str, Run], judgements: Judgements) -> list[dict[str, Any]]:
    """For each pair of systems that were run: the difference in the task's deciding measure, by stratum, and its mean over these.

    The JSON form is `{"system", "against", "measure", "by", "mean", "strata": [{"name", "queries", "difference", "p"}]}`.
    None for a task that does not say what its strata are.
    """
    if not task.strata:
        return []
    measure = parse(task.measures[0])
    names = {question.id: question.stratum for question in task.questions}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, query in enumerate(judgements):
        if names.get(query):
            places[names[query]].append(place)
    found = []
    for system, against in PAIRS:
        if not places or not {system, against} <= runs.keys():
            continue
        ours, theirs = (per_query([measure], judgements, runs[name])[measure] for name in (system, against))
        suffix = f"{SEPARATOR}{task.variant}" if task.variant else ""
        pair = (f"{system}{suffix}", f"{against}{suffix}")
        strata = []
        for name, rows in sorted(places.items(), key=lambda item: (len(item[0]), item[0])):
            test = paired_test(*pair, measure, ours[rows], theirs[rows])
            strata.append({"name": name, "queries": len(rows), "difference": test["difference"], "p": test["p"]})
        mean = mean_of_means([ours[rows] - theirs[rows] for rows in places.values()]).as_json()
        named = {"system": pair[0], "against": pair[1], "measure": str(measure), "by": task.strata}
        found.append({**named, "mean": mean, "strata": strata})
    return found
