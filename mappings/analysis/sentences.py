"""Sentences of abstracts and of clinical notes, as character offsets.

A sentence ends at `.`, `?` or `!` before space (or before a comma that replaced a line break, as in MTSamples), and at a
line break that is not just wrapping. It does not end at decimals, at abbreviations ("vs.", "Dr.", "b.i.d."), at
initials, or after the number of a list item ("2.  The left"). Text without any end is cut after at most
`MAX_CHARACTERS`, so that any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mappings.analysis.lexicon import rows
from mappings.documents import Sentence

MAX_CHARACTERS: Final = 1500
"""A longer sentence is cut, at a space or a comma if it has one."""

_WRAP: Final = 60
"""A line of at least this length that ends without punctuation continues in the next one."""

_CLASSES: Final = {
    kind: frozenset(word for row in rows("sentence_ends") if row[0] == kind for word in row[1].split("|"))
    for kind in ("never", "seldom", "opener")
}

_CANDIDATE: Final = re.compile(
    r"(?<![.!?])[.!?]++[\"')\]\u2019\u201d]*+(?:[ \t]{0,3},|(?=\s|$)|(?<=[a-z)\]][a-z)\]]\.)(?=[A-Z][a-z]))"
    r"|(?P<line>\n)\s*+"
    r"|,(?=\d{1,2}\.[ \t])"
    r"|:[ \t]{0,3},"
)
_WORD_BEFORE: Final = re.compile(r"[^\s,;:()\[\]]{1,30}$")
_WORD_AFTER: Final = re.compile(r"[\s,\"'(\[\u201c\u2018]{0,20}(\w{0,20})")
_ITEM: Final = re.compile(r"(?:^|[:,]\s*)[(]?(?:\d{1,2}|[A-Za-z])$")
_NAME: Final = re.compile(r"[a-z]{1,2}[A-Z0-9]")  # pH, mRNA, p53
_SPACE: Final = re.compile(r"\s*+")
_DOTTED: Final = re.compile(r"(?:[^\W\d]\.)*[^\W\d]$")


def sentences(text: str) -> list[Sentence]:
    """The sentences of `text`: in order, disjoint, without surrounding space, together all characters except space."""
    found: list[Sentence] = []
    start = 0
    for end in (*_ends(text), len(text)):
        found.extend(_bounded(text, start, end))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    start = 0
    for match in _CANDIDATE.finditer(text):
        if _is_end(text, start, match):
            start = match.end()
            yield start


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    if match["line"]:
        return _ends_line(text, start, *match.span())
    if text[match.start()] not in ".?!":
        return True
    following = _WORD_AFTER.match(text, match.end())
    after = following[1] if following else ""
    if after[:1].islower() and not _NAME.match(after):
        return False
    return text[match.start()] != "." or _stop_ends(text, start, match.start(), after)


def _stop_ends(text: str, start: int, stop: int, after: str) -> bool:
    head = text[max(start, stop - 32) : stop]
    found = _WORD_BEFORE.search(head)
    word = found[0] if found else ""
    if _ITEM.search(head.strip(" \t,")) and (stop - start <= 32 or ":" in head or "," in head):
        return False
    lowered = word.lower()
    if lowered in _CLASSES["never"]:
        return False
    if lowered == "no" and after[:1].isdigit():
        return False
    if lowered in _CLASSES["seldom"] or (_DOTTED.match(word)):
        return not after or after.lower() in _CLASSES["opener"]
    return True


def _ends_line(text: str, start: int, line_break: int, next_line: int) -> bool:
    after = text[next_line : next_line + 1]
    if text.count("\n", line_break, next_line) > 1 or after in "-*\u2022":
        return True
    before = text[max(start, line_break - _WRAP) : line_break].rstrip()
    if after.islower():
        return before[-1:] in ".:;?!"
    return len(before) < _WRAP - 5 or before[-1:] in ".:;?!" or "\n" in before


def _bounded(text: str, start: int, end: int) -> Iterator[Sentence]:
    start, end = _trim(text, start, end)
    while end - start > MAX_CHARACTERS:
        cut = _cut(text, start, start + MAX_CHARACTERS)
        yield Sentence(start, _trim(text, start, cut)[1])
        start, end = _trim(text, cut, end)
    if start < end:
        yield Sentence(start, end)


def _cut(text: str, start: int, end: int) -> int:
    """Where to cut `text[start:end]`: after its last `;`, `,` or space, but not before the middle."""
    middle = (start + end) // 2
    places = (text.rfind(mark, middle, end) + 1 for mark in ("; ", ", ", " ", "\t", "\n"))
    return next((place for place in places if place > middle), end)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    start = _SPACE.match(text, start, end).end()  # type: ignore[union-attr]  # it also matches the empty string
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
