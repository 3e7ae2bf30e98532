"""The picture of a report of `medley bench growth`: time and memory of a search by number of windows, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evaluation.pictures.drawing import INK, LINES, as_svg, drawing

Report = Mapping[str, Any]
NAME: Final = "growth"
TITLE: Final = "Milliseconds of a search, and memory, by number of windows"
TIMES: Final = {
    "p50_ms_": ("a search", "#000000", "o"),
    "dense_p50_ms_": ("vectors", "#0072b2", "s"),
    "bm25_p50_ms_": ("words", "#d55e00", "^"),
}
SIZES: Final = {"rss_mb_": ("resident", "#000000", "o"), "disk_mb_": ("on disk", "#009e73", "D")}
PANELS: Final = ((TIMES, "milliseconds (median)"), (SIZES, "megabytes"))
WIDTH, HEIGHT = 8.0, 3.6


def has_growth(report: Report) -> bool:
    """Whether there is something to draw: more than one size."""
    return report.get("bench") == NAME and len(_points(report, "p50_ms_")) > 1


def describe_growth(report: Report) -> str:
    """What the picture shows, for those who do not see it."""
    told = []
    for styles, unit in PANELS:
        for start, (label, *_) in styles.items():
            points = ", ".join(f"{size:,}: {value:,.0f}" for size, value in _points(report, start))
            told.append(f"{label} in {unit.split()[0]} by windows: {points}")
    return f"{TITLE}. {'; '.join(told)}"


def draw_growth(report: Report) -> str:
    """The SVG: times on the left, memory and disk on the right, on logarithmic axes."""
    with drawing(NAME, WIDTH, HEIGHT) as figure:
        for axes, (styles, unit) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
            for start, (label, colour, mark) in styles.items():
                sizes, values = zip(*_points(report, start), strict=True)
                axes.plot(sizes, values, color=colour, marker=mark, linewidth=1.2, label=label)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.grid(color=LINES, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.set_xlabel("windows", color=INK)
            axes.set_ylabel(unit)
            axes.legend(frameon=False)
        return as_svg(figure, TITLE)


def _points(report: Report, start: str) -> list[tuple[int, float]]:
    """(windows, value), ascending."""
    found = report["figures"].items()
    return sorted((int(name.removeprefix(start)), value) for name, value in found if name.startswith(start))
