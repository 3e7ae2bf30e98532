"""A short text that is nothing but names of concepts: "pneumothorax", "AF on warfarin", "breast cancer family history".

Somebody who types the name of a condition wants the documents that have it, not those that rule it out; so documents that
assert it rank first, and none is left out. Several names that a small word joins are criteria, each of which a document must
meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mappings.analysis.abbreviations import senses
from mappings.analysis.headings import level
from mappings.clinical.cue_rules import Assertion
from mappings.clinical.placing import PRESENT
from mappings.clinical.reading import ConceptMention, ConceptReader

MAX_WORDS: Final = 8
"""A longer text is about more than what it names."""
FAMILY: Final[Assertion] = "family"
_INHERITED: Final = frozenset(["diagnoses", "findings", "symptoms"])
"""What relatives are said to have; the family history of an examination is that of whoever was examined."""
_HAD: Final = _INHERITED | {"devices"}
"""What patients have; what they take and what is done to them is looked up by its bare name."""

_JOINING: Final = frozenset(
    [
        "a",
        "after",
        "an",
        "and",
        "by",
        "due",
        "for",
        "from",
        "has",
        "have",
        "in",
        "known",
        "of",
        "on",
        "plus",
        "taking",
        "the",
        "to",
        "treated",
        "using",
        "w",
        "with",
    ]
)
_DEGREES: Final = frozenset(
    [
        "acute",
        "bilateral",
        "chronic",
        "large",
        "left",
        "mild",
        "minimal",
        "moderate",
        "new",
        "old",
        "recent",
        "right",
        "severe",
        "small",
        "subacute",
        "tiny",
    ]
)
"""Sides and degrees, which the words of a text rank by."""
_SHORT: Final = re.compile(r"[a-z]{2,4}")
"""A short form that is typed alone need not be in capitals, as in a document it must."""
_WORD: Final = re.compile(r"[^\W_]+")
_SUBJECT: Final = re.compile(
    r"\s*(?:(?:all|any|find|show(?: me)?)\s+)*(?:pts?\.?|patients?|people|adults|those|anyone|everyone|who)\s+"
    r"(?:who\s+)?(?:are\s+)?(?:have|has|had|having|with|w/|on|taking)\s+(?=\S)",
    re.IGNORECASE,
)
_RELATIVES: Final = re.compile(r"[\s,:\-]+(?:family\s+(?:history|hx)|fam\s+hx|fhx?)[\s.:]*$", re.IGNORECASE)


class NamedConcept(NamedTuple):
    """A concept as a text names it, and what documents are to assert of it."""

    typed: str
    concept: str
    assertion: Assertion


def about_patients(free: str) -> str:
    """The text without its opening words if they only say that patients are sought: "patients with"."""
    opening = _SUBJECT.match(free)
    return free[opening.end() :] if opening else free


def named_alone(free: str, reader: ConceptReader, sought: bool = False) -> tuple[NamedConcept, ...]:
    """The concepts of a text that consists of their names, sides and degrees, and joining words; none of any other text.

    `sought`: whether it was said that patients are sought. Otherwise the bare names of drugs, operations, examinations and
    values are looked up as words.
    """
    relatives = _RELATIVES.search(free)
    text = free[: relatives.start()] if relatives else free
    if len(text.split()) > MAX_WORDS:
        return ()
    found = reader.read_alone(text)
    if not found and _SHORT.fullmatch(text.strip()):
        found = reader.read_alone(text.upper())
    if any(item.assertion != PRESENT for item in found) or not _covers(found, text) or _ends_in_heading(found, text):
        return ()
    if len(found) > 1 and not all(_joined(found, text)):
        return ()  # side by side, one name can say what of the other is asked for
    if len(found) == 1 and not _is_meant(found[0], text, reader):
        return ()
    groups = {reader.lexicon.get(item.concept).group for item in found}
    if relatives and not groups <= _INHERITED:
        return ()
    bare = len(found) > 1 or text.strip() == text[found[0].start : found[0].end]
    if bare and not sought and groups.isdisjoint(_HAD):  # "Tonsillectomy & adenoidectomy" is a title
        return ()
    asserted = FAMILY if relatives else PRESENT
    named = {
        item.concept: NamedConcept(text[item.start : item.end], item.concept, asserted) for item in reversed(found)
    }
    return tuple(reversed(named.values()))


def _covers(found: Sequence[ConceptMention], text: str) -> bool:
    """Whether nothing but sides, degrees and joining words stands outside the names."""
    left = list(text)
    for item in found:
        left[item.start : item.end] = " " * (item.end - item.start)
    return bool(found) and all(
        word in _JOINING or word in _DEGREES
        for word in _WORD.findall("".join(left).lower().replace("s/p", "").replace("w/", ""))
    )


def _is_meant(item: ConceptMention, text: str, reader: ConceptReader) -> bool:
    """Whether a name that our dictionary has as an abbreviation is read as one of its long forms: SAD is not "sad"."""
    entries = senses(text[item.start : item.end])
    longs = [reader.lexicon.named(long) for entry in entries for long in entry.longs]
    return not entries or any(found is not None and found.id == item.concept for found in longs)


def _joined(found: Sequence[ConceptMention], text: str) -> Iterator[bool]:
    """For each name and the next whether something joins them, be it the first word of the next: "on dialysis"."""
    for one, other in pairwise(sorted(found, key=lambda item: item.start)):
        yield bool(text[one.end : other.start].strip()) or text[other.start :].split()[0].lower() in _JOINING


def _ends_in_heading(found: Sequence[ConceptMention], text: str) -> bool:
    """Whether the last words are a known heading, and so a section that is asked for.

    The end of a name in the singular is none: a "penicillin allergy" is had, "asthma medications" are listed.
    """
    places = [match.start() for match in re.finditer(r"\S+", text)][1:]
    headings = (place for place in places if level(text[place:]) is not None)
    return any(text.endswith("s") or not any(item.start < place < item.end for item in found) for place in headings)
