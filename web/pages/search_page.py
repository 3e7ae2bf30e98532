"""What the search page shows, computed from the results, so that the templates contain only layout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final
from urllib.parse import urlencode

from mappings.clinical.concepts import ConceptLexicon
from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import MedleyError
from search.pipeline.checks import sort_orders
from search.pipeline.lookup import NOTHING_PASSES
from search.pipeline.results import Results
from search.query import YEARLY, Terms
from web.pages.addresses import UNHURRIED, SearchAddress
from web.pages.chips import CriterionChips
from web.pages.facets import FacetView, facet_view, years_view
from web.pages.formatting import range_in_words
from web.pages.hits import HitView, group_word, hit_views
from web.pages.patients.record import has_patients
from web.pages.saved.opened_search import OpenedSearch
from web.understanding_answers import UnderstandingJson

_BOUNDS: Final = {"at_least": "At least ", "at_most": "At most "}
QUESTION: Final = ("text", "entity", "aspect", "with", "without")
READING: Final = ("absence", "plain")
"""The parameters that say how a question is read."""

AS_TYPED: Final = "as_typed"
"""The parameter of what is searched by no other name."""


@dataclass(slots=True)
class SearchPage:
    """The search page: the search and, if it was run, its answer."""

    address: SearchAddress
    collections: Sequence[Collection]
    error: MedleyError | None = None
    results: Results | None = None
    hits: list[HitView] = field(default_factory=list)
    facets: list[FacetView] = field(default_factory=list)
    criteria: CriterionChips | None = None
    examples: list[tuple[str, SearchAddress]] = field(default_factory=list)
    saved: OpenedSearch | None = None
    """The saved search that this is."""

    def __post_init__(self) -> None:
        found, named = self.collection, self.address.get("collection")
        # A collection that was removed can have been private.
        private = found is None or named not in ("", found.name) or found.private_queries
        self.address = replace(self.address, private=private)

    @property
    def collection(self) -> Collection | None:
        """The chosen collection; the first one if none is chosen."""
        chosen = self.address.get("collection")
        return next(
            (item for item in self.collections if item.name == chosen),
            self.collections[0] if self.collections else None,
        )

    @property
    def grouped(self) -> str:
        """What hits are grouped by, in a word."""
        return group_word(self.collection) if self.collection else ""

    @property
    def has_patients(self) -> bool:
        """Whether the documents of the collection belong to patients."""
        return self.collection is not None and has_patients(self.collection)

    @property
    def asked(self) -> bool:
        """Whether the URL contains a question."""
        return any(self.address.get(name) for name in QUESTION)

    @property
    def opens_further(self) -> bool:
        """Whether the further fields of the form are shown at once: chips above the hits show the findings already."""
        shown = ("entity", "aspect") if self.criteria else ("entity", "aspect", "with", "without", *READING)
        return any(self.address.get(name) for name in shown)

    @property
    def narrowed(self) -> bool:
        """Whether there is a filter."""
        return any(name.startswith("filter.") for name, _ in self.address.pairs)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The parameters that the search form is parsed from.

        An unknown collection stays, so that the error can name it.
        """
        named = (
            self.address
            if self.address.get("collection") or not self.collection
            else self.address.with_value("collection", self.collection.name)
        )
        return [
            *named.with_value("explain", "true").pairs,
            *(("cursor", text) for text in self.address.values("cursor")),
        ]

    def show(self, results: Results, others: Mapping[str, Document], lexicon: ConceptLexicon | None = None) -> None:
        """Show an answer; `others` are the further documents of the groups of its hits that the caller can see.

        `lexicon` is that of the collection; None if its documents are not read.
        """
        assert self.collection  # noqa: S101 - a query names one
        fields = self.collection.fields.values()
        self.results = results
        self.criteria = CriterionChips(results.understood, self.address, lexicon) if lexicon else None
        self.hits = hit_views(results, self.collection, self.address, others)
        views = [
            years_view(item, results.facets.get(f"{item.name}{YEARLY}", ()), self.address)
            if item.type == "date"
            else facet_view(item, results.facets.get(item.name, ()), self.address)
            for item in fields
            if item.facet or item.type == "date"
        ]
        self.facets = [view for view in views if view.choices or view.ranged]

    @property
    def patients(self) -> list[tuple[str, str]]:
        """(id, address of the page) of the patients that the search names by their ids, and that have a hit."""
        if not self.collection or not self.results:
            return []
        name = self.collection.group_by
        typed = [
            item.values for item in self.results.understood.filters if isinstance(item, Terms) and item.name == name
        ]
        wanted = {self.address.get("text").strip(), *self.address.values(f"filter.{name}"), *chain(*typed)}
        return list({item.patient: item.patient_link for item in self.hits if item.patient in wanted - {""}}.items())

    @property
    def understood(self) -> UnderstandingJson | None:
        """How the query was read: `notes`, `expansions`, `feedback`; None without results."""
        return UnderstandingJson.of(self.results) if self.results else None

    @property
    def notes(self) -> Sequence[str]:
        """What is to be said about how the query was read, without what stands where the hits would."""
        notes = self.understood.notes if self.understood else []
        return [item for item in notes if self.hits or item not in NOTHING_PASSES]

    @property
    def meanings(self) -> list[tuple[str, list[tuple[str, SearchAddress]]]]:
        """(abbreviation, [(long form, the same search for that)]) of each abbreviation with several meanings."""
        text = self.address.get("text")
        found = self.understood.asked if self.understood else []
        return [
            (
                item.typed,
                [(long, self.address.with_value("text", _reworded(text, item.typed, long))) for long in item.meanings],
            )
            for item in found
            if len(item.meanings) > 1
        ]

    @property
    def also(self) -> list[tuple[str, Sequence[str], SearchAddress]]:
        """(what was typed, what it is also searched as, the search without that), unless a meaning of it can be chosen."""
        chosen = {typed for typed, _ in self.meanings}
        found = self.understood.names if self.understood else []
        return [
            (item.typed, item.names, self.address.toggle(AS_TYPED, item.typed))
            for item in found
            if item.typed not in chosen
        ]

    @property
    def as_typed(self) -> list[tuple[str, SearchAddress]]:
        """(what is searched by no other name, the search that does)."""
        return [(name, self.address.remove(AS_TYPED, name)) for name in self.address.values(AS_TYPED)]

    @property
    def chips(self) -> list[tuple[str, str, SearchAddress]]:
        """(title of the field, value, search without this filter) of each filter."""
        fields = self.collection.fields if self.collection else {}
        chosen = [(name, value) for name, value in self.address.pairs if name.startswith("filter.")]
        return [
            (
                fields[key].title if (key := name.removeprefix("filter.")) in fields else key,
                range_in_words(value),
                self.address.remove(name, value),
            )
            for name, value in chosen
        ]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The parameters that the form keeps in hidden inputs."""
        shown = {*QUESTION, *READING, "collection", "sort", "cursor"}
        ranged = {f"filter.{item.field.name}" for item in self.facets if item.ranged}
        # Another question is first answered within the usual time.
        return [pair for pair in self.address.pairs if pair[0] not in shown | ranged and pair != UNHURRIED]

    @property
    def sorts(self) -> list[tuple[str, str]]:
        """(name, label) of the available sort orders."""
        return [(name, self._sort_words(name)) for name in sort_orders(self.collection)] if self.collection else []

    def _sort_words(self, name: str) -> str:
        if name == "relevance" or not self.collection:
            return "Relevance"
        item = self.collection.fields[name.removeprefix("-")]
        lowest, highest = ("earliest", "latest") if item.type == "date" else ("lowest", "highest")
        return f"{item.title}, {highest if name.startswith('-') else lowest} first"

    @property
    def next(self) -> SearchAddress | None:
        """The next page."""
        return self.address.at(self.results.cursor) if self.results and self.results.cursor else None

    @property
    def first(self) -> SearchAddress | None:
        """Page one, if this is a later page."""
        return self.address.first_page() if self.address.get("cursor") else None

    @property
    def full(self) -> SearchAddress | None:
        """The same search with as much time as the server allows, if time was short and it has not been given yet."""
        short = self.results is not None and self.results.partial and UNHURRIED not in self.address.pairs
        return self.address.with_value(*UNHURRIED) if short else None

    @property
    def suggestions(self) -> list[tuple[str, SearchAddress]]:
        """Other searches to try when nothing was found."""
        filters = [name for name, _ in self.address.pairs if name.startswith("filter.")]
        ways = [("Search without the filters", self.address.drop(*filters))] if filters else []
        chips = self.criteria.chips if self.criteria else []
        if len(chips) > 1:
            ways += [(f"Leave out “{chip.prefix} {chip.name}”", chip.without) for chip in chips[:4]]
        elif self.address.get("with") or self.address.get("without"):
            ways.append(("Search without the findings", self.address.drop("with", "without")))
        others = [(item, self.elsewhere(item)) for item in self.collections if item is not self.collection]
        return ways + [(f"Search {item.title.lower()} instead", other) for item, other in others if other.asks]

    def export(self, name: str) -> str:
        """The URL of the citations of the hits, in the format `name`."""
        return f"/v1/search?{self._export(name)}"

    def export_state(self, name: str) -> str:
        """What a button sends instead of following that URL, while the form around it holds the text."""
        return self._export(name, "text")

    def _export(self, name: str, *left_out: str) -> str:
        pairs = [pair for pair in self.parameters if pair[0] not in ("explain", *left_out)]
        return urlencode([*pairs, ("format", name)])

    def elsewhere(self, collection: Collection) -> SearchAddress:
        """The same question for another collection, without filters, because its fields differ.

        A private question does not get into the addresses of a collection whose searches are not private.
        """
        private = collection.private_queries
        kept = (*QUESTION, *READING) if private or not self.address.private else ()
        question = (pair for pair in self.address.pairs if pair[0] in kept)
        return SearchAddress((("collection", collection.name), *question), private)

    @property
    def total_text(self) -> str:
        """How many documents match, exactly or as a lower bound."""
        if self.results is None:
            return ""
        total = self.results.total
        count = f"{total.value:,} {'document' if total.value == 1 else 'documents'}"
        verb = "matches" if total.value == 1 else "match"
        return f"{_BOUNDS.get(total.relation, '')}{count} {verb} {self.matched}"

    @property
    def matched(self) -> str:
        """What the counted documents match, in words."""
        return "the criteria" if self.results and self.results.understood.criteria else "the words"


def _reworded(text: str, short: str, long: str) -> str:
    """`text` with `long` for each `short` that is a word of its own: the "PE" of "PE PEEP", not that of "PEEP"."""
    return re.sub(rf"(?<!\w){re.escape(short)}(?!\w)", lambda _: long, text)
