"""The picture of a report of `transfer`: what each stage gains over the simple system, by data set, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluation.pictures.drawing import INK, LINES, as_svg, drawing
from evaluation.suites.transfer import GAIN, MEASURE, NAME

Report = Mapping[str, Any]
TITLE: Final = f"Gain in {MEASURE} over the simple system, with 95 % intervals"
MEAN: Final = "mean"
STYLES: Final = (("#0072b2", "o"), ("#d55e00", "s"), ("#00785a", "D"), ("#7a3e9d", "^"), ("#555555", "v"))
"""Colour and shape of each stage in turn: nobody needs to tell them by colour alone."""
WIDTH, ROW, EDGE = 7.5, 0.62, 1.3
"""Inches: of the picture, of a data set, of what is above and below them."""
SPREAD: Final = 0.68
"""The part of a data set's row that its stages share."""


def has_gains(report: Report) -> bool:
    """Whether there is something to draw: the gains of a stage."""
    return report.get("suite") == NAME and any(GAIN in row["measures"] for row in report["rows"])


def describe_gains(report: Report) -> str:
    """What the picture shows, for those who do not see it: the gains of the last stage."""
    row = _stages(report)[-1]
    told = [(MEAN if name == GAIN else name, item["value"]) for name, item in row["measures"].items()]
    return f"{TITLE}. {row['system']}: {', '.join(f'{name} {value:+.3f}' for name, value in told)}"


def draw_gains(report: Report) -> str:
    """The SVG: a row for the mean and for each data set, in it a mark and an interval for each stage."""
    names = _names(report)
    with drawing(NAME, WIDTH, EDGE + ROW * (len(names) + 1)) as figure:
        axes = figure.add_subplot()
        stages = _stages(report)
        for place, row in enumerate(stages):
            shift = SPREAD * ((place + 0.5) / len(stages) - 0.5)
            _draw_stage(axes, row, [GAIN, *names], shift, STYLES[place % len(STYLES)])
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
        axes.set_yticks(range(len(names) + 1), [MEAN, *_labels(report, names)])
        axes.set_ylim(len(names) + 0.5, -0.5)
        axes.tick_params(length=0)
        axes.grid(axis="x", color=LINES, linewidth=0.6)
        axes.axhline(0.5, color=LINES, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{TITLE[0].lower()}{TITLE[1:]}")
        figure.legend(loc="outside upper right", ncols=len(stages), frameon=False)
        return as_svg(figure, TITLE)


def _draw_stage(axes: Any, row: Report, names: Sequence[str], shift: float, style: tuple[str, str]) -> None:
    places = [place for place, name in enumerate(names) if name in row["measures"]]
    found = [row["measures"][names[place]] for place in places]
    values = [item["value"] for item in found]
    # An interval of a lone question, or of rounded figures, can miss its mean by a hair.
    below = [max(0.0, item["value"] - item["low"]) for item in found]
    above = [max(0.0, item["high"] - item["value"]) for item in found]
    heights = [place + shift for place in places]
    look = {"color": style[0], "fmt": style[1], "markersize": 5, "elinewidth": 1.4, "capsize": 2.5}
    axes.errorbar(values, heights, xerr=(below, above), label=row["system"], zorder=3, **look)


def _stages(report: Report) -> list[Report]:
    return [row for row in report["rows"] if GAIN in row["measures"]]


def _names(report: Report) -> list[str]:
    """The data sets, in the order of the report."""
    return [name for name in dict.fromkeys(name for row in _stages(report) for name in row["measures"]) if name != GAIN]


def _labels(report: Report, names: Sequence[str]) -> list[str]:
    """The names; those that do not count say so."""
    seen = {row["model"].rpartition(" (")[2].rstrip(")") for row in report["ancestry"] if row["state"] == "overlap"}
    return [f"{name}\n(seen, not counted)" if name in seen else name for name in names]
