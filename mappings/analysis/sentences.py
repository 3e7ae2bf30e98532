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

_SHORT: Final = _CLASSES["never"] | _CLASSES["seldom"] | {"no"}
_NEAR: Final = 32

_CANDIDATE: Final = re.compile(  # It starts with a set of characters, for which a search is fast.
    r"[.!?\n,:](?:"
    r"(?<=[.!?])(?<![.!?].)[.!?]*+[\"')\]\u2019\u201d]*+"
    r"(?:[ \t]{0,3},|(?=\s|$)|(?<=[a-z)\]][a-z)\]]\.)(?=[A-Z][a-z]))"
    r"|(?P<line>(?<=\n))\s*+"
    r"|(?<=,)(?=\d{1,2}\.[ \t])"
    r"|(?<=:)[ \t]{0,3},"
    r")"
)
_NO_WORD: Final = re.compile(r".*[\s,;:()\[\]]", re.DOTALL)
_WORD_AFTER: Final = re.compile(r"[\s,\"'(\[\u201c\u2018]{0,20}(\w{0,20})")
_ITEM: Final = re.compile(r"(?:^|[:,]\s*)[(]?(?:\d{1,2}|[A-Za-z])$")
_NAME: Final = re.compile(r"[a-z]{1,2}[A-Z0-9]")  # pH, mRNA, p53
_DOTTED: Final = re.compile(r"(?:[^\W\d]\.)*[^\W\d]$")


def sentences(text: str) -> list[Sentence]:
    """The sentences of `text`: in order, disjoint, without surrounding space, together all characters except space."""
    found: list[Sentence] = []
    start = 0
    for end in (*_ends(text), len(text)):
        part = text[start:end].lstrip()
        first = end - len(part)
        size = len(part.rstrip())
        if size > MAX_CHARACTERS:
            found.extend(_bounded(text, first, first + size))
        elif size:
            found.append(Sentence(first, first + size))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    start = 0
    for match in _CANDIDATE.finditer(text):
        if _is_end(text, start, match):
            start = match.end()
            yield start


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    if match.lastgroup:
        return _ends_line(text, start, *match.span())
    stop, end = match.span()
    if text[stop] not in ".?!":
        return True
    if text[end + 1 : end + 2].isupper() and text[end] == " " and _is_plain_word(text, start, stop):
        return True
    following = _WORD_AFTER.match(text, match.end())
    after = following[1] if following else ""
    if after[:1].islower() and not _NAME.match(after):
        return False
    return text[stop] != "." or _stop_ends(text, start, stop, after)


def _is_plain_word(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` ends with letters after a space that are no abbreviation, initial or number of an item."""
    before, _, word = text[max(start, end - _NEAR) : end].rpartition(" ")
    return bool(before) and len(word) > 1 and word.isalpha() and word.lower() not in _SHORT


def _stop_ends(text: str, start: int, stop: int, after: str) -> bool:
    head = text[max(start, stop - _NEAR) : stop]
    before = _NO_WORD.match(head.removesuffix("\n"))
    word = head.removesuffix("\n")[before.end() if before else 0 :][-30:]
    if _ITEM.search(head.strip(" \t,")) and (stop - start <= _NEAR or ":" in head or "," in head):
        return False
    lowered = word.lower()
    if lowered in _CLASSES["never"]:
        return False
    if lowered == "no" and (after[:1].isdigit() or not text[start : stop - 2].strip()):
        return not after[:1].isdigit()  # "No." alone is an answer, before a number it is an abbreviation.
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
    """The parts of a sentence, which has no space around it."""
    while end - start > MAX_CHARACTERS:
        cut = _cut(text, start, start + MAX_CHARACTERS)
        yield Sentence(start, start + len(text[start:cut].rstrip()))
        start = end - len(text[cut:end].lstrip())
    if start < end:
        yield Sentence(start, end)


def _cut(text: str, start: int, end: int) -> int:
    """Where to cut `text[start:end]`: after its last `;`, `,` or space, but not before the middle."""
    middle = (start + end) // 2
    places = (text.rfind(mark, middle, end) + 1 for mark in ("; ", ", ", " ", "\t", "\n"))
    return next((place for place in places if place > middle), end)
