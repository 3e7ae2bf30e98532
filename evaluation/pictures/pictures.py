"""The pictures of reports, on the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluation.pictures.gains import describe_gains, draw_gains, has_gains
from evaluation.pictures.growth import describe_growth, draw_growth, has_growth
from evaluation.pictures.latency import describe_latency, draw_latency, has_latency
from evaluation.pictures.reliability import describe_reliability, draw_reliability, has_reliability

Report = Mapping[str, Any]
INSTALL: Final = "pip install -e '.[eval]'"


class PictureKind(NamedTuple):
    """A kind of picture: which reports have one, its SVG, and what it shows in words."""

    has: Callable[[Report], bool]
    draw: Callable[[Report], str]
    describe: Callable[[Report], str]


KINDS: Final = (
    PictureKind(has_gains, draw_gains, describe_gains),
    PictureKind(has_growth, draw_growth, describe_growth),
    PictureKind(has_latency, draw_latency, describe_latency),
    PictureKind(has_reliability, draw_reliability, describe_reliability),
)


def has_picture(report: Report) -> bool:
    """Whether there is something to draw."""
    return any(kind.has(report) for kind in KINDS)


def write_picture(report: Report, file: Path, link: str) -> str:
    """Draw a report into `file`; the line of Markdown that shows it from `link`, or says why there is no picture."""
    kind = next(kind for kind in KINDS if kind.has(report))
    try:
        text = kind.draw(report)
    except ImportError as error:
        return f"There is no picture of these figures: {error.name} is not installed (`{INSTALL}`)."
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return f"![{kind.describe(report)}]({link})"
