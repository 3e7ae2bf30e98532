"""What a query of OpenSearch's asks for, as one search of ours can: how clauses add up, and which do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from search.query import Filter, NoneOf, Terms
from web.compatible.shapes import unsupported

_ONE_TEXT = "a search is ranked by one text: join the texts, or send one search for each"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Documents that pass every filter and have one of `ids` (if there are any), found and ranked by `text`.

    With `optional`, and without a text, every document that passes is found, and the text only decides on the order.
    """

    text: str = ""
    optional: bool = False
    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] = ()


def every(parts: Sequence[Wanted], where: str) -> Wanted:
    """What all of `parts` ask for together; without any, every document. Raises `InvalidInput`."""
    return reduce(lambda one, other: _both(one, other, where), parts, Wanted())


def _both(one: Wanted, other: Wanted, where: str) -> Wanted:
    if one.text and other.text and one.text != other.text:
        raise unsupported("a search with several different texts", where, _ONE_TEXT)
    if one.ids and other.ids and one.ids != other.ids:
        raise unsupported("a search with several lists of ids", where, "give the ids that are in all of them")
    text, ids = one.text or other.text, one.ids or other.ids
    if text and ids:
        raise unsupported("a search with a text and ids", where, "ids can be combined with filters only")
    ranking = [item for item in (one, other) if item.text]
    filters = tuple(dict.fromkeys((*one.filters, *other.filters)))
    return Wanted(text, bool(ranking) and all(item.optional for item in ranking), filters, ids)


def any_of(parts: Sequence[Wanted], where: str) -> Wanted:
    """What at least one of `parts` asks for: the same, values of one field, or ids. Raises `InvalidInput` otherwise."""
    first = parts[0]
    if all(item == first for item in parts):
        return first
    if all(item == Wanted(ids=item.ids) and item.ids for item in parts):
        return Wanted(ids=tuple(dict.fromkeys(name for item in parts for name in item.ids)))
    terms = [_only_terms(item) for item in parts]
    names = {item.name for item in terms if item}
    if len(names) == 1 and all(terms):
        values = (value for item in terms if item for value in item.values)
        return Wanted(filters=(Terms(names.pop(), tuple(dict.fromkeys(values))),))
    if len({item.text for item in parts if item.text}) > 1:
        raise unsupported("a choice between several texts", where, _ONE_TEXT)
    raise unsupported(
        "a choice between clauses of different kinds or fields",
        where,
        "alternatives can be the same text, values of one keyword field, or ids",
    )


def ranked_by(required: Wanted, parts: Sequence[Wanted], where: str) -> Wanted:
    """What `required` asks for, in an order to which `parts` add. Raises `InvalidInput` for parts that are not one text."""
    text = any_of(parts, where)
    if text != Wanted(text.text, text.optional) or not text.text:
        raise unsupported(
            "a clause in [should] that only adds to the score",
            where,
            "such a clause can be a text; move filters to [filter], or set [minimum_should_match] to 1",
        )
    return every((required, Wanted(text.text, optional=True)), where)


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
