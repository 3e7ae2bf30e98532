"""The picture of a report of `medley bench poly`: the time of a query by number of passages, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evaluation.pictures.drawing import INK, LINES, as_svg, drawing

Report = Mapping[str, Any]
NAME: Final = "poly"
TITLE: Final = "Milliseconds of a query by number of passages"
STYLES: Final = {
    "cross_ms_": ("cross-encoder", "#d55e00", "s"),
    "poly_ms_": ("poly-encoder, stored", "#0072b2", "o"),
    "bi_ms_": ("bi-encoder, stored", "#009e73", "^"),
}
WIDTH, HEIGHT = 6.5, 3.6


def has_latency(report: Report) -> bool:
    """Whether there is something to draw: times of both models."""
    return report.get("bench") == NAME and all(_points(report, start) for start in STYLES)


def describe_latency(report: Report) -> str:
    """What the picture shows, for those who do not see it."""
    told = []
    for start, (label, *_) in STYLES.items():
        points = _points(report, start)
        told.append(f"{label}: {', '.join(f'{count:,} passages {time:.0f} ms' for count, time in points)}")
    return f"{TITLE}. {'; '.join(told)}"


def draw_latency(report: Report) -> str:
    """The SVG: a line for each model, on logarithmic axes."""
    with drawing(NAME, WIDTH, HEIGHT) as figure:
        axes = figure.add_subplot()
        for start, (label, colour, mark) in STYLES.items():
            counts, times = zip(*_points(report, start), strict=True)
            axes.plot(counts, times, color=colour, marker=mark, linewidth=1.2, label=label)
        ticks = [count for count, _ in _points(report, "poly_ms_")]
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(ticks, [f"{count:,}" for count in ticks])
        axes.grid(color=LINES, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("passages", color=INK)
        axes.set_ylabel("milliseconds")
        figure.legend(loc="outside upper right", ncols=len(STYLES), frameon=False)
        return as_svg(figure, TITLE)


def _points(report: Report, start: str) -> list[tuple[int, float]]:
    """(passages, milliseconds), ascending."""
    found = report["figures"].items()
    return sorted((int(name.removeprefix(start)), value) for name, value in found if name.startswith(start))
