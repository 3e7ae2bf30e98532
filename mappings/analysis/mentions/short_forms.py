"""What an ambiguous short form means by the words around it, and what it usually means: `lexicons/short_forms.tsv`.

A row is one sense: its short forms, as charts spell them; ids of concepts, or `-` for a sense that is no concept; `usual`,
or `told` with the words that tell it; and an example. Such words stand among the two words before the short form, itself and
the two after it, in their order: "tube", "pe tube", "# ra". A `#` is any number, and `heading:allergies` is a word of the
section's heading. "N/V/D" names as many concepts as it has words.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from mappings.analysis.lexicon import LEXICONS, rows_of
from mappings.analysis.mentions.screens import words_of
from mappings.errors import InvalidInput

_COLUMNS: Final = 5
_HEADING: Final = "heading:"
_WORDS_AROUND: Final = 2
_CHARACTERS_AROUND: Final = 60
"""Enough for two words; a longer word is cut, and tells nothing."""


class Sense(NamedTuple):
    """A sense of the short `forms`: its `concepts`, none where it is no concept, and what tells it unless it is `usual`."""

    usual: bool
    forms: tuple[str, ...]
    concepts: tuple[str, ...]
    words: tuple[str, ...]
    headings: tuple[str, ...]
    example: str


_NONE: Final = Sense(False, (), (), (), (), "")


class ShortForms:
    """The senses of short forms, of concepts that are `known`; a sense of another concept is left out."""

    def __init__(self, senses: tuple[Sense, ...], known: Container[str]) -> None:
        self._senses: dict[str, list[Sense]] = {}
        for sense in senses:
            if all(concept in known for concept in sense.concepts):
                for form in sense.forms:
                    self._senses.setdefault(form, []).append(sense)
        self._several = {tuple(_split(form)) for form, (first, *_) in self._senses.items() if len(first.concepts) > 1}
        for found in self._senses.values():
            found.sort(key=lambda sense: sense.usual)  # what is told comes first

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Each short form with each of its concepts."""
        return (
            (form, concept) for form, senses in self._senses.items() for item in senses for concept in item.concepts
        )

    def sense(self, sentence: str, start: int, end: int, heading: str) -> Sense | None:
        """The sense of the short form at `start:end` that is told, or else the usual one; None where neither is known."""
        form = sentence[start:end]
        senses = self._senses.get(form) or self._senses.get(form.removesuffix("s"))
        if not senses:  # "F. C" is no "F/C"
            return _NONE if tuple(_split(form)) in self._several else None
        around, title = _around(sentence, start, end), f" {' '.join(_split(heading))} "
        for item in senses:
            if item.usual or any(map(around.__contains__, item.words)) or any(map(title.__contains__, item.headings)):
                return item
        return None


@cache
def shipped_senses() -> tuple[Sense, ...]:
    """The senses that Medley comes with."""
    return load_senses(LEXICONS / "short_forms.tsv")


def load_senses(path: Path) -> tuple[Sense, ...]:
    """The senses of a file. Raises `InvalidInput`, which names file and line, for a malformed row or a second usual sense."""
    found: list[Sense] = []
    usual: dict[str, str] = {}
    for number, row in rows_of(path):
        place = f"{path}:{number}"
        sense = _sense(place, row)
        for form in sense.forms if sense.usual else ():
            if usual.setdefault(form, place) != place:
                raise _error(place, f"{form!r} already has a usual sense in {usual[form]}")
        found.append(sense)
    return tuple(found)


def _sense(place: str, row: tuple[str, ...]) -> Sense:
    if len(row) != _COLUMNS:
        raise _error(place, f"a row has {_COLUMNS} columns, separated by tabs; this one has {len(row)}")
    forms, concepts, kind, neighbours, example = row
    ids = () if concepts == "-" else tuple(concepts.split("|"))
    told = () if neighbours in ("", "-") else tuple(neighbours.lower().split("|"))
    if kind not in ("usual", "told") or (kind == "told") != bool(told):
        raise _error(place, "a sense is `usual`, or it is `told` and has the words that tell it")
    if not all(forms.split("|")) or not all(map(str.strip, (*ids, *told))):
        raise _error(place, "a short form, a concept or a neighbour is empty")
    if len(ids) > 1 and any(len("".join(_split(form))) != len(ids) for form in forms.split("|")):
        raise _error(place, "a short form of several concepts has a letter for each")
    if "[[" not in example or "]]" not in example:
        raise _error(place, "the example has no short form in [[ ]]")
    words = tuple(f" {item} " for item in told if not item.startswith(_HEADING))
    headings = tuple(f" {item.removeprefix(_HEADING)} " for item in told if item.startswith(_HEADING))
    return Sense(kind == "usual", tuple(forms.split("|")), ids, words, headings, example)


def _around(sentence: str, start: int, end: int) -> str:
    before = _split(sentence[max(0, start - _CHARACTERS_AROUND) : start])[-_WORDS_AROUND:]
    after = _split(sentence[end : end + _CHARACTERS_AROUND])[:_WORDS_AROUND]
    words = [*before, *_split(sentence[start:end]), *after]
    return f" {' '.join(words)}  {' '.join('#' if word.isdigit() else word for word in words)} "


def _split(text: str) -> list[str]:
    return [word for word in words_of(text) if word]


def _error(place: str, message: str) -> InvalidInput:
    return InvalidInput(f"{place}: {message}", field="lexicon")
