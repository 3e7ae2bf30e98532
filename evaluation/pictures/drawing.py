"""How pictures are drawn: their bytes are the same whenever the figures and the version of the library are.

Their text is text, and their ground is white, so that they can be read on a dark page, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, Final

INK: Final = "#24292f"
LINES: Final = "#d0d7de"


@contextmanager
def drawing(name: str, width: float, height: float) -> Iterator[Any]:
    """A figure of so many inches; `name` makes the ids in it. Raises `ImportError` without the extra `eval`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 10, "axes.linewidth": 0.8}
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    with mpl.rc_context(text | ink | {"axes.edgecolor": LINES}):
        yield Figure((width, height), layout="constrained", facecolor="white")


def as_svg(figure: Any, title: str) -> str:
    """The figure as SVG, without date."""
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Title": title, "Date": None, "Creator": None})
    return drawn.getvalue()
