"""A hit's explanation as a table whose last column adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from search.pipeline.results import Explanation
from search.ranking.candidates import LegContribution

NAMES: Final = {"bm25": "Words (BM25)", "dense": "Meaning (dense)"}
STAGES: Final = {"last": "Cross-encoder", "first": "Small cross-encoder"}
BELOW: Final = {"not_reranked": "Below what was reranked", "below": "Not passed on to the last stage"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of arithmetic: `value` × `weight` = `share`. Cells that have no meaning here are empty."""

    name: str
    rank: str
    score: str
    value: str
    weight: str
    share: str
    kind: str = "part"


@dataclass(frozen=True, slots=True)
class Table:
    """The lines, first of the fusion, then of the final score, and the words that matched."""

    rows: Sequence[Row]
    terms: Sequence[str]


def table(explain: Explanation) -> Table:
    """The table of one hit's `explain`; see `search.pipeline.explanation`."""
    fused, final, cross = explain.fused, explain.final, explain.reranker
    rows = [_leg(name, leg) for name, leg in explain.legs.items()]
    rows.append(Row("Fused", "", "", "", "", _number(fused), "sum"))
    if cross is not None:
        rows.append(Row("Fused", "", "", _number(fused), _number(1 - cross.weight), _number(final["fused"])))
        rows.append(
            Row(
                STAGES[cross.stage],
                "",
                f"{cross.logit:.2f}",
                _number(cross.normalised),
                _number(cross.weight),
                _number(final["reranker"]),
            )
        )
    rows += [Row(text, "", "", "", "", _number(final[name])) for name, text in BELOW.items() if name in final]
    rows.append(Row("Score", "", "", "", "", _number(explain.score), "total"))
    return Table(rows, explain.matched_terms)


def _leg(name: str, leg: LegContribution) -> Row:
    cells = (_number(value) for value in (leg.normalised, leg.weight, leg.contribution))
    return Row(NAMES.get(name, name), str(leg.rank), f"{leg.score:.3f}", *cells)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".replace("-", "\N{MINUS SIGN}")
