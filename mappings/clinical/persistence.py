"""Which conditions last ("history of diabetes" is diabetes today, that of pneumonia is not), and what is done, not had."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.screens import blanked
from mappings.clinical.concepts import shipped_concepts

_KEPT: Final = 20_000
_DONE: Final = frozenset(["drugs", "drug-classes", "procedures", "devices"])
"""The groups of concepts that are done or taken, not had."""
_LONGEST: Final = 5

_AFTER_DONE: Final = re.compile(
    r"\b(?:after|following|post|since)\s(?:(?:an?|the|his|her|their|recent|elective|emergency|urgent|open|laparoscopic|robotic|total|partial|left|right|bilateral|uneventful|uncomplicated|"
    r"first|second|last|previous|prior|successful|failed|minor|major|two|three|six|courses?\sof|cycles?\sof|sessions?\sof|fractions\sof)\s){0,3}$",
    re.I,
)
_OPERATION: Final = re.compile(
    r"(?:ectomy|otomy|ostomy|plasty|surgery|operation|repair|replacement|bypass|transplant(?:ation)?|grafts?|grafting|ablation|stent(?:ing)?|removal|fusion|emboli[sz]ation|radiotherapy|"
    r"delivery|section|procedure|resection|excision|dissection|fixation|ORIF|CABG|PCI|TURP|ERCP|TAVI|TAVR|amputation|cardioversion|thrombolysis)\b",
    re.I,
)
"""What is over when something is told to be after it: "did well after appendectomy"."""


@lru_cache(_KEPT)
def is_chronic(name: str) -> bool:
    """Whether a mention or a concept's name is that of a chronic condition."""
    chronic, passing = _patterns()
    return bool(chronic.search(name)) and not passing.search(name)


@lru_cache(_KEPT)
def is_intervention(name: str) -> bool:
    """Whether a mention or a concept's name is that of an operation, an examination, a therapy or a drug."""
    return bool(_interventions().search(name) or _is_named(name)) and not _of_interventions().search(name)


def is_past_operation(name: str, before: str) -> bool:
    """Whether a mention is an operation that something is told to be after; `before` precedes it."""
    return _is_operation(name) and _AFTER_DONE.search(before) is not None


@lru_cache(_KEPT)
def _is_operation(name: str) -> bool:
    return _OPERATION.search(name) is not None


def _is_named(text: str) -> bool:
    """Whether some words of `text` are the name of a drug, an operation, an examination or a device in the lexicon."""
    names, words = _names(), _words(text)
    return any(
        " ".join(words[start:end]) in names
        for start in range(len(words))
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1)
    )


def _words(text: str) -> list[str]:
    return blanked(text.lower()).split()


@cache
def _names() -> frozenset[str]:
    return frozenset(
        f"{' '.join(_words(name))}{ending}"
        for concept in shipped_concepts()
        if concept.group in _DONE
        for name in concept.names
        for ending in ("", "s")
    )


@cache
def _interventions() -> re.Pattern[str]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    endings = "|".join(map(re.escape, words["intervention-ending"]))
    whole = "|".join(map(re.escape, words["intervention"]))
    return re.compile(rf"\b(?:\w+(?:{endings})s?|(?:{whole})s?)(?!\w)", re.IGNORECASE)


@cache
def _of_interventions() -> re.Pattern[str]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    endings = "|".join(map(re.escape, words["intervention-condition"]))
    return re.compile(rf"-(?:induced|related|associated)\b|(?:{endings})\s*$", re.IGNORECASE)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    chronic, passing = (
        re.compile(rf"\b(?:{'|'.join(map(re.escape, words[kind]))})(?!\w)", re.IGNORECASE)
        for kind in ("chronic", "passing")
    )
    return chronic, passing
