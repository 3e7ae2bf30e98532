"""What the search page shows, worked out from the results, so that the templates only lay it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection, Field
from mappings.documents import Document
from mappings.errors import MedleyError
from search.pipeline.results import Hit, Results
from search.query import FacetCount
from web import forms
from web.pages.addresses import State
from web.pages.explanations import Table, table
from web.pages.formatting import Detail, Segments, counted, details, segments, spoken

ASKING: Final = ("text", "entity", "aspect", "with", "without")
FACET_VALUES: Final = 8
OTHERS: Final = 5


@dataclass(frozen=True, slots=True)
class Other:
    """A further document of a hit's patient."""

    title: str
    details: list[Detail]
    link: str


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit as it is shown. `anchor` is its place on the page, `link` its document."""

    hit: Hit
    number: int
    title: Segments
    evidence: list[Segments]
    details: list[Detail]
    link: str
    table: Table | None
    more: str
    others: list[Other]
    others_text: str

    @property
    def share(self) -> int:
        """The score in percent of the highest there can be, for the bar beside it."""
        return round(100 * min(1.0, max(0.0, self.hit.score)))


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet: choosing it leads to `state`."""

    label: str
    count: int
    chosen: bool
    state: State


@dataclass(frozen=True, slots=True)
class FacetView:
    """A facet as it is shown; `low` and `high` are the bounds in force of a number or date."""

    field: Field
    choices: list[Choice]
    low: str
    high: str

    @property
    def ranged(self) -> bool:
        """Whether bounds can be given."""
        return self.field.type != "keyword"


