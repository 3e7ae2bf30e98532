"""Validates field values and vectors before indexing: every engine rejects the same ones, with the same messages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mappings.collection import Collection
from mappings.documents import FieldValue
from mappings.errors import InvalidInput, ModelError
from mappings.fields import FieldType
from search.engines.codec import encodable
from search.protocols import IndexEntry
from search.query import FacetCount, LexicalQuery, Phrase

Key = TypeVar("Key", str, tuple[str, ...])

MAX_KEYWORD_BYTES: Final = 8_191
FACET_VALUES: Final = 100
"""Most values of one facet."""

MAX_VALUES: Final = 60_000
"""Most values of a field that are counted at once; engines allow about 65,000."""


def field_kind(fields: Mapping[str, FieldType], name: str) -> FieldType:
    """The type of a field. Raises `InvalidInput` for one that the index does not have."""
    if name not in fields:
        known = ", ".join(sorted(fields)) or "none"
        raise InvalidInput(
            f"this index has no field {name!r}; it has {known}. `medley index rebuild` adds the fields that are new in the kind",
            field=name,
        )
    return fields[name]


def indexable(name: str, kind: FieldType, value: FieldValue) -> list[str] | list[float] | list[date]:
    """A document's value as a list of indexable values. Raises `InvalidInput` for one of another type."""
    if kind == "keyword":
        return _keywords(name, value)
    if kind == "date":
        if not isinstance(value, date):
            raise InvalidInput(f"field {name!r} must be a date, not {value!r:.80}", field=name)
        return [value]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"field {name!r} must be a finite number, not {value!r:.80}", field=name)
    return [float(value) + 0.0]


def _keywords(name: str, value: FieldValue) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    for item in values:
        if not isinstance(item, str):
            raise InvalidInput(f"field {name!r} must be text, not {item!r:.80}", field=name)
        if len(item.encode(errors="replace")) > MAX_KEYWORD_BYTES:
            raise InvalidInput(f"field {name!r} must have at most {MAX_KEYWORD_BYTES:,} bytes", field=name)
    return sorted({str(item) for item in values})


def filter_value(name: str, kind: FieldType, value: str) -> str | float | date:
    """A filter's value, parsed from text as the field's type. Raises `InvalidInput`."""
    try:
        if kind == "number":
            return float(value) + 0.0
        return date.fromisoformat(value) if kind == "date" else encodable(value)
    except ValueError:
        expected = "a number" if kind == "number" else "a date such as 2020-12-31"
        raise InvalidInput(f"the filter on {name!r} must be {expected}, not {value!r:.80}", field=name) from None


def check_range(name: str, kind: FieldType) -> None:
    """Raise `InvalidInput` for a range over text."""
    if kind == "keyword":
        raise InvalidInput(f"field {name!r} is text, which has no ranges; filter it by its values", field=name)


def range_bound(name: str, kind: FieldType, bound: float | date) -> float | date:
    """A bound of a range over a field of `kind`. Raises `InvalidInput`."""
    if kind == "date" and isinstance(bound, date):
        return bound
    if kind == "number" and not isinstance(bound, date) and not math.isnan(bound):
        return float(bound) + 0.0
    raise InvalidInput(f"the range of {name!r} must be {kind}s, not {bound!r:.80}", field=name)


def check_vectors(entry: IndexEntry, dimensions: Mapping[str, int]) -> None:
    """Raise `ModelError` unless an entry has all its vectors or none, and token vectors of every passage or none.

    All are finite rows of its dimension, for every vector field.
    """
    for name, dimension in dimensions.items() if entry.vectors else ():
        if name not in entry.vectors:
            raise ModelError(f"{name}: document {entry.document!r} has only other vectors", field=name)
        _check_rows(name, entry.vectors[name], sum(entry.rows), dimension)
    if entry.tokens and len(entry.tokens) != len(entry.passages):
        found = f"token vectors of {len(entry.tokens)} passages, and {len(entry.passages)} passages"
        raise ModelError(f"document {entry.document!r} has {found}", field="tokens")


