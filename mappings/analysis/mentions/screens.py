"""Patterns that are slow to search for, and what a text has to contain for a search to be worth its time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

NOTHING: Final[tuple[re.Match[str], ...]] = ()


def lowered(text: str) -> str:
    """`text` in lowercase, every character in its place."""
    return text.replace("\u0130", "\u0131").lower()  # of all letters, only this one has two in lowercase


def spaced(text: str) -> str:
    """`text` in lowercase, with one space for any white space, and one at each end."""
    return f" {' '.join(lowered(text).split())} "


class ScreenedPattern:
    """A pattern of which every match contains one of the `parts` in its `spaced` form, or next to the match."""

    def __init__(self, pattern: str, *parts: str, flags: re.RegexFlag = re.IGNORECASE) -> None:
        self.pattern: Final = re.compile(pattern, flags)
        self._parts = parts

    def find(self, text: str, form: str) -> Iterable[re.Match[str]]:
        """The matches in `text`, in order; `form` is `spaced(text)`."""
        for part in self._parts:
            if part in form:
                return self.pattern.finditer(text)
        return NOTHING
