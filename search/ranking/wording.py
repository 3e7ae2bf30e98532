"""A query in the words of the passage that it is compared with.

A cross-encoder takes names for words: asked about "CF", it prefers passages that hold "CF" to those on cystic fibrosis. So it
reads the query with the name that the passage has, where the passage has another one than was typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mappings.analysis.words import joined_terms


class Wording:
    """What the models read of a query, and what it names: (typed, other names), as they are searched, too."""

    def __init__(self, text: str, names: Sequence[tuple[str, Sequence[str]]] = ()) -> None:
        self.text = text
        self.names = tuple((typed, tuple(others)) for typed, others in names)
        self._swaps = tuple(
            (_pattern(typed), joined_terms(typed), tuple((joined_terms(other), other) for other in others))
            for typed, others in self.names
            if joined_terms(typed).strip()
        )

    @property
    def with_names(self) -> str:
        """The query and all other names, to find the parts of a passage that it is about."""
        return " ".join([self.text, *(other for _, others in self.names for other in others)])

    def as_in(self, passage: str) -> str:
        """The query with those names that the passage has, where it lacks the typed ones."""
        text, held = self.text, joined_terms(passage) if self._swaps else ""
        for pattern, typed, others in self._swaps:
            other = next((name for stems, name in others if stems.strip() and stems in held), None)
            if other and typed not in held:
                text = _replace(pattern, other, text)
        return text


def _pattern(typed: str) -> re.Pattern[str]:
    """The name as a word of its own, or its plural, in either case; not the "CF" of "non-CF" or the "COVID" of "COVID-19"."""
    return re.compile(rf"(?<![\w-]){re.escape(typed)}s?(?![\w-])", re.IGNORECASE)


def _replace(pattern: re.Pattern[str], name: str, text: str) -> str:
    return pattern.sub(lambda _: name, text)
