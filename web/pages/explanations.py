"""The explanation of a hit as a table whose last column adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from search.pipeline.results import Explanation
from search.ranking.candidates import LegContribution

NAMES: Final = {"bm25": "Words (BM25)", "dense": "Meaning (dense)"}
STAGES: Final = {"last": "Cross-encoder", "first": "Small cross-encoder"}
ROUNDING: Final = 1e-5
"""How far the numbers of a later page can be off, because its cursor holds rounded scores."""


@dataclass(frozen=True, slots=True)
class ExplanationRow:
    """One line of arithmetic: `value` × `weight` = `share`. Cells without a meaning here are empty."""

    name: str
    rank: str
    score: str
    value: str
    weight: str
    share: str
    kind: str = "part"


@dataclass(frozen=True, slots=True)
class ExplanationTable:
    """The lines of the fused score, then those of the final score, and the words that matched."""

    rows: Sequence[ExplanationRow]
    terms: Sequence[str]


def explanation_table(explain: Explanation) -> ExplanationTable:
    """The table of one hit's explanation; see `search.pipeline.explanation`."""
    fused, final, cross = explain.fused, explain.final, explain.reranker
    rows = [_leg(name, leg) for name, leg in explain.legs.items()]
    rows.append(_sum("Fused", fused, "sum"))
    if cross is not None or "level" in final or abs(final["fused"] - fused) > ROUNDING:
        weight = final["fused"] / fused if fused else None
        rows.append(ExplanationRow("Fused", "", "", _number(fused), _number(weight), _number(final["fused"])))
    if cross is not None:
        cells = (_number(cross.normalised), _number(cross.weight), _number(final["reranker"]))
        rows.append(ExplanationRow(STAGES[cross.stage], "", _number(_probability(cross.logit)), *cells))
    if "level" in final:
        rows.append(_sum("Level", final["level"]))
    rows.append(_sum("Score", explain.score, "total"))
    return ExplanationTable(rows, explain.matched_terms)


def _leg(name: str, leg: LegContribution) -> ExplanationRow:
    cells = (_number(value) for value in (leg.normalised, leg.weight, leg.contribution))
    score = "" if leg.score is None else _number(leg.score) if leg.score >= 0 else "below 0"
    return ExplanationRow(NAMES.get(name, name), str(leg.rank), score, *cells)


def _sum(name: str, share: float, kind: str = "part") -> ExplanationRow:
    return ExplanationRow(name, "", "", "", "", _number(share), kind)


def _probability(logit: float) -> float:
    """A logit as people read it: between 0 and 1."""
    return 1 / (1 + math.exp(-max(-700.0, logit)))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
