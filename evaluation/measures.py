"""Measures of a ranking: values with a name that parses back, computed by ir_measures.

Ties never reach ir_measures: a run is a sequence of ids in the one order (score descending, then id), passed on with
strictly decreasing scores. Every call uses one gain setting, the judged grade itself, because ir_measures 0.4 mixes gain
settings within a call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mappings.errors import InvalidInput, Unavailable

Values = NDArray[np.float64]
Judgements = Mapping[str, Mapping[str, int]]
"""Query → judged id → grade; 0 and below is not relevant."""
Run = Mapping[str, Sequence[str]]
"""Query → ids, best first, each once."""

KINDS: Final = ("nDCG", "RR", "AP", "R", "Rprec", "Success", "P")
NEED_CUTOFF: Final = frozenset({"R", "Success", "P"})
_NAME: Final = re.compile(r"([A-Za-z]+)(?:@([1-9]\d{0,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure, as ir_measures spells it: `nDCG@10`, `RR`, `AP`, `R@100`, `Success@1`, `P@5`.

    Raises `InvalidInput` for an unknown kind or a missing cutoff.
    """

    kind: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(f"unknown measure {self.kind!r}; known are {', '.join(KINDS)}", field="measure")
        if self.cutoff is None and self.kind in NEED_CUTOFF:
            raise InvalidInput(f"{self.kind} needs a cutoff, such as {self.kind}@10", field="measure")
        if self.cutoff is not None and self.cutoff < 1:
            raise InvalidInput(f"the cutoff of {self.kind} is {self.cutoff}; it is 1 or more", field="measure")

    def __str__(self) -> str:
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"


def parse(name: str) -> Measure:
    """The measure of that name; `parse(str(measure)) == measure`. Raises `InvalidInput`."""
    match = _NAME.fullmatch(name.strip())
    if not match:
        raise InvalidInput(f"{name!r} is not a measure; one looks like nDCG@10, RR or Success@1", field="measure")
    return Measure(match[1], int(match[2]) if match[2] else None)


def ordered(scores: Mapping[str, float]) -> list[str]:
    """Ids in the one order: score descending, then id."""
    return sorted(scores, key=lambda identifier: (-scores[identifier], identifier))


def per_query(measures: Sequence[Measure], judgements: Judgements, run: Run) -> dict[Measure, Values]:
    """For each measure the values of the judged queries, shape (queries,), in the order of `judgements`.

    A judged query that the run lacks counts 0. Raises `Unavailable` without the extra `eval`,
    `InvalidInput` when no query is judged or a ranking contains an id twice.
    """
    if not judgements:
        raise InvalidInput("there is no judged query: at least one needs a relevant document", field="judgements")
    row = {query: number for number, query in enumerate(judgements)}
    found = {measure: np.zeros(len(row)) for measure in measures}
    foreign = _ir_measures()
    # parse_measure spells every measure as we do, so the names lead back to ours.
    wanted = {str(foreign.parse_measure(str(measure))): measure for measure in measures}
    qrels, scored = _renamed(judgements, run)
    for value in foreign.iter_calc([foreign.parse_measure(name) for name in wanted], qrels, scored):
        found[wanted[str(value.measure)]][int(value.query_id)] = value.value
    return found


def _renamed(judgements: Judgements, run: Run) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Queries and ids as plain numbers: an id can contain anything, trec_eval's strings can not."""
    names: dict[str, str] = {}
    qrels, scored = {}, {}
    for number, (query, grades) in enumerate(judgements.items()):
        ranking = run.get(query, ())
        if len(set(ranking)) != len(ranking):
            raise InvalidInput(f"the ranking of query {query[:80]!r} contains an id twice", field="run")
        qrels[str(number)] = {_name(names, key): max(grade, 0) for key, grade in grades.items()}
        scored[str(number)] = {_name(names, key): float(len(ranking) - rank) for rank, key in enumerate(ranking)}
    return qrels, scored


def _name(names: dict[str, str], identifier: str) -> str:
    return names.setdefault(identifier, str(len(names)))


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ModuleNotFoundError as error:
        raise Unavailable("evaluation needs ir-measures: pip install -e '.[eval]'", field="eval") from error
    return ir_measures