@dataclass(slots=True)
class SearchPage:
    """The search page: what is asked, and once there is one, the answer."""

    state: State
    collections: Sequence[Collection]
    error: MedleyError | None = None
    results: Results | None = None
    hits: list[HitView] = field(default_factory=list)
    facets: list[FacetView] = field(default_factory=list)
    examples: list[tuple[str, State]] = field(default_factory=list)

    @property
    def collection(self) -> Collection | None:
        """The chosen collection, the first when none is chosen."""
        chosen = self.state.get("collection")
        return next(
            (item for item in self.collections if item.name == chosen),
            self.collections[0] if self.collections else None,
        )

    @property
    def grouped(self) -> str:
        """What hits are grouped by, in a word."""
        return group_word(self.collection) if self.collection else ""

    @property
    def asked(self) -> bool:
        """Whether anything is looked for."""
        return any(self.state.get(name) for name in ASKING)

    @property
    def narrowed(self) -> bool:
        """Whether a filter is in force."""
        return any(name.startswith("filter.") for name, _ in self.state.pairs)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What is asked, as the form reads it. An unknown collection stays, so that the form can name it."""
        named = (
            self.state
            if self.state.get("collection") or not self.collection
            else self.state.put("collection", self.collection.name)
        )
        return [*named.put("explain", "true").pairs, *(("cursor", text) for text in self.state.values("cursor"))]

    def answer(self, results: Results, others: Mapping[str, Document]) -> None:
        """Take in the answer, and those documents of the same patients that are only named."""
        assert self.collection  # noqa: S101 - a query names one
        self.results = results
        self.hits = [
            hit_view(hit, number, self, [others[name] for name in hit.others[:OTHERS] if name in others])
            for number, hit in enumerate(results.hits, 1)
        ]
        views = [
            facet_view(self.collection.fields[name], self._counts(name), self.state) for name in self._facet_names()
        ]
        self.facets = [item for item in views if item.choices or item.ranged]

    def _facet_names(self) -> list[str]:
        assert self.collection  # noqa: S101 - there are results
        return [name for name, item in self.collection.fields.items() if item.facet or item.type == "date"]

    def _counts(self, name: str) -> Sequence[FacetCount]:
        return self.results.facets.get(name, ()) if self.results else ()

    @property
    def chips(self) -> list[tuple[str, str, State]]:
        """(field's title, value, state without it) of the filters in force."""
        fields = self.collection.fields if self.collection else {}
        chosen = [(name, value) for name, value in self.state.pairs if name.startswith("filter.")]
        return [
            (
                fields[key].title if (key := name.removeprefix("filter.")) in fields else key,
                spoken(value),
                self.state.remove(name, value),
            )
            for name, value in chosen
        ]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the form keeps though it shows no input for it."""
        shown_by_form = {*ASKING, "collection", "sort", "cursor"}
        ranged = {f"filter.{item.field.name}" for item in self.facets if item.ranged}
        return [pair for pair in self.state.pairs if pair[0] not in shown_by_form | ranged]

    @property
    def sorts(self) -> list[tuple[str, str]]:
        """(name, words) of the orders to choose from."""
        return [(name, self._sort_words(name)) for name in forms.sorts(self.collection)] if self.collection else []

    def _sort_words(self, name: str) -> str:
        if name == "relevance" or not self.collection:
            return "Relevance"
        item = self.collection.fields[name.removeprefix("-")]
        first = (
            ("latest" if item.type == "date" else "highest")
            if name.startswith("-")
            else ("earliest" if item.type == "date" else "lowest")
        )
        return f"{item.title}, {first} first"

    @property
    def next(self) -> State | None:
        """The next page."""
        return self.state.at(self.results.cursor) if self.results and self.results.cursor else None

    @property
    def first(self) -> State | None:
        """Page one, when this is a later one."""
        return self.state.drop() if self.state.get("cursor") else None

    @property
    def suggestions(self) -> list[tuple[str, State]]:
        """Ways out when nothing was found."""
        filters = [name for name, _ in self.state.pairs if name.startswith("filter.")]
        ways = [("Search without the filters", self.state.drop(*filters))] if filters else []
        if self.state.get("with") or self.state.get("without"):
            ways.append(("Search without the findings", self.state.drop("with", "without")))
        others = [item for item in self.collections if item is not self.collection]
        return ways + [(f"Search {item.title.lower()} instead", self.elsewhere(item)) for item in others]

    def export(self, name: str) -> str:
        """The address of the hits' citations."""
        pairs = [pair for pair in self.parameters if pair[0] != "explain"]
        return f"/v1/search?{urlencode([*pairs, ('format', name)])}"

    def elsewhere(self, collection: Collection) -> State:
        """The same question to another collection, whose fields are others."""
        asked = tuple(pair for pair in self.state.pairs if pair[0] in ASKING)
        return State((("collection", collection.name), *asked))

    @property
    def total_text(self) -> str:
        """How many documents match, said as exactly as it is known."""
        if self.results is None:
            return ""
        total = self.results.total
        count = f"{total.value:,} {'document' if total.value == 1 else 'documents'}"
        verb = "matches" if total.value == 1 else "match"
        return f"{'At least ' if total.relation == 'at_least' else ''}{count} {verb} the words"


def others_of(results: Results) -> list[str]:
    """The documents that a page of hits names beside its hits."""
    return [name for hit in results.hits for name in hit.others[:OTHERS]]


def hit_view(hit: Hit, number: int, page: SearchPage, others: Sequence[Document]) -> HitView:
    """A hit with its links, its marked texts and its explanation."""
    collection, state = page.collection, page.state
    assert collection  # noqa: S101 - a hit is of one
    return HitView(
        hit=hit,
        number=number,
        title=segments(hit.title or hit.document, hit.title_marks if hit.title else ()),
        evidence=[segments(item.text, item.marks) for item in hit.evidence],
        details=details(hit.fields, collection),
        link=document_link(hit, collection, state),
        table=table(hit.explain) if hit.explain else None,
        more=counted(hit.more_passages, "more passage"),
        others=[
            Other(item.title or item.id, details(item.fields, collection), other_link(item.id, collection, state))
            for item in others
        ],
        others_text=f"{counted(len(hit.others), 'more document')} of this {group_word(collection)}",
    )


def group_word(collection: Collection) -> str:
    """What hits are grouped by, as a word."""
    field = collection.fields.get(collection.group_by)
    return field.title.lower() if field else collection.group_by


def other_link(identifier: str, collection: Collection, state: State) -> str:
    """The page of another document of a hit's patient."""
    place = [("collection", collection.name), ("id", identifier)]
    return f"/document?{urlencode([*place, *way_back(state)])}"


def way_back(state: State) -> list[tuple[str, str]]:
    """The search that led to a document, if it isn't too long to be carried along."""
    return [("back", state.query)] if state.short and len(state.query) < 1_500 else []


def document_link(hit: Hit, collection: Collection, state: State) -> str:
    """The document's page, with the evidence to mark and, if it isn't too long, the way back."""
    place = [("collection", collection.name), ("id", hit.document), ("passage", hit.passage)]
    marks = [("mark", f"{item.start}-{item.end}") for item in hit.evidence]
    return f"/document?{urlencode([*place, *marks, *way_back(state)])}{'#evidence' if marks else ''}"


def facet_view(item: Field, counts: Sequence[FacetCount], state: State) -> FacetView:
    """A facet with its most frequent values, chosen ones first; numbers from the highest."""
    name = f"filter.{item.name}"
    chosen = state.values(name)
    low, _, high = chosen[0].partition("..") if chosen and item.type != "keyword" else ("", "", "")
    if chosen and item.type != "keyword" and ".." not in chosen[0]:
        high = low
    found = {count.value: count.count for count in counts}
    keywords = chosen if item.type == "keyword" else []
    values = [*keywords, *(value for value in found if value not in keywords)]
    if item.type == "number":
        values.sort(key=float, reverse=True)
    choices = [
        Choice(value, found.get(value, 0), value in chosen, chosen_state(item, value, state)) for value in values
    ]
    return FacetView(item, choices[: max(FACET_VALUES, len(chosen))], low, high)


def chosen_state(item: Field, value: str, state: State) -> State:
    """The state that choosing a facet's value leads to: keywords add up, a number takes the place of the one before."""
    name = f"filter.{item.name}"
    if item.type == "keyword" or value in state.values(name):
        return state.toggle(name, value)
    return state.put(name, value)
