"""Values, texts and files as the pages show them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from flask import url_for

from mappings.collection import Collection
from mappings.documents import FieldValue
from search.pipeline.results import Span

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


def format_value(value: FieldValue) -> str:
    """A field's value for people."""
    if isinstance(value, date):
        return f"{value.day} {value:%B %Y}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Detail:
    """A field's title and value; the title is shown if it is `named`, because the value alone would not explain itself."""

    title: str
    value: str
    named: bool


def details(fields: Mapping[str, FieldValue], collection: Collection) -> list[Detail]:
    """The fields of a document, in the collection's order; a year that a date already shows is left out."""
    years = {float(value.year) for value in fields.values() if isinstance(value, date)}
    present = [item for item in collection.fields.values() if fields.get(item.name) not in (None, "", ())]
    shown = [item for item in present if not (item.name == "year" and fields[item.name] in years)]
    return [Detail(item.title, format_value(fields[item.name]), item.type == "keyword") for item in shown]


def count_noun(number: int, noun: str) -> str:
    """A number with its noun; empty for zero."""
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def range_in_words(value: str) -> str:
    """A range such as `2015..2020` in words."""
    if ".." not in value:
        return value
    low, _, high = value.partition("..")
    return f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
