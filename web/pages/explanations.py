"""The explanation of a hit: a table whose last column adds up, and the curve of its document's sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import shorten
from typing import Final

from mappings.documents import parse_passage_id
from mappings.errors import InvalidInput
from search.discourse.curve import CurvePoint, DiscourseCurve
from search.pipeline.results import Explanation
from search.ranking.candidates import LegContribution
from web.pages.formatting import count_noun

NAMES: Final = {"bm25": "Words (BM25)", "dense": "Meaning (dense)", "discourse": "Entity and aspect (discourse)"}
STAGES: Final = {"last": "Cross-encoder", "first": "Small cross-encoder"}
_QUOTED: Final = 120
WIDTH: Final = 600
HEIGHT: Final = 100
"""Of the picture of a curve, in its own units."""
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
class CurveLine:
    """One line of a curve: what it is, its points in the picture, and where it is highest, in words."""

    kind: str
    name: str
    points: str
    highest: str


@dataclass(frozen=True, slots=True)
class CurveView:
    """A picture of `WIDTH` by `HEIGHT`: lines over the sentences of a document, and its passages as bands (x, width, own).

    `words` say what it shows, `zero` is the height of a cosine of 0.
    """

    lines: Sequence[CurveLine]
    bands: Sequence[tuple[float, float, bool]]
    words: str
    zero: float
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class ExplanationTable:
    """The lines of the fused score, then those of the final score, the words that matched, and the curve if there is one."""

    rows: Sequence[ExplanationRow]
    terms: Sequence[str]
    curve: CurveView | None = None


def explanation_table(explain: Explanation, passage: str = "") -> ExplanationTable:
    """The table of one hit's explanation; see `search.pipeline.explanation`. `passage` is the id of the hit's."""
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
    return ExplanationTable(rows, explain.matched_terms, curve_view(explain.discourse, passage))


def curve_view(curve: DiscourseCurve | None, passage: str = "") -> CurveView | None:
    """The picture of a curve; None for one without a sentence. `passage` is the id of the passage that was found, if any."""
    if curve is None or not curve.points:
        return None
    own = None
    with suppress(InvalidInput):  # it comes from an address
        own = parse_passage_id(passage)[2]
    values = {"whole": [item.whole for item in curve.points]}
    for kind, column in (("entity", [p.entity for p in curve.points]), ("aspect", [p.aspect for p in curve.points])):
        known = [value for value in column if value is not None]
        values |= {kind: known} if known else {}
    low = min(0.0, *(min(column) for column in values.values()))
    names = {"whole": "both", "entity": f"“{curve.entity}”", "aspect": f"“{curve.aspect}”"}
    lines = [
        CurveLine(kind, names[kind], _points(column, low), _highest(column, curve.points))
        for kind, column in values.items()
    ]
    return CurveView(lines, _bands(curve.points, own), _in_words(curve), _y(0.0, low))


def _points(column: Sequence[float], low: float) -> str:
    """The points of a line; that of one sentence alone is drawn across the whole width."""
    step = WIDTH / len(column)
    heights = [f"{_y(value, low):.1f}" for value in column]
    if len(column) == 1:
        return f"0,{heights[0]} {WIDTH},{heights[0]}"
    return " ".join(f"{(place + 0.5) * step:.1f},{height}" for place, height in enumerate(heights))


def _y(value: float, low: float) -> float:
    return round((1.0 - value) / (1.0 - low) * HEIGHT, 1)


def _bands(points: Sequence[CurvePoint], own: int | None) -> list[tuple[float, float, bool]]:
    """Every other passage, and the one that was found."""
    step = WIDTH / len(points)
    counts = Counter(item.passage for item in points)
    bands, start = [], 0
    for place, (passage, count) in enumerate(counts.items()):
        if passage == own or place % 2:
            bands.append((round(start * step, 1), round(count * step, 1), passage == own))
        start += count
    return bands


def _highest(column: Sequence[float], points: Sequence[CurvePoint]) -> str:
    place = max(range(len(column)), key=lambda number: (column[number], -number))
    quoted = shorten(points[place].text, _QUOTED, placeholder=" …")
    return f"sentence {place + 1} ({column[place]:.2f}): “{quoted}”"


def _in_words(curve: DiscourseCurve) -> str:
    passages = len({item.passage for item in curve.points})
    read = f"{count_noun(len(curve.points), 'sentence')} in {count_noun(passages, 'passage')}"
    beyond = f"; {curve.left_out:,} further ones are not read" if curve.left_out else ""
    return f"How near each sentence is to what was asked, from left to right: {read}{beyond}."


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
