"""What headings mean, from `headings.tsv`: the aspect of a heading, and how it cuts a text."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

from mappings.analysis.lexicon import rows

Level = Literal["section", "part", "abstract"]

_EDGES: Final = " \t\r\n\u00a0.,:;*#=_-\u2013\u2014"
_NUMBERING: Final = re.compile(r"^(?:\d{1,2}|[ivx]{1,4})[.)]\s+")
_BRACKETS: Final = re.compile(r"\s*\([^()]{0,80}\)")
_SPACES: Final = re.compile(r"[\s_]+")


def normalise_heading(heading: str) -> str:
    """The aspect that a heading stands for ("HPI:" is "history of present illness"), or the heading itself in lowercase."""
    key = heading_key(heading)
    known = _known().get(key) or _known().get(_BRACKETS.sub("", key).strip())
    return known[0] if known else key


def level(heading: str) -> Level | None:
    """How a known heading cuts a text (see `headings.tsv`); None for an unknown one."""
    known = _known().get(heading_key(heading))
    return known[1] if known else None


def tidy(heading: str) -> str:
    """A heading as it reads inside a text: without punctuation around it, and "MAIN RESULTS" as "Main results"."""
    plain = _SPACES.sub(" ", heading).strip(_EDGES)
    return plain.capitalize() if len(plain) > 4 and plain.isupper() else plain


def heading_key(heading: str) -> str:
    """A heading in lowercase, without numbering, surrounding punctuation and repeated spaces."""
    key = _SPACES.sub(" ", heading.lower().replace("\u2019", "'").replace("&", " and ")).strip(_EDGES)
    return _NUMBERING.sub("", key)


@cache
def _known() -> dict[str, tuple[str, Level]]:
    table: dict[str, tuple[str, Level]] = {}
    for canonical, kind, variants in rows("headings"):
        entry: tuple[str, Level] = (canonical, _LEVELS[kind])
        for variant in (canonical, *variants.split("|")):
            table.setdefault(heading_key(variant), entry)
    return table


_LEVELS: Final[dict[str, Level]] = {"section": "section", "part": "part", "abstract": "abstract"}
