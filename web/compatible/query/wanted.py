"""What a query of OpenSearch's asks for, as one search of ours can: how clauses add up, and which do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from search.query import Filter, NoneOf, Terms
from search.understanding.filters import MAX_VALUES
from web.compatible.shapes import unsupported

MAX_IDS: Final = 12
"""How many ids one search can name: a longer text is not read for operators (`search.understanding.syntax`)."""

_ONE_TEXT: Final = "a search is ranked by one text: join the texts, or send one search for each"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Documents that pass every filter and have one of `ids` (if there are any), found and ranked by `text` and `vectors`.

    With `optional`, and without either of them, every document that passes is found, and they only decide on the order.
    `vectors` has the name of a vector field with the values.
    """

    text: str = ""
    optional: bool = False
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] = ()
    vectors: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @property
    def ranks(self) -> bool:
        """Whether it says how to order what is found."""
        return bool(self.text or self.vectors)


def every(parts: Sequence[Wanted], where: str) -> Wanted:
    """What all of `parts` ask for together; without any, every document. Raises `InvalidInput`."""
    return reduce(lambda one, other: _both(one, other, where), parts, Wanted())


def _both(one: Wanted, other: Wanted, where: str) -> Wanted:
    if one.text and other.text and one.text != other.text:
        raise unsupported("a search with several different texts", where, _ONE_TEXT)
    if (one.vectors or other.vectors) and one.ranks and other.ranks:
        raise unsupported("a vector beside a text or a vector", where, "put them into [hybrid]")
    if one.ids and other.ids and one.ids != other.ids:
        raise unsupported("a search with several lists of ids", where, "give the ids that are in all of them")
    ranking = [item for item in (one, other) if item.ranks]
    ids = one.ids or other.ids
    if ranking and ids:
        raise unsupported("a search with a text or a vector, and ids", where, "ids can be combined with filters only")
    return Wanted(
        text=one.text or other.text,
        optional=bool(ranking) and all(item.optional for item in ranking),
        filters=tuple(dict.fromkeys((*one.filters, *other.filters))),
        ids=ids,
        vectors=one.vectors or other.vectors,
    )


def any_of(parts: Sequence[Wanted], where: str) -> Wanted:
    """What at least one of `parts` asks for: one text and its vectors, values of one field, or ids.

    Raises `InvalidInput` for anything else.
    """
    first = parts[0]
    if all(item == first for item in parts):
        return first
    if all(item.ranks for item in parts):
        return _hybrid(parts, where)
    if all(item == Wanted(ids=item.ids) and item.ids for item in parts):
        return Wanted(ids=few_ids(dict.fromkeys(name for item in parts for name in item.ids), where))
    terms = [_only_terms(item) for item in parts]
    names = {item.name for item in terms if item}
    if len(names) == 1 and all(terms):
        values = dict.fromkeys(value for item in terms if item for value in item.values)
        if len(values) > MAX_VALUES:
            raise unsupported(f"a choice between more than {MAX_VALUES} values", where, "send several searches")
        return Wanted(filters=(Terms(names.pop(), tuple(values)),))
    raise unsupported(
        "a choice between clauses of different kinds or fields",
        where,
        "alternatives can be one text and its vectors, values of one keyword field, or ids",
    )


def few_ids(names: Iterable[str], where: str) -> tuple[str, ...]:
    """The ids, if one search can name so many. Raises `InvalidInput`."""
    ids = tuple(names)
    if len(ids) > MAX_IDS:
        raise unsupported(f"[ids] with more than {MAX_IDS} ids", where, "ask for single documents by [_doc]")
    return ids


def _hybrid(parts: Sequence[Wanted], where: str) -> Wanted:
    """One text and at most one vector for each field, under the same filters."""
    texts = {item.text for item in parts if item.text}
    vectors = dict.fromkeys(each for item in parts for each in item.vectors)
    if len(texts) > 1:
        raise unsupported("a choice between several texts", where, _ONE_TEXT)
    if len(dict(vectors)) < len(vectors):
        raise unsupported("a choice between several vectors of one field", where, "send one search for each")
    rest = {replace(item, text="", vectors=()) for item in parts}
    if len(rest) > 1:
        raise unsupported("a choice between texts under different filters", where, "filter the whole query")
    return replace(rest.pop(), text="".join(texts), vectors=tuple(vectors))


def ranked_by(required: Wanted, parts: Sequence[Wanted], where: str) -> Wanted:
    """What `required` asks for, in an order to which `parts` add: one text and its vectors. Raises `InvalidInput`."""
    added = any_of(parts, where)
    if not added.ranks or added.filters:
        raise unsupported(
            "a clause in [should] that only adds to the score",
            where,
            "such a clause can be a text or a vector; move filters to [filter], or set [minimum_should_match] to 1",
        )
    return every((required, replace(added, optional=True)), where)


def excluded(part: Wanted, where: str) -> Wanted:
    """Documents that do not have what `part` asks for: values of a keyword field. Raises `InvalidInput` otherwise."""
    terms = _only_terms(part)
    if terms is None:
        raise unsupported(
            "[must_not] with anything but values of one keyword field", where, "exclude by [term] or [terms]"
        )
    return Wanted(filters=(NoneOf(terms.name, terms.values),))


def _only_terms(part: Wanted) -> Terms | None:
    if len(part.filters) == 1 and part == Wanted(filters=part.filters) and isinstance(part.filters[0], Terms):
        return part.filters[0]
    return None
