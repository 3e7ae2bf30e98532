"""Builds tantivy queries from our requests. Filters and access never score: they are wrapped in a constant score of 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final

from tantivy import FieldType as Kind
from tantivy import Occur, Query

from mappings.documents import Access
from mappings.fields import FieldType
from search.document_criteria import DocumentCriterion
from search.engines.codec import encodable
from search.engines.embedded.schema import column
from search.engines.titles import title_weights
from search.engines.values import (
    MAX_VALUES,
    check_range,
    every_phrase,
    field_kind,
    filter_value,
    grouped,
    number_text,
    range_bound,
    summed,
)
from search.query import PROVES, Filter, LexicalQuery, NoneOf, Phrase, Range, Terms, counted_field

_FEW: Final = 300


class TantivyQueryCompiler:
    """Compiles the requests to one index: its schema, its field types, and the boosts of its collection."""

    def __init__(self, schema: Any, fields: Mapping[str, FieldType], boosts: Mapping[str, float]) -> None:
        self._schema = schema
        self._fields = fields
        self._boosts = {name: boost for name, boost in boosts.items() if boost > 0}

    def lexical(self, query: LexicalQuery, restriction: Any | None) -> Any:
        """The BM25 leg: what the query scores in `content` or in the title alone, and again in the heading."""
        every = [Query.const_score_query(_first(self._schema), 1.0)] if query.everything else []
        return _all_of(_any_of([*self._scored(query), *every]), restriction)

    def holders(self, query: LexicalQuery, restriction: Any | None) -> Any:
        """The passages that hold a form of everything wanted, and those of named documents, with their BM25 scores."""
        return _ranked(self._scored(query), self._holding(query, ("content",)), restriction)

    def holders_by_document(self, query: LexicalQuery, restriction: Any | None) -> Any:
        """The first passages of the documents that hold everything wanted, in whichever passages."""
        names = ("content", "rest")
        clauses = [self._term(name, term, weight) for term, weight in summed(query.terms).items() for name in names]
        return _ranked(clauses, self._holding(query, names), _all_of(_first(self._schema), restriction))

    def holding_any(self, phrases: Sequence[Phrase]) -> Any:
        """The first passages of the documents that have one of the phrases in any passage."""
        return _all_of(_first(self._schema), self._has(phrases, ("content", "rest")))

    def _scored(self, query: LexicalQuery) -> list[Any]:
        clauses = self._content(query)
        if "title" in self._boosts and query.terms:
            weight, share = title_weights(self._boosts["title"])
            titles = _any_of(self._terms("title", query, weight))
            clauses = [Query.disjunction_max_query([_any_of(clauses), titles], share)]
        clauses += self._terms("heading", query, self._boosts.get("heading", 0.0))
        return clauses + [
            Query.const_score_query(Query.term_query(self._schema, name, encodable(value), "basic"), weight)
            for name, value, weight in query.keywords
        ]

    def _content(self, query: LexicalQuery) -> list[Any]:
        groups, rest = grouped(query)
        clauses = [self._term("content", term, weight) for term, weight in rest.items()]
        clauses += [self._phrase("content", words, weight) for words, weight in summed(query.phrases).items()]
        for group in groups:
            typed = [_any_of([self._term("content", term, weight) for term, weight in group.terms.items()])]
            others = [self._phrase("content", words, weight) for words, weight in group.phrases.items()]
            clauses.append(Query.disjunction_max_query([*typed, *others], 0.0))
        return clauses

    def _terms(self, name: str, query: LexicalQuery, boost: float) -> list[Any]:
        terms = summed(query.terms).items() if boost else ()
        return [self._term(name, term, weight * boost) for term, weight in terms]

    def _holding(self, query: LexicalQuery, names: Sequence[str]) -> Any:
        found = [_every(self._has(forms, names) for forms in query.wanted)] if query.wanted else []
        return _any_of([*found, *self._named(query)])

    def _named(self, query: LexicalQuery) -> list[Any]:
        # The kind can have got a field after the index was built.
        known = [(field, value) for field, value in query.named if not field or field in self._fields]
        columns = [(column(field) if field else "document", encodable(value)) for field, value in known]
        return [Query.term_query(self._schema, name, value, "basic") for name, value in columns]

    def _has(self, phrases: Sequence[Phrase], names: Sequence[str]) -> Any:
        return _any_of([self._phrase(name, words, 1.0) for words in phrases for name in names])

    def counts(self, query: LexicalQuery, restriction: Any | None, split: bool) -> Any:
        """The first passage of each matching document; `split`: whether any document has more than one passage."""
        names = ("content", "rest") if split else ("content",)
        clauses = [self._term(name, term, 1.0) for term in summed(query.terms) for name in names]
        clauses += [self._phrase(name, words, 1.0) for words in every_phrase(query) for name in names]
        matching = self.everything() if query.everything else _any_of([*clauses, *self._named(query)])
        holding = self._holding(query, names) if query.required else None
        return _all_of(matching, restriction, holding, _first(self._schema) if split else None)

    def restriction(self, filters: Sequence[Filter], access: Access, withheld: Sequence[str] = ()) -> Any:
        """The passages that the caller may see and that match every filter, but none of the documents `withheld`.

        Raises `InvalidInput`.
        """
        labels = self._one_of("labels", sorted(map(encodable, access.labels)))
        allowed = _all_of(labels, *(self._filter(item) for item in filters))
        if not withheld:
            return allowed
        return Query.boolean_query([(Occur.Must, allowed), (Occur.MustNot, self.of_documents(withheld))])

    def of_documents(self, documents: Sequence[str]) -> Any:
        """The passages of these documents, whatever their labels."""
        return self._one_of("document", list(map(encodable, documents)))

    def among(self, name: str, values: Sequence[str], access: Access) -> Any:
        """The passages that the caller may see whose field `name` is one of `values`."""
        return _all_of(self._one_of(name, list(map(encodable, values))), self.restriction((), access))

    def proving(self, documents: Sequence[str], keys: Sequence[str], access: Access, phrases: Sequence[Phrase]) -> Any:
        """The passages of `documents` that the caller may see and that assert one of `keys` or have one of `phrases`."""
        found = [self._one_of(PROVES, list(map(encodable, keys)))] if keys else []
        found += [self._has(phrases, ("content",))] if phrases else []
        return _all_of(_any_of(found), self.among("document", documents, access))

    def meeting(self, criterion: DocumentCriterion) -> Any:
        """The passages of the documents that meet a criterion by themselves, at least their first ones."""
        held = (self._has(forms, ("content", "rest")) for forms in criterion.wanted)
        return _every([*map(self._filter, criterion.filters), *held])

    def first_of(self, query: Any) -> Any:
        """The matches that are first passages of documents."""
        return Query.const_score_query(_every([_first(self._schema), query]), 0.0)

    def named(self, passages: Sequence[str]) -> Any:
        """The passages with these ids, whatever their labels."""
        return self._one_of("passage", passages)

    def first_among(self, documents: Sequence[str], access: Access) -> Any:
        """The first passages of those of `documents` that the caller may see."""
        return _all_of(self.among("document", documents, access), _first(self._schema))

    @staticmethod
    def firsts(schema: Any) -> Any:
        """The first passage of every document."""
        return _first(schema)

    @staticmethod
    def everything() -> Any:
        """Every passage."""
        return Query.all_query()

    def field_kind(self, name: str) -> FieldType:
        """The type of a field. Raises `InvalidInput` for one that this index does not have."""
        return field_kind(self._fields, name)

    def _term(self, name: str, term: str, weight: float) -> Any:
        index_option = "position" if name in ("content", "rest") else "freq"
        query = Query.term_query(self._schema, name, encodable(term), index_option)
        return query if weight == 1.0 else Query.boost_query(query, weight)

    def _phrase(self, name: str, words: tuple[str, ...], weight: float) -> Any:
        placed = [(position, encodable(word)) for position, word in enumerate(words) if word]
        if len(placed) < 2:
            return self._term(name, placed[0][1] if placed else "", weight)
        query = Query.phrase_query(self._schema, name, placed)
        return query if weight == 1.0 else Query.boost_query(query, weight)

    def _filter(self, item: Filter) -> Any:
        kind = self.field_kind(item.name)
        if isinstance(item, Terms | NoneOf):
            values = [_ordinal(filter_value(item.name, kind, value)) for value in item.values]
            found = self._one_of(column(item.name), values)
            return found if isinstance(item, Terms) else _but_not(found)
        return self._range(item, kind)

    def _one_of(self, name: str, values: Sequence[Any]) -> Any:
        """The passages whose field `name` is one of `values`.

        Few values are looked up one by one, and only as far as other clauses need; a set goes through all values of the field,
        and lists all of its passages first.
        """
        if len(values) > _FEW:
            return Query.term_set_query(self._schema, name, list(values))
        each = [Query.term_query(self._schema, name, value, index_option="basic") for value in values]
        return Query.const_score_query(_any_of(each), 1.0)

    def _range(self, item: Range, kind: FieldType) -> Any:
        check_range(item.name, kind)
        low, high = (
            None if bound is None else _ordinal(range_bound(item.name, kind, bound)) for bound in (item.low, item.high)
        )
        if low is None and high is None:
            return Query.exists_query(column(item.name))
        tantivy_kind = Kind.Float if kind == "number" else Kind.Integer
        return Query.range_query(self._schema, column(item.name), tantivy_kind, low, high)


def _first(schema: Any) -> Any:
    """The first passages of documents."""
    return Query.term_query(schema, "ordinal", 0)


def _but_not(query: Any) -> Any:
    return Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, query)])


def _any_of(clauses: Sequence[Any]) -> Any:
    return Query.boolean_query([(Occur.Should, clause) for clause in clauses]) if clauses else Query.empty_query()


def _every(queries: Iterable[Any]) -> Any:
    return Query.boolean_query([(Occur.Must, query) for query in queries])


def _ranked(clauses: Sequence[Any], *required: Any | None) -> Any:
    """Everything that matches every one of `required`, scored by `clauses`, which need not match."""
    unscored = [(Occur.Must, Query.const_score_query(item, 0.0)) for item in required if item is not None]
    return Query.boolean_query([*unscored, *((Occur.Should, clause) for clause in clauses)])


def _all_of(scored: Any, *required: Any | None) -> Any:
    """`scored`, restricted to matches of every one of `required`, which add nothing to the score."""
    unscored = [(Occur.Must, Query.const_score_query(item, 0.0)) for item in required if item is not None]
    return Query.boolean_query([(Occur.Must, scored), *unscored]) if unscored else scored


def _ordinal(value: str | float | date) -> str | float | int:
    """The value as the word index holds it: dates are day numbers."""
    return value.toordinal() if isinstance(value, date) else value


def facet_of(name: str, size: int) -> dict[str, Any]:
    """The aggregation of the values of a facet, at most `size` of them."""
    # Each segment returns all its buckets, so that the counts are exact.
    return {"terms": {"field": column(counted_field(name)), "size": size, "segment_size": MAX_VALUES}}


def facet_value(kind: str, key: Any) -> str:
    """A key of such an aggregation as the value of a facet."""
    if kind == "number":
        return number_text(key)
    return date.fromordinal(int(key)).isoformat() if kind == "date" else str(key)
