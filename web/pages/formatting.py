"""Values, texts and files as the pages show them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from flask import url_for

from mappings.collection import Collection
from mappings.documents import FieldValue
from search.pipeline.results import Span
from web.citations.citation import stated_parts
from web.citations.identifiers import ADDRESSES

STATIC: Final = Path(__file__).parent / "static"

Segments = list[tuple[str, bool]]
"""Pieces of a text, and whether each is marked."""


@cache
def asset(name: str) -> str:
    """The address of a static file; it changes with the file, so browsers can cache it."""
    mark = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:10]
    return url_for("static", filename=name, v=mark)


def segments(text: str, spans: Iterable[Span]) -> Segments:
    """`text` cut at the spans; those that overlap or lie outside are skipped."""
    pieces: Segments = []
    at = 0
    for span in sorted(spans, key=lambda item: item.start):
        if at <= span.start < span.end <= len(text):
            pieces += [(text[at : span.start], False), (text[span.start : span.end], True)]
            at = span.end
    return [piece for piece in (*pieces, (text[at:], False)) if piece[0]]


BRIEF_VALUES: Final = 3
"""How many values of a list a hit shows."""


def format_value(value: FieldValue, at_most: int | None = None) -> str:
    """A field's value for people: of several keywords only the first `at_most`, and how many more there are."""
    if isinstance(value, date):
        return f"{value.day} {value:%B %Y}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _listed(value[:at_most], len(value)) if isinstance(value, tuple) else str(value)


def _listed(values: Sequence[str], total: int) -> str:
    """The values in a row, with semicolons between those that have commas themselves, such as names."""
    text = ("; " if any("," in item for item in values) else ", ").join(values)
    return f"{text} and {total - len(values)} more" if total > len(values) else text


@dataclass(frozen=True, slots=True)
class OutwardLink:
    """A value that leads to another site, such as a DOI. Nothing is loaded from there."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Detail:
    """A field's title and value; the title is shown if it is `named`, because the value alone would not explain itself.

    `links` are its values one by one if any of them leads somewhere; those without an address are plain text.
    """

    title: str
    value: str
    named: bool
    links: tuple[OutwardLink, ...] = ()


def details(fields: Mapping[str, FieldValue], collection: Collection, of_hit: bool = False) -> list[Detail]:
    """The fields of a document, in the collection's order; a year that a date already shows is left out.

    For a hit, lists are cut, and fields that the kind keeps from hits are left out.
    """
    years = {float(value.year) for value in fields.values() if isinstance(value, date)}
    present = [item for item in collection.fields.values() if fields.get(item.name) not in (None, "", ())]
    shown = [item for item in present if not (item.name == "year" and fields[item.name] in years)]
    at_most = BRIEF_VALUES if of_hit else None
    return [
        Detail(
            item.title,
            _as_known(item.name, fields[item.name]) or format_value(fields[item.name], at_most),
            item.type == "keyword",
            _links(item.name, fields[item.name]),
        )
        for item in shown
        if item.in_hits or not of_hit
    ]


def _as_known(name: str, value: FieldValue) -> str:
    """A month or a year of publication where the source states no more; "" for anything else."""
    if name != "published" or not isinstance(value, date):
        return ""
    return {1: str(value.year), 2: f"{value:%B} {value.year}"}.get(stated_parts(value), "")


def _links(name: str, value: FieldValue) -> tuple[OutwardLink, ...]:
    """The values with their addresses; empty if none has one."""
    address_of = ADDRESSES.get(name)
    if address_of is None or not isinstance(value, str | tuple):
        return ()
    texts = value if isinstance(value, tuple) else (value,)
    links = tuple(OutwardLink(text, address_of(text)) for text in texts)
    return links if any(link.url for link in links) else ()


def count_noun(number: int, noun: str) -> str:
    """A number with its noun; empty for zero."""
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def range_in_words(value: str) -> str:
    """A range such as `2015..2020` in words."""
    if ".." not in value:
        return value
    low, _, high = value.partition("..")
    return f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
