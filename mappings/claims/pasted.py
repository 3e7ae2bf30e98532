"""What was pasted: one headline, a list of them, or an article."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from mappings.analysis.sentences import sentences
from mappings.claims.article import is_html
from mappings.claims.check_worthy import MOST_CHARACTERS
from mappings.errors import InvalidInput

MOST_HEADLINES: Final = 20
"""Each is a search: so many fit into the time that a page may take on two cores."""
PastedKind = Literal["headline", "headlines", "article"]
KINDS: Final[tuple[PastedKind, ...]] = get_args(PastedKind)
_HEADLINE: Final = 300
"""A longer line is a paragraph. In characters."""
_MARK: Final = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
"""The mark or number of an item of a list."""


@dataclass(frozen=True, slots=True)
class PastedClaims:
    """What was pasted, and the headlines if it is one or more."""

    kind: PastedKind
    headlines: tuple[str, ...] = ()


def read_pasted(text: str, kind: str = "") -> PastedClaims:
    """Decide what was pasted, unless `kind` says so. Raises `InvalidInput` if there is nothing, or too many headlines."""
    lines = [line for raw in text.splitlines() if (line := " ".join(_MARK.sub("", raw).split()))]
    if not lines:
        raise InvalidInput("paste a headline, several headlines on lines of their own, or an article", field="text")
    chosen = kind if kind in KINDS else _kind(text, lines)
    if chosen == "article":
        return PastedClaims("article")
    if len(lines) == 1:
        return PastedClaims("headline", (lines[0],))
    if chosen == "headline":
        return PastedClaims("headline", (" ".join(lines),))
    headlines = tuple(dict.fromkeys(lines))
    if len(headlines) > MOST_HEADLINES:
        raise InvalidInput(
            f"these are {len(headlines)} headlines, and one table has at most {MOST_HEADLINES}: leave out "
            f"{len(headlines) - MOST_HEADLINES}, beginning with “{headlines[MOST_HEADLINES][:80]}”, or read them as an article",
            field="text",
        )
    return PastedClaims("headlines", headlines)


def _kind(text: str, lines: list[str]) -> PastedKind:
    if is_html(text):
        return "article"
    if len(lines) == 1:
        size = len(lines[0])
        short = size <= _HEADLINE or (size <= MOST_CHARACTERS and len(sentences(lines[0])) == 1)
        return "headline" if short else "article"
    if any(len(line) > _HEADLINE or len(sentences(line)) > 2 for line in lines):
        return "article"
    # Lines of a wrapped paragraph go on in lowercase; headlines begin with a capital or a figure.
    continued = sum(line[0].islower() for line in lines[1:])
    # Newspapers print paragraphs of one sentence, with full stops that headlines do not have.
    stopped = sum(line.endswith((".", ".”", '."', ".’")) for line in lines)
    is_prose = 2 * continued > len(lines) or (2 * stopped > len(lines) and len(lines) > MOST_HEADLINES)
    return "article" if is_prose else "headlines"
