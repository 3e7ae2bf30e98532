"""The findings of `lexicons/findings.tsv`: their variants, what they are a kind of, and what rules them out by being normal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mappings.analysis.lexicon import rows
from mappings.analysis.phrases import Phrases


@dataclass(frozen=True, slots=True)
class Concept:
    """A finding. `parent` is the wider finding, "" for none; `variants` begin with the name; `parts` rule it out when normal."""

    name: str
    parent: str
    variants: tuple[str, ...]
    parts: tuple[str, ...]


@cache
def concepts() -> dict[str, Concept]:
    """The findings by name, in the order of the file."""
    return {concept.name: concept for concept in _read()}


def _read() -> Iterator[Concept]:
    for row in rows("findings"):
        if not row[0].startswith(":"):
            name, parent, variants, parts = row
            yield Concept(name, parent.strip("-"), (name, *_split(variants)), _split(parts))


def _split(column: str) -> tuple[str, ...]:
    return () if column == "-" else tuple(column.split("|"))


def ancestors(name: str) -> tuple[str, ...]:
    """The wider findings that `name` implies, the nearest first: a tension pneumothorax is a pneumothorax."""
    parent = concepts()[name].parent
    return (parent, *ancestors(parent)) if parent else ()


def family(name: str) -> str:
    """The widest finding above `name`, or `name` itself: what may not stand on both sides of a split."""
    return (name, *ancestors(name))[-1]


@cache
def variants() -> tuple[tuple[str, ...], Phrases]:
    """The name of each variant by its number, and the index of the variants; "" for what only looks like a finding."""
    found = [(concept.name, variant) for concept in concepts().values() for variant in concept.variants]
    found += [("", phrase) for phrase in _class("other")]
    return tuple(name for name, _ in found), Phrases(variant for _, variant in found)


@cache
def parts() -> tuple[tuple[tuple[str, ...], ...], Phrases]:
    """The findings that each part rules out by its number, and the index of the parts."""
    found: dict[str, list[str]] = {}
    for concept in concepts().values():
        for part in concept.parts:
            found.setdefault(part, []).append(concept.name)
    return tuple(map(tuple, found.values())), Phrases(found)


@cache
def words(name: str) -> re.Pattern[str]:
    """What finds a word of the class `:name`."""
    alternatives = (r"\s+(?:\w+\s+)?".join(map(re.escape, phrase.split())) for phrase in _class(name))
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


def _class(name: str) -> tuple[str, ...]:
    return next(_split(row[1]) for row in rows("findings") if row[0] == f":{name}")
