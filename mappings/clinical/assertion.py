"""What a sentence asserts of a mention: present, ruled out, uncertain, hypothetical, historical, or about the family.

Three readings of the same cues, each with the scopes of `mappings.analysis.mentions.negation` (lists and clauses):
whether it is so (ruled out, uncertain, hypothetical, ended), whether it was so (history), and whom it is about (family).
What is ruled out is ruled out for the past and for relatives, too: "denies h/o stroke". Where the sentence has no cue,
the section decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from mappings.analysis.headings import level
from mappings.analysis.mentions.cues import Cue
from mappings.analysis.mentions.negation import Scope, scopes
from mappings.clinical.answers import answer
from mappings.clinical.cue_patterns import HISTORY
from mappings.clinical.cue_rules import Assertion, assertion_cues
from mappings.clinical.persistence import is_chronic
from mappings.clinical.section_defaults import section_default

_KEPT: Final = 4096
_KEPT_NAMES: Final = 20_000
_PAST: Final = ("historical", HISTORY)
_CLAUSE_END: Final = re.compile(r"[;!?]|\.(?=\s|$)|\b(?:but|however|although|whereas|while)\b", re.I)
_CLAUSE_START: Final = re.compile(
    r"[;:!?]|\.(?=\s)|,\s|\b(?:but|however|although|who|which|now|denies|currently)\b|"
    r"\band\s+(?:has|had|is|was|he|she|now|currently|takes)\b",
    re.I,
)
_OTHER_SUBJECT: Final = re.compile(r"(?:,|\band)\s*(?:and\s+)?(?:he|she|the patient|patient|pt|i)\b", re.I)
_NEXT_BREAK: Final = re.compile(r"[.,;:!?)]|\b(?:and|or|with|but|for|of|in|is|was|has|had|due|to)\b", re.I)
_NEXT_WORDS: Final = 3
_YEAR_AFTER: Final = re.compile(
    r"(?:\s*x\s?\d)?(?:\s(?!since|from|than|to|in|on|not|prior|compared|dated?|until|through|present)[\w/]+){0,3}"
    r"[\s(,]{1,2}(?:\(|in )?(?:\d{1,2}/)?(?:19[3-9]\d|20[0-4]\d)\b(?!\s*(?:mg|ml|/))"
)
_LEAD: Final = re.compile(r"([A-Za-z][A-Za-z /&']{1,40})\s*:")
_OR_AFTER: Final = re.compile(r"\s+or\s+(?!so\b|more\b|less\b|not\b|two\b)\w", re.I)
_OR_BEFORE: Final = re.compile(r"[a-z)]\s+or\s+(?:(?:a|an|early|other|possibly|acute|old|new)\s+)?$", re.I)
_MAY_BE_OR: Final = re.compile(r"[oO][rR](?<=\s..)\s")
_IF: Final = ("clause-before", "clause-after")
_SILENT: Final = frozenset(["pseudo", "end", "relative", "family-end"])
"""Kinds of cues that only delimit the scopes of others."""


class _Layers(NamedTuple):
    """The scopes of a sentence: of what is so, of what was so, of whom it is about."""

    state: tuple[Scope, ...]
    past: tuple[Scope, ...]
    kin: tuple[Scope, ...]


def assertion(sentence: str, start: int, end: int, section: str = "", name: str = "") -> Assertion:
    """What `sentence`, in a section with the heading `section`, asserts of the mention `start:end`.

    `name`: what else the mention is called, which tells chronic conditions from others. Raises `ValueError` for a mention
    that is not inside the sentence.
    """
    if not 0 <= start < end <= len(sentence):
        raise ValueError(f"the mention {start}:{end} is not inside a sentence of {len(sentence)} characters")
    called = f"{sentence[start:end]} {name}"
    found = _stated(sentence, start, end, called)
    if not found:
        found = section_default(_heading_within(sentence, start) or section, called)
        if found == "present" and _is_alternative(sentence, start, end):
            found = "uncertain"
    return cast(Assertion, found)


def _heading_within(sentence: str, start: int) -> str:
    """The heading that a sentence starts with, where a text is not divided: "FAMILY HISTORY: mother with gout"."""
    match = _LEAD.match(sentence, 0, start) if ":" in sentence else None
    return match[1] if match and level(match[1]) == "section" else ""


def _stated(sentence: str, start: int, end: int, called: str) -> str:
    """What the sentence states, or "" if it has no cue for the mention: then it is present unless its section differs."""
    said = answer(sentence, start, end)
    if said and said != "present":
        return said
    layers = _layers(_hidden(sentence, start, end))
    state = _winner(layers.state, start, end)
    if state in ("ruled-out", "hypothetical"):
        return state
    if _winner(layers.kin, start, end):
        return "family"
    if state:
        return state
    past = _winner(layers.past, start, end) or (HISTORY if _is_dated(sentence, end) else "")
    if past and not (past == HISTORY and is_chronic(called)):
        return "historical"
    return "present" if said or past else ""


def _is_dated(sentence: str, end: int) -> bool:
    """Whether a year follows the mention that ends at `end`: "pneumonia 2019"."""
    has_year = sentence.find("20", end) >= 0 or sentence.find("19", end) >= 0
    return has_year and _YEAR_AFTER.match(sentence, end) is not None


def _is_alternative(sentence: str, start: int, end: int) -> bool:
    """Whether a mention is one of two that a sentence leaves open: "tiny polyp or adherent stone"."""
    first = max(0, start - 40)
    return bool(
        _OR_AFTER.match(sentence, end)
        or (_MAY_BE_OR.search(sentence, first, start) and _OR_BEFORE.search(sentence, first, start))
    )


def _hidden(sentence: str, start: int, end: int) -> str:
    """`sentence`; a mention whose name contains cues ("influenza vaccine", "graft versus host disease") is hidden."""
    if not _has_cue(sentence[start:end]):
        return sentence
    return sentence[:start] + "x" * (end - start) + sentence[end:]


@lru_cache(_KEPT_NAMES)
def _has_cue(name: str) -> bool:
    return any(cue.kind not in ("before", "skip", "keep") for cue in assertion_cues().find(name))


def _winner(found: Sequence[Scope], start: int, end: int) -> str:
    inside = [scope for scope in found if scope.covers(start, end)] if found else ()
    if not inside:
        return ""
    # "Return if the fever is not gone": a condition covers whatever its clause states.
    if any(scope.states == "hypothetical" and scope.cue.kind in _IF for scope in inside):
        return "hypothetical"
    states = min(inside, key=lambda scope: scope.rank(start)).states
    return "ruled-out" if states == "absent" else states


@lru_cache(_KEPT)
def _layers(sentence: str) -> _Layers:
    found = [cue for cue in assertion_cues().find(sentence) if cue.kind not in ("keep", "skip")]
    if all(cue.kind in _SILENT for cue in found):
        return _Layers((), (), ())
    plain = [cue for cue in found if cue.kind != "family-end"]
    state = [cue for cue in plain if cue.says not in (*_PAST, "family")]
    past = [cue for cue in plain if cue.says != "family"]
    kin = [cue for cue in plain if cue.says not in _PAST]
    return _Layers(
        tuple(_scopes(sentence, state, found)),
        tuple(scope for scope in _scopes(sentence, past, found) if scope.cue.says in _PAST)
        if any(cue.says in _PAST for cue in past)
        else (),
        tuple(scope for scope in _scopes(sentence, kin, found) if scope.states == "family")
        if any(cue.says == "family" for cue in kin)
        else (),
    )


def _scopes(sentence: str, chosen: Sequence[Cue], every: Sequence[Cue]) -> Iterator[Scope]:
    """The scopes of lists, as in negation, and those of single words and whole clauses."""
    lists = [cue for cue in chosen if "-" not in cue.kind or cue.kind.startswith("doubt")]
    yield from scopes(sentence, lists)
    for cue in chosen:
        reach, _, direction = cue.kind.partition("-")
        if reach == "next":
            yield from _next(sentence, cue, direction)
        elif reach == "clause":
            yield from _clause(sentence, cue, direction, every)


def _next(sentence: str, cue: Cue, direction: str) -> Iterator[Scope]:
    if direction in ("before", "either"):
        words = list(re.finditer(r"\S+", sentence[cue.end : cue.end + 80]))[: _NEXT_WORDS + 1]
        stop = cue.end + (words[-1].end() if words else 0)
        found = _NEXT_BREAK.search(sentence, cue.end, stop)
        yield Scope(cue.start + 1, found.start() if found else stop, cue, cue.says)
    if direction in ("after", "either"):
        yield Scope(_last_words(sentence, cue.start), cue.start, cue, cue.says)


def _last_words(sentence: str, end: int) -> int:
    """Where the noun phrase right before `end` starts: at most five words, without punctuation or prepositions."""
    start = max(0, end - 60)
    breaks = [match.end() for match in _NEXT_BREAK.finditer(sentence, start, len(sentence[:end].rstrip(" :(")))]
    return max([start, *breaks])


def _clause(sentence: str, cue: Cue, direction: str, every: Sequence[Cue]) -> Iterator[Scope]:
    if direction in ("before", "either"):
        stops = [match.start() for match in _CLAUSE_END.finditer(sentence, cue.end)][:1]
        if cue.says == "family":
            stops += [match.start() for match in _OTHER_SUBJECT.finditer(sentence, cue.end)][:1]
            stops += [other.start for other in every if other.kind == "family-end" and other.start >= cue.end][:1]
        yield Scope(cue.end, min([len(sentence), *stops]), cue, cue.says)
    if direction in ("after", "either"):
        if cue.says in _PAST and not sentence[: cue.start].strip():  # "Two years ago she had a seizure."
            yield from _clause(sentence, cue, "before", every)
        starts = [match.end() for match in _CLAUSE_START.finditer(sentence, 0, cue.start)]
        yield Scope(max([0, *starts]), cue.start, cue, cue.says)
