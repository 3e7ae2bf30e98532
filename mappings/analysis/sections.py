"""Sections of undivided text: of structured abstracts and of clinical notes.

In a note a heading is
- capitals and a colon, on a line of its own or run together with the text ("... stable. ,MEDICATIONS: ,  Her only ..."),
- a known heading in any case and a colon at the start of a line or after a full stop ("Plan: continue"),
- a known heading alone on its line.
These are not headings: the name of an organ or a vital sign ("HEENT:", "NECK:"), which stays inside the examination it
belongs to; capitals before a value ("BP: 120/80"); unknown capitals of fewer than five letters.
Commas around headings that replaced line breaks are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mappings.analysis.headings import level, normalise_heading
from mappings.documents import Section

__all__ = ["normalise_heading", "split_abstract", "split_note"]

_WORD: Final = r"[A-Za-z0-9/&'()\-\u2019]"
_NOTE_HEADING: Final = re.compile(
    rf"(?:\A|(?P<line>\n)|(?P<stop>[,;.?!:]))[ \t\r,*#=_]{{0,8}}(?P<head>[A-Z]{_WORD}*+(?:[ ]{{1,2}}{_WORD}++){{0,9}}+)"
    r"(?=[ \t*_]{0,4}:)[ \t*_]*:"
)
_OWN_LINE: Final = re.compile(r"^[ \t*#=_]{0,8}(?P<head>[A-Z][A-Za-z/&'()\- ]{1,60})[ \t\r*#=_]{0,8}$", re.MULTILINE)
_VALUE: Final = re.compile(r"[ \t,]*[<>~]?\d(?!\d?[.)]\s)")
_LABEL_PLACE: Final = r"(?:\A|(?<=[.!?)\]])[ ]{1,4}|\n)[ \t]{0,4}"
_ABSTRACT_LABEL: Final = re.compile(
    _LABEL_PLACE + r"(?P<head>[A-Z][A-Za-z/&'\-]*+(?:,?[ ]{1,2}[A-Za-z/&'\-]++){0,8}+)[ ]?:"
)
_BARE_LABEL: Final = re.compile(
    _LABEL_PLACE + r"(?P<head>[A-Z]{3,}+(?:,? (?:AND|OF|[A-Z]{3,}+)){0,5}+)(?= [A-Z0-9][A-Za-z0-9]*[ ,-])"
)
_MIN_UNKNOWN_LETTERS: Final = 5
_EDGES: Final = " \t\r\n,"


class _Cut(NamedTuple):
    start: int
    body: int
    heading: str


def split_note(text: str) -> list[Section]:
    """The sections of a clinical note or report in order; text before the first heading has the heading ""."""
    return _sections(text, sorted({cut.start: cut for cut in _note_cuts(text)}.values()))


def split_abstract(text: str) -> list[Section]:
    """The labelled sections of an abstract ("METHODS: ..."), or one section without a heading."""
    cuts = list(_labels(text, _ABSTRACT_LABEL))
    if not cuts:
        bare = list(_labels(text, _BARE_LABEL))
        cuts = bare if len(bare) > 1 else []
    return _sections(text, cuts)


def _sections(text: str, cuts: list[_Cut]) -> list[Section]:
    if not cuts:
        return [Section("", text)]
    ends = [cut.start for cut in cuts[1:]] + [len(text)]
    lead = text[: cuts[0].start].strip(_EDGES)
    found = [Section("", lead)] if lead else []
    return found + [
        Section(cut.heading, text[cut.body : end].strip(_EDGES)) for cut, end in zip(cuts, ends, strict=True)
    ]


def _note_cuts(text: str) -> Iterator[_Cut]:
    for match in _NOTE_HEADING.finditer(text):
        if _opens_section(text, match):
            yield _Cut(_marked(text, match.start("head")), match.end(), match["head"])
    for match in _OWN_LINE.finditer(text):
        if level(match["head"]) == "section" and len(match["head"].strip()) > 2:
            yield _Cut(match.start(), match.end(), match["head"].strip())


def _marked(text: str, start: int) -> int:
    """Where the heading at `start` begins, including its Markdown marks."""
    before = text[max(0, start - 8) : start]
    return start - (len(before) - len(before.rstrip("*#=_ ")))


def _opens_section(text: str, match: re.Match[str]) -> bool:
    head = match["head"]
    kind = level(head)
    if kind == "part" or (len(head) == 1 and not match["line"] and match.start() > 0):
        return False
    if not head.isupper():
        return kind == "section" and _is_set_apart(text, match)
    if match["stop"] == ":" and kind != "section":
        return False
    return kind is not None or (_letters(head) >= _MIN_UNKNOWN_LETTERS and not _VALUE.match(text, match.end()))


def _is_set_apart(text: str, match: re.Match[str]) -> bool:
    # ", Plan: rest" can be the middle of a sentence; ",Plan:" was a line of its own before commas replaced line breaks.
    before = text[match.start("head") - 1 : match.start("head")]
    return match["stop"] not in {",", ":", ";"} or before == ","


def _letters(head: str) -> int:
    return sum(map(str.isalpha, head))


def _labels(text: str, pattern: re.Pattern[str]) -> Iterator[_Cut]:
    for match in pattern.finditer(text):
        head = match["head"]
        if level(head) in {"section", "abstract"}:
            yield _Cut(match.start("head"), match.end(), head)
