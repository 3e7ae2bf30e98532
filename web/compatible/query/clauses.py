"""Reads OpenSearch's query language: each clause becomes what it wants, or is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mappings.collection import Collection
from mappings.errors import InvalidInput
from web.compatible.query import fields, texts
from web.compatible.query.wanted import Wanted, any_of, every, excluded, ranked_by
from web.compatible.shapes import a_list, a_whole, an_object, check_keys, only_entry, quoted, unsupported

MAX_DEPTH: Final = 20
"""How deeply clauses can be nested, and how many filters a search can have."""

MAX_CLAUSES: Final = 1_024
"""How many clauses a query can have, as in OpenSearch."""

_LEAVES: Final[Mapping[str, Callable[[Any, str, Collection], Wanted]]] = {
    "exists": fields.exists,
    "ids": fields.ids,
    "match": texts.match,
    "multi_match": texts.multi_match,
    "range": fields.in_range,
    "term": fields.term,
    "terms": fields.terms,
}
_OTHERS: Final = ("bool", "constant_score", "hybrid", "knn", "match_all", "neural", "query_string")
_INSTEAD: Final[Mapping[str, str]] = {
    "match_none": "there is no such search",
    "match_phrase": "send the words by [match]; exact phrases are searched by the quotes of /v1/search",
}
_BOOL_NEUTRAL: Final = {"boost": (1, 1.0), "adjust_pure_negative": (True,)}


def read_query(clause: Any, collection: Collection, where: str = "query") -> Wanted:
    """What a query asks of a collection. Raises `InvalidInput`, whose field is the place of what is not supported."""
    wanted = _Reader(collection).read(clause, where, 1)
    if len(wanted.filters) > MAX_DEPTH:
        raise unsupported(f"a search with more than {MAX_DEPTH} filters", where, "join the values of one field")
    return wanted


class _Reader:
    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._clauses = 0

    def read(self, clause: Any, where: str, depth: int) -> Wanted:
        if depth > MAX_DEPTH:
            raise unsupported(f"a query nested more than {MAX_DEPTH} deep", "query", "join its clauses")
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise unsupported(f"a query with more than {MAX_CLAUSES:,} clauses", "query", "give values by [terms]")
        name, value = only_entry(clause, where)
        where = f"{where}.{name}"[:300]
        if name in _LEAVES:
            return _LEAVES[name](value, where, self._collection)
        if name == "bool":
            return self._bool(value, where, depth)
        if name == "hybrid":
            return self._hybrid(value, where, depth)
        if name in ("neural", "knn"):
            read = texts.neural if name == "neural" else texts.knn
            wanted, options = read(value, where, self._collection)
            return every((wanted, *self._filters(options, where, depth)), where)
        if name == "constant_score":
            check_keys(an_object(value, where), ("filter",), where)
            return self._filter(value.get("filter"), where, depth)
        if name in ("match_all", "query_string"):
            return _everything(name, value, where)
        known = f"supported are {', '.join(sorted((*_LEAVES, *_OTHERS)))}"
        raise unsupported(f"the query {quoted(name)}", where, _INSTEAD.get(name, known))

    def _filter(self, clause: Any, where: str, depth: int) -> Wanted:
        """A clause that must not rank."""
        wanted = self.read(clause, where, depth + 1)
        if wanted.ranks:
            raise unsupported("a text or a vector in [filter]", where, "it ranks what it finds: put it into [must]")
        return wanted

    def _filters(self, options: Mapping[str, Any], where: str, depth: int) -> Sequence[Wanted]:
        given = a_list(options["filter"], f"{where}.filter") if options.get("filter") else []
        return [self._filter(item, f"{where}.filter.{number}", depth) for number, item in enumerate(given)]

    def _each(self, options: Mapping[str, Any], name: str, where: str, depth: int) -> list[Wanted]:
        given = options.get(name)
        items = given if isinstance(given, list) else [] if given is None else [given]
        return [self.read(item, f"{where}.{name}.{number}", depth + 1) for number, item in enumerate(items)]

    def _bool(self, value: Any, where: str, depth: int) -> Wanted:
        options = an_object(value, where)
        known = ("must", "filter", "should", "must_not", "minimum_should_match")
        check_keys(options, known, where, _BOOL_NEUTRAL)
        required = [*self._each(options, "must", where, depth), *self._filters(options, where, depth)]
        without = [excluded(item, f"{where}.must_not") for item in self._each(options, "must_not", where, depth)]
        wanted = every([*required, *without], where)
        should = self._each(options, "should", where, depth)
        if not should:
            _least(options, 0, 0, where)
            return wanted
        # As in OpenSearch: beside clauses that must match, those that should only rank, unless it is said otherwise.
        if _least(options, 0 if required else 1, 1, where) or not required:
            return every((wanted, any_of(should, f"{where}.should")), where)
        return ranked_by(wanted, should, f"{where}.should")

    def _hybrid(self, value: Any, where: str, depth: int) -> Wanted:
        """The forms of one text, which every leg of the collection searches, whatever these forms are.

        `pagination_depth` is how deeply a cluster looks for pages: here every leg goes as far as the result window.
        """
        options = an_object(value, where)
        check_keys(options, ("queries", "filter", "pagination_depth"), where)
        a_whole(options.get("pagination_depth", 1), f"{where}.pagination_depth", 1)
        queries = a_list(options.get("queries"), f"{where}.queries")
        each = self._each({"queries": queries}, "queries", where, depth)
        wanted = any_of(each, f"{where}.queries")
        if not wanted.ranks:
            raise InvalidInput("the queries of [hybrid] need a text or a vector", field=where)
        return every((wanted, *self._filters(options, where, depth)), where)


def _least(options: Mapping[str, Any], default: int, most: int, where: str) -> int:
    """`minimum_should_match`, which can be 0 or 1."""
    given = options.get("minimum_should_match", default)
    number = int(given) if given in ("0", "1") else given
    if isinstance(number, bool) or number not in range(most + 1):
        raise unsupported(f"[minimum_should_match] of {quoted(given)}", where, f"it can be 0 to {most} here")
    return int(number)


def _everything(name: str, value: Any, where: str) -> Wanted:
    """Every document; dashboards say so by a `query_string` of an asterisk."""
    options = an_object(value, where)
    if name == "match_all":
        check_keys(options, (), where)
    else:
        check_keys(options, ("query",), where, {"boost": (1, 1.0), "analyze_wildcard": (True, False)})
        if options.get("query") not in ("*", "*:*"):
            raise unsupported("[query_string] with anything but an asterisk", where, "send the words by [match]")
    return Wanted()