def _check_rows(field: str, vectors: NDArray[np.float32], rows: int, dimension: int) -> None:
    if vectors.shape != (rows, dimension):
        raise ModelError(
            f"{field}: the vectors have shape {vectors.shape}; the index expects ({rows}, {dimension})", field=field
        )
    if not np.isfinite(vectors).all():
        raise ModelError(f"{field}: the encoder returned a vector that is not finite", field=field)


def check_query_vector(index: str, dimensions: Mapping[str, int], name: str, vector: NDArray[np.float32]) -> None:
    """Raise `ModelError` unless `index` has the vector field `name` in the query vector's dimension."""
    dimension = dimensions.get(name)
    if dimension is None:
        known = ", ".join(dimensions) or "none"
        raise ModelError(f"index {index} has no vectors {name!r}; it has {known}", field=name)
    if vector.shape != (dimension,):
        raise ModelError(
            f"{name}: the query vector has shape {vector.shape}; the index expects ({dimension},)", field=name
        )


def drift(fields: Mapping[str, FieldType], windows: int, wanted: Collection) -> list[str]:
    """How an index with these fields and windows differs from its collection's current settings, in plain words."""
    today = wanted.index_fields
    found = [f"field {name!r} is missing" for name in sorted(today.keys() - fields.keys())]
    found += [f"field {name!r} is no longer in the settings" for name in sorted(fields.keys() - today.keys())]
    found += [
        f"field {name!r} is a {fields[name]} in the index and a {today[name]} in the settings"
        for name in sorted(today.keys() & fields.keys())
        if today[name] != fields[name]
    ]
    if windows != wanted.window_words:
        found.append(f"its vectors are of windows of {windows} words; the settings say {wanted.window_words}")
    return found


def top_values(counts: Iterable[FacetCount]) -> tuple[FacetCount, ...]:
    """The most frequent values of a facet, ties by value."""
    return tuple(sorted(counts, key=lambda item: (-item.count, item.value))[:FACET_VALUES])


def by_year(counts: Iterable[tuple[date, int]]) -> tuple[FacetCount, ...]:
    """The years of days, each with the sum of their counts, as the values of a facet."""
    years: Counter[int] = Counter()
    for day, count in counts:
        years[day.year] += count
    return top_values(FacetCount(f"{year:04}", count) for year, count in years.items())


def number_text(number: float) -> str:
    """A number as the value of a facet: 2001, not 2001.0."""
    return f"{number:.15g}"


def summed(weighted: Sequence[tuple[Key, float]]) -> Mapping[Key, float]:
    """Each key once with the sum of its weights, which is the BM25 score of a repeated word."""
    total: dict[Key, float] = {}
    for key, weight in weighted:
        total[key] = total.get(key, 0.0) + weight
    return total


def every_phrase(query: LexicalQuery) -> Iterable[Phrase]:
    """Each phrase of a query once, those of its alternatives, too."""
    others = (words for item in query.alternatives for words, _ in item.phrases)
    return dict.fromkeys([*(words for words, _ in query.phrases), *others])


class TermGroup(NamedTuple):
    """The terms of a query that name one thing, with their weights, and the phrases that can stand in their place."""

    terms: Mapping[str, float]
    phrases: Mapping[Phrase, float]


def grouped(query: LexicalQuery) -> tuple[list[TermGroup], Mapping[str, float]]:
    """The groups of a query with alternatives, and the terms of no group with their weights.

    A term belongs to the first group that names it. A group without terms stays: one of its phrases counts.
    """
    rest = dict(summed(query.terms))
    groups = []
    for typed, phrases in query.alternatives:
        own = {term: rest.pop(term) for term in typed if term in rest}
        groups.append(TermGroup(own, summed(phrases)))
    return groups, rest
