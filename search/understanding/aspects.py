"""Which sections a query asks for, by the vocabulary of headings: its slot `aspect`, or the last words of its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mappings.analysis.headings import level, normalise_heading
from search.query import ASPECT

MAX_HEADING_WORDS: Final = 8
MAX_READ_WORDS: Final = 32
"""A longer text is prose: what it ends with is no heading."""

ASPECT_WEIGHT: Final = 4.0
"""What a passage of an asked section gets beside its BM25 score, so that it is among those that are ranked at all."""


def aspects_of(free: str, slot: str) -> tuple[str, ...]:
    """The aspects asked for: that of the slot, or those that the end of a text can name, the longest first.

    One word has to be a known heading; of several words, any heading can consist. The first word of a text is what it is
    about, and no heading.
    """
    if slot.strip():
        return (normalise_heading(slot),)
    words = free.split()
    if len(words) > MAX_READ_WORDS or free.rstrip().endswith("?"):
        return ()
    return tuple(dict.fromkeys(_endings(words)))


def before_aspect(free: str) -> str:
    """What stands before the longest known heading that a text ends with; the text where it ends with none."""
    return _split(free)[0]


def after_subject(free: str) -> str:
    """The longest known heading that a text ends with; "" where it ends with none."""
    return _split(free)[1]


def _split(free: str) -> tuple[str, str]:
    words = free.split()
    for count in range(min(MAX_HEADING_WORDS, len(words) - 1), 0, -1):
        ending = " ".join(words[-count:])
        if level(ending):
            return " ".join(words[:-count]), ending
    return free, ""


def aspect_keywords(aspects: tuple[str, ...]) -> tuple[tuple[str, str, float], ...]:
    """What lets passages of these aspects score in the lexical leg."""
    return tuple((ASPECT, aspect, ASPECT_WEIGHT) for aspect in aspects)


def _endings(words: list[str]) -> Iterator[str]:
    for count in range(min(MAX_HEADING_WORDS, len(words) - 1), 0, -1):
        ending = " ".join(words[-count:])
        if count > 1 or level(ending):
            yield normalise_heading(ending)
