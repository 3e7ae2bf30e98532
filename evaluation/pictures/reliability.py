"""The picture of a report of `nothing-here`: how often what was told as probable was so, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evaluation.pictures.drawing import INK, LINES, as_svg, drawing
from evaluation.suites.nothing_here.suite import NAME

Report = Mapping[str, Any]
TITLE: Final = "How often an answer was there, by the probability told"
SIZE: Final = 4.6
"""Inches, of both sides."""
LARGEST: Final = 420
"""The area of the mark of all pages, in square points; a range's mark has its share of it."""


def has_reliability(report: Report) -> bool:
    """Whether there is something to draw."""
    return report.get("suite") == NAME and bool(report.get("reliability"))


def describe_reliability(report: Report) -> str:
    """What the picture shows, for those who do not see it."""
    told = (f"{item['mean']:.2f}: {item['share']:.2f} of {item['count']}" for item in report["reliability"])
    return f"{TITLE}. {', '.join(told)}"


def draw_reliability(report: Report) -> str:
    """The SVG: a mark for each range of probabilities, larger for more pages, and the line where they would be exact."""
    bins = report["reliability"]
    pages = sum(item["count"] for item in bins)
    with drawing(NAME, SIZE, SIZE) as figure:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--", zorder=1)
        places = [item["mean"] for item in bins], [item["share"] for item in bins]
        axes.plot(*places, color="#0072b2", linewidth=1, zorder=2)
        axes.scatter(*places, s=[20 + LARGEST * item["count"] / pages for item in bins], color="#0072b2", zorder=3)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_aspect("equal")
        axes.grid(color=LINES, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("probability that the page answers, as told")
        axes.set_ylabel("share of pages with an answer in the collection")
        return as_svg(figure, TITLE)
