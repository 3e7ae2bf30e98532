"""Passages: a document split by its collection's granularity, without losing any text.

- `document`: one passage, with section labels in the text ("Methods: ..."), unless it is too long.
- `section`: one passage for each section, unless it is too long.
- `passage`: adjacent sections are joined while they stay within `max_words`.

Text that is too long is split at sentence ends into pieces of about equal length; a sentence longer than `max_words` is
split at words. A word counts as at most ten characters, so that text without spaces is bounded, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from mappings.analysis.abbreviations import defined
from mappings.analysis.headings import level, normalise_heading, tidy
from mappings.analysis.sentences import sentences
from mappings.analysis.window_text import alone, place_window
from mappings.collection import Collection
from mappings.documents import Document, Passage, Section

_CHARACTERS_PER_WORD: Final = 10


@dataclass(frozen=True, slots=True)
class _Unit:
    """`text[start:end]` of one section, usually a sentence; `size` in words."""

    section: int
    start: int
    end: int
    size: int


_Piece = Sequence[_Unit]


class PassageRun(NamedTuple):
    """The characters `start:end` of the text of a section (`section` is its number), from `at` on in a passage's text."""

    section: int
    start: int
    end: int
    at: int


def passages(document: Document, version: int, collection: Collection) -> tuple[Passage, ...]:
    """The passages of one version of a document, in order; at least one.

    Their texts together contain every character of the sections that is not space, in order.
    """
    return tuple(passage for passage, _ in placed_passages(document, version, collection))


def placed_passages(
    document: Document, version: int, collection: Collection
) -> tuple[tuple[Passage, tuple[PassageRun, ...]], ...]:
    """The passages as `passages` gives them, each with the runs of the sections' texts that its text is made of."""
    pieces = list(_pieces(document, collection))
    if not pieces:
        return ((Passage(document.id, version, 0, document.title, "", document.title), ()),)
    made = [_passage(document, version, ordinal, piece, collection) for ordinal, piece in enumerate(pieces)]
    if len(made) == 1:
        return tuple(made)
    known = defined("\n".join((document.title, *(section.text for section in document.sections))))
    return tuple((replace(item, also=_also(item.text, known)), runs) for item, runs in made)


def _also(text: str, known: Mapping[str, str]) -> str:
    """The long forms of abbreviations in `text` that are not in it themselves."""
    plain = text.lower()
    longer = (form for short, form in known.items() if _mentions(short, text) and form.lower() not in plain)
    return "; ".join(dict.fromkeys(longer))


def _mentions(short: str, text: str) -> bool:
    return short in text and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", text) is not None


def windows(passage: Passage, words: int) -> tuple[str, ...]:
    """The windows of a passage: runs of sentences of at most `words` words, each with the passage's context before it.

    One vector for a whole abstract represents its topic, not its results: a claim is nearer to the few sentences that
    state it. A context longer than a window is cut to the window's length. 0 words: the whole passage as one.
    """
    return tuple(map(alone, placed_windows(passage, words)))


def placed_windows(passage: Passage, words: int) -> tuple[str, ...]:
    """The windows as `windows` cuts them, each with the rest of its passage around it: what an encoder is given."""
    if not words or _size(passage.text) <= words or not passage.text.strip():
        return (passage.model_text,)
    context = passage.context if _size(passage.context) <= words else " ".join(passage.context.split()[:words])
    pieces = _pack(list(_units(0, passage.text, words)), words)
    return tuple(place_window(context, passage.text, piece[0].start, piece[-1].end) for piece in pieces)


def passage_sections(document: Document, collection: Collection) -> tuple[int, ...]:
    """For each passage the index, in `document.sections`, of the section in which it starts."""
    return tuple(piece[0].section for piece in _pieces(document, collection)) or (0,)


def _pieces(document: Document, collection: Collection) -> Iterator[_Piece]:
    most = collection.max_words
    units = [list(_units(index, section.text, most)) for index, section in enumerate(document.sections)]
    for group in _groups([unit for unit in units if unit], collection.granularity, most):
        yield from _pack(group, most)


def _units(index: int, text: str, most: int) -> Iterator[_Unit]:
    for sentence in sentences(text):
        size = _size(text[sentence.start : sentence.end])
        if size <= most:
            yield _Unit(index, sentence.start, sentence.end, size)
        else:
            yield from _words(index, text, sentence.start, sentence.end, most)


def _words(index: int, text: str, start: int, end: int, most: int) -> Iterator[_Unit]:
    for match in re.compile(rf"\S{{1,{_CHARACTERS_PER_WORD * most}}}").finditer(text, start, end):
        yield _Unit(index, *match.span(), _size(match[0]))


def _size(text: str) -> int:
    return max(len(text.split()), len(text) // _CHARACTERS_PER_WORD)


def _groups(sections: Sequence[Sequence[_Unit]], granularity: str, most: int) -> Iterator[_Piece]:
    """Groups of units that can share a passage."""
    group: list[_Unit] = []
    size = 0
    for units in sections:
        added = sum(unit.size for unit in units)
        if group and (granularity == "section" or (granularity == "passage" and size + added > most)):
            yield group
            group, size = [], 0
        group.extend(units)
        size += added
    if group:
        yield group


def _pack(units: _Piece, most: int) -> Iterator[_Piece]:
    """Runs of units of at most `most` words each, about equally long, so that there is no short remainder."""
    total = sum(unit.size for unit in units)
    target = -(-total // -(-total // most)) if total else most
    piece: list[_Unit] = []
    size = 0
    for unit in units:
        if piece and (size + unit.size > most or size >= target):
            yield piece
            piece, size = [], 0
        piece.append(unit)
        size += unit.size
    yield piece


def _passage(
    document: Document, version: int, ordinal: int, piece: _Piece, collection: Collection
) -> tuple[Passage, tuple[PassageRun, ...]]:
    labelled = collection.granularity == "document" or piece[0].section != piece[-1].section
    first = document.sections[piece[0].section]
    continues = bool(first.text[: piece[0].start].strip())
    heading = "" if labelled and not continues else first.heading
    text, runs = _joined(document.sections, piece, labelled)
    return Passage(
        document=document.id,
        version=version,
        ordinal=ordinal,
        title=document.title,
        heading=heading,
        text=text,
        context=_context(document.title, heading, collection),
    ), runs


def _joined(sections: Sequence[Section], piece: _Piece, labelled: bool) -> tuple[str, tuple[PassageRun, ...]]:
    """The text of each section in the piece, with its label if the section starts in it, one after the other."""
    text = ""
    runs: list[PassageRun] = []
    for index in sorted({unit.section for unit in piece}):
        units = [unit for unit in piece if unit.section == index]
        section, start, end = sections[index], units[0].start, units[-1].end
        begins = not section.text[:start].strip()
        label = tidy(section.heading) if labelled and begins else ""
        before = f"{text}\n" if runs else ""
        before += f"{label}: " if label else ""
        runs.append(PassageRun(index, start, end, len(before)))
        text = before + section.text[start:end]
    return text, tuple(runs)


def _context(title: str, heading: str, collection: Collection) -> str:
    """The names in the collection's `context`, in the form "Title. Heading:"."""
    parts = {"title": _ended(title.strip(), "."), "heading": _ended(_readable(heading), ":")}
    return " ".join(parts[name] for name in collection.context if parts.get(name))


def _readable(heading: str) -> str:
    """A heading in the form that suits a model best: "HPI" as "History of present illness"."""
    return normalise_heading(heading).capitalize() if level(heading) == "section" else tidy(heading)


def _ended(text: str, mark: str) -> str:
    return text + mark if text and text[-1] not in ".?!:" else text
