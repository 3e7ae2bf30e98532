"""Plot a run as an SVG: the loss, and the development score if there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, EDGE = 640, 320, 48
TICKS = 4
COLOURS = {"loss": "#1f5f99", "dev RR": "#b3541e"}
Points = Sequence[tuple[float, float]]


def plot_loss(title: str, log: Sequence[Mapping[str, Any]]) -> str:
    """The SVG of a log's entries; if a step occurs twice, as after a resumption, the last entry counts."""
    losses = {entry["step"]: entry["loss"] for entry in log if "loss" in entry}
    scores = {entry["step"]: entry["dev"]["mean"]["RR"] for entry in log if "dev" in entry}
    last = max([1, *losses, *scores])
    parts = [_text(EDGE, EDGE / 2, title), _frame(), _steps(last)]
    for place, (name, found) in enumerate((("loss", losses), ("dev RR", scores))):
        if found:
            parts.append(_line(name, sorted(found.items()), last, right=bool(place)))
    body = "".join(parts)
    style = 'font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>{body}</svg>\n'


def _line(name: str, points: Points, last: int, right: bool) -> str:
    """A curve with its scale at the left or right edge."""
    low, high = min(value for _, value in points), max(value for _, value in points)
    span = high - low or 1.0
    inner, tall = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
    places = [(EDGE + inner * step / last, HEIGHT - EDGE - tall * (value - low) / span) for step, value in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    colour, edge = COLOURS[name], WIDTH - EDGE + 4 if right else 4
    marks = "".join(
        _text(edge, HEIGHT - EDGE - tall * tick / TICKS + 4, f"{low + span * tick / TICKS:.3g}", colour)
        for tick in range(TICKS + 1)
    )
    label = _text(WIDTH - 2 * EDGE if right else EDGE, HEIGHT - 8, name, colour)
    dot = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}"/>' for x, y in places)
    return f'{marks}{label}<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{path}"/>{dot}'


def _frame() -> str:
    size = f'width="{WIDTH - 2 * EDGE}" height="{HEIGHT - 2 * EDGE}"'
    return f'<rect x="{EDGE}" y="{EDGE}" {size} fill="none" stroke="#999"/>'


def _steps(last: int) -> str:
    inner = WIDTH - 2 * EDGE
    ticks = range(TICKS + 1)
    return "".join(_text(EDGE + inner * t / TICKS - 8, HEIGHT - EDGE + 16, str(round(last * t / TICKS))) for t in ticks)


def _text(x: float, y: float, text: str, colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{escape(text)}</text>'
