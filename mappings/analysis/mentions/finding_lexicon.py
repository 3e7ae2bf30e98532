"""The findings of `lexicons/findings.tsv`: variants, wider findings, and the parts whose normal state rules them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mappings.analysis.lexicon import rows
from mappings.analysis.mentions.phrases import Phrases


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """A finding. `parent`: the wider finding, or ""; `variants` start with the name; `parts` rule it out if they are normal."""

    name: str
    parent: str
    variants: tuple[str, ...]
    parts: tuple[str, ...]


@cache
def finding_entries() -> dict[str, FindingEntry]:
    """The findings by name, in the order of the file."""
    return {entry.name: entry for entry in _read()}


def _read() -> Iterator[FindingEntry]:
    for row in rows("findings"):
        if not row[0].startswith(":"):
            name, parent, variants, parts = row
            yield FindingEntry(name, parent.strip("-"), (name, *_split(variants)), _split(parts))


def _split(column: str) -> tuple[str, ...]:
    return () if column == "-" else tuple(column.split("|"))


def ancestors(name: str) -> tuple[str, ...]:
    """The wider findings that `name` implies, nearest first: a tension pneumothorax is a pneumothorax."""
    parent = finding_entries()[name].parent
    return (parent, *ancestors(parent)) if parent else ()


def family(name: str) -> str:
    """The widest finding above `name`, or `name` itself; a split never separates a family."""
    return (name, *ancestors(name))[-1]


@cache
def variants() -> tuple[tuple[str, ...], Phrases]:
    """The finding of each variant by number, "" for a phrase that only looks like one, and the index of the variants."""
    found = [(entry.name, variant) for entry in finding_entries().values() for variant in entry.variants]
    found += [("", phrase) for phrase in _class("other")]
    return tuple(name for name, _ in found), Phrases(variant for _, variant in found)


@cache
def parts() -> tuple[tuple[tuple[str, ...], ...], Phrases]:
    """The findings that each part rules out, by number, and the index of the parts."""
    found: dict[str, list[str]] = {}
    for entry in finding_entries().values():
        for part in entry.parts:
            found.setdefault(part, []).append(entry.name)
    return tuple(map(tuple, found.values())), Phrases(found)


@cache
def words(name: str) -> re.Pattern[str]:
    """A pattern for the words of the class `:name`."""
    alternatives = (r"\s+(?:\w+\s+)?".join(map(re.escape, phrase.split())) for phrase in _class(name))
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


def _class(name: str) -> tuple[str, ...]:
    return next(_split(row[1]) for row in rows("findings") if row[0] == f":{name}")
