"""The clauses with a text or a vector, which rank: `match`, `multi_match`, `neural` and `knn`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mappings.collection import Collection
from mappings.errors import InvalidInput
from search.query import MAX_QUERY_CHARACTERS
from search.understanding.syntax import parse
from web.compatible.query.fields import one_value
from web.compatible.query.wanted import Wanted
from web.compatible.shapes import (
    a_list,
    a_text,
    a_whole,
    an_object,
    check_keys,
    only_entry,
    quoted,
    some_texts,
    unsupported,
)

TEXT: Final = "text"
"""As a field: all that is searched of a passage, its title and heading too."""

TITLE: Final = "title"
SEARCHED: Final = (TITLE, "heading", TEXT)
_MATCH_NEUTRAL: Final = {
    "auto_generate_synonyms_phrase_query": (True,),
    "boost": (1, 1.0),
    "lenient": (True, False),
    "operator": ("or", "OR"),
    "zero_terms_query": ("none",),
}
MAX_DIMENSION: Final = 10_000
_KINDS: Final = ("best_fields", "cross_fields")
_COLON: Final = re.compile(r"(?<=\w):(?=\S)")
_DASHES: Final = re.compile(r"(?<!\S)-+(?=\S)")
_QUOTES: Final = str.maketrans(dict.fromkeys('"“”„‟«»', " "))


def match(value: Any, where: str, collection: Collection) -> Wanted:
    """A text, or a value of another field, for which OpenSearch reads a `match` as a `term`."""
    name, given = only_entry(value, where)
    where = f"{where}.{name}"
    options = given if isinstance(given, dict) else {"query": given}
    check_keys(options, ("query",), where, _MATCH_NEUTRAL)
    if name in collection.fields:
        return one_value(name, options.get("query"), where, collection)
    if name != TEXT:
        raise _not_searched(name, where, collection)
    return Wanted(as_words(options.get("query"), where, collection))


def multi_match(value: Any, where: str, collection: Collection) -> Wanted:
    """A text in several fields, of which `text` must be one: title and heading can't be searched without it."""
    options = an_object(value, where)
    check_keys(options, ("query", "fields", "type"), where, {**_MATCH_NEUTRAL, "tie_breaker": (0, 0.0)})
    if (kind := options.get("type", _KINDS[0])) not in _KINDS:
        raise unsupported(f"[multi_match] of the type {quoted(kind)}", where, f"supported are {', '.join(_KINDS)}")
    names = some_texts(options.get("fields", [TEXT]), f"{where}.fields")
    for name in names:
        if "^" in name:
            raise unsupported(f"the boost in {quoted(name)}", where, "the collection has the weights of its fields")
        if name not in (*SEARCHED, "*"):
            raise _not_searched(name, where, collection)
    if not {TEXT, "*"} & set(names):
        raise _not_searched(names[0], where, collection)
    return Wanted(as_words(options.get("query"), where, collection))


def neural(value: Any, where: str, collection: Collection) -> tuple[Wanted, Mapping[str, Any]]:
    """A text for the vectors, and the options of the clause, whose `filter` is left to the caller."""
    where, _, options = _nearest(value, where, collection, "query_text")
    return Wanted(as_words(options.get("query_text"), where, collection)), options


def knn(value: Any, where: str, collection: Collection) -> tuple[Wanted, Mapping[str, Any]]:
    """A vector of the client's own, and the options of the clause, whose `filter` is left to the caller."""
    where, name, options = _nearest(value, where, collection, "vector")
    vector = a_list(options.get("vector"), where)
    if len(vector) > MAX_DIMENSION or not all(type(item) in (int, float) for item in vector):
        raise InvalidInput(f"[vector] must be a list of at most {MAX_DIMENSION:,} numbers", field=where)
    try:
        return Wanted(vectors=((name, tuple(map(float, vector))),)), options
    except OverflowError:
        raise InvalidInput("[vector] has a number that is too large", field=where) from None


def _nearest(value: Any, where: str, collection: Collection, given: str) -> tuple[str, str, Mapping[str, Any]]:
    """The place, the vector field and the options of a clause about vectors.

    `k` is at most a page: every leg of a search returns at least as many documents. `method_parameters` say how carefully a
    graph is searched, which is chosen here.
    """
    name, options = only_entry(value, where)
    where = f"{where}.{name}"[:300]
    if name not in collection.vectors:
        known = ", ".join(collection.vectors) or "none"
        raise InvalidInput(f"there is no vector field {quoted(name)}; there are: {known}", field=where)
    if "model_id" in an_object(options, where):
        raise unsupported("[model_id]", where, "the index knows by which model its vectors were made; leave it out")
    check_keys(options, (given, "k", "filter", "method_parameters"), where)
    an_object(options.get("method_parameters", {}), f"{where}.method_parameters")
    a_whole(options.get("k", 10), f"{where}.k", 1, 100)
    return where, name, options


def as_words(value: Any, where: str, collection: Collection) -> str:
    """A text whose quotes, dashes and colons mean nothing, as in OpenSearch; those of the search box do.

    Raises `InvalidInput` for anything but a text.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    text = a_text(value, where).strip()
    if len(text) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"the text has {len(text):,} characters; at most {MAX_QUERY_CHARACTERS:,} are allowed", field=where
        )
    read = parse(text, collection.fields)
    if not (read.phrases or read.excluded or read.filters or read.ids or read.notes):
        return text
    words = _DASHES.sub(" ", _COLON.sub(": ", text.translate(_QUOTES)))  # a dash can follow a colon
    return a_text(" ".join(words.split()), where)


def _not_searched(name: str, where: str, collection: Collection) -> InvalidInput:
    known = ", ".join((TEXT, *collection.fields))
    instead = f"[{TEXT}] is searched with its title and heading, and fields by their values; there are: {known}"
    return unsupported(f"a text in {quoted(name)} alone", where, instead)
