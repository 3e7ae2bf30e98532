"""Checks on the values of a collection kind's file; each error names the key, the value and what would be valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TypeGuard

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        *("title", "group_by", "default_labels", "passages", "bm25", "fields", "vectors"),
        *("discourse", "fusion", "feedback", "rerank", "stance", "answers", "opensearch"),
        *("private_queries", "reads_queries"),
    ),
    "passages": ("granularity", "max_words", "window_words", "context", "sections", "concepts", "studies", "marking"),
    "passages.marking": ("stated", "ruled_out"),
    "bm25": ("title_boost", "heading_boost", "name_weight"),
    "discourse": ("model",),
    "fusion": ("method", "normalisation", "weights"),
    "feedback": ("passages", "share"),
    "rerank": ("model", "candidates", "deadline_ms", "weight", "first", "parts"),
    "rerank.first": ("model", "keep", "weight"),
    "rerank.parts": ("words", "best"),
    "stance": ("model", "deadline_ms"),
    "answers": ("hit", "unread", "page"),
    "opensearch": ("shards", "replicas", "vector_bits"),
}
"""Every key of a kind's file, by table. Only `fields` and `vectors` have keys that a kind chooses itself."""

VECTOR_BITS: Final = (32, 7)
"""The bits of a value in a vector field on OpenSearch; 32 is not quantised. A search of one bit ends a node of 3.6."""

FIELD_KEYS: Final = ("type", "title", "facet", "in_hits", "identifies")
"""Every key of a table `fields.NAME`."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("title", "group_by", "default_labels", "passages", "bm25", "vectors", "fusion", "rerank"),
    "passages": ("granularity", "max_words", "context", "sections"),
    "bm25": ("title_boost", "heading_boost"),
    "discourse": ("model",),
}
"""The keys that a file must have, by table; those of the other tables are required by the dataclasses they become."""


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a number; booleans, infinity and NaN are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise `ValueError` unless `value` is a whole number, `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, not {value!r}")


def check_numbers(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `value` is a table of numbers by some of the `known` names."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a table, not {value!r}")
    for key, number in value.items():
        check_one_of(f"a key of {name}", key, known)
        if not is_number(number):
            raise ValueError(f"{name}.{key} must be a number, not {number!r}")


def check_flag(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, not {value!r}")


def check_weight(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a number, 0 or more."""
    if not is_number(value) or value < 0:
        raise ValueError(f"{name} must be a number, 0 or more, not {value!r}")


def check_share(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}")


def check_text(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a string that is not blank."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string in quotes, not {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must be a non-empty string, not {value!r}")


def check_one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `value` is one of `known`."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def check_vector_bits(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a number of bits for which OpenSearch's quantiser is known to work, or 32."""
    if isinstance(value, bool) or value not in VECTOR_BITS:
        raise ValueError(f"{name} must be one of {', '.join(map(str, VECTOR_BITS))}, not {value!r}")


def check_replicas(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a whole number, 0 or more, or a range as OpenSearch writes it: `0-2`, `0-all`."""
    is_range = isinstance(value, str) and re.fullmatch(r"[0-9]-([0-9]|all)", value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not (is_range or is_count):
        raise ValueError(f"{name} must be a whole number, or a range such as '0-2', not {value!r}")


def check_keys(table: str, data: object) -> None:
    """Raise `ValueError` for an unknown key, which is probably a typing error, or a missing one, also in nested tables."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{table} must be a table, not {data!r}")
    for key, value in data.items():
        name = f"{table}.{key}".lstrip(".")
        if key not in KEYS[table]:
            raise ValueError(f"{name} is not a known key; the known keys are {', '.join(KEYS[table])}")
        if name in KEYS:
            check_keys(name, value)
    for key in REQUIRED.get(table, ()):
        if key not in data:
            raise ValueError(f"{table}.{key}".lstrip(".") + " is missing")


def parse_field_table(name: str, data: object) -> Mapping[str, Any]:
    """The table of the field `name`. Raises `ValueError` unless it is a table of known keys."""
    if not isinstance(data, Mapping):
        raise ValueError(f"fields.{name} must be a table with {', '.join(FIELD_KEYS)}")
    if unknown := sorted(data.keys() - set(FIELD_KEYS)):
        known = ", ".join(FIELD_KEYS)
        raise ValueError(f"fields.{name}.{unknown[0]} is not a known key; the known keys are {known}")
    return data


def check_leg_weights(weights: object, legs: tuple[str, ...]) -> None:
    """Raise `ValueError` unless `fusion.weights` maps legs to numbers, 0 or more."""
    if not isinstance(weights, Mapping):
        raise ValueError(f"fusion.weights must be a table of legs and numbers, not {weights!r}")
    for leg, weight in weights.items():
        if leg not in legs:
            raise ValueError(f"fusion.weights.{leg}: there is no such leg; the legs are {', '.join(legs)}")
        check_weight(f"fusion.weights.{leg}", weight)


def parse_labels(value: object) -> frozenset[str]:
    """The default labels of a kind. Raises `ValueError` unless `value` is a list of non-empty strings."""
    if not isinstance(value, list) or not all(isinstance(label, str) and label for label in value):
        raise ValueError(f"default_labels must be a list of non-empty strings, not {value!r}")
    return frozenset(value)
