"""The page of one patient: the documents that the caller may see as a timeline, and what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from mappings.clinical.reading import ConceptReader
from mappings.documents import Document
from web.pages.assertions import SAYS
from web.pages.formatting import count_noun, details, format_value
from web.pages.patients.problems import ProblemGroup, Problems, document_link
from web.pages.patients.record import PatientRecord, date_of

ON_A_PAGE: Final = 100
OF_A_GROUP: Final = 10
_SAYS: Final = "says"


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A value to filter by: its link adds or removes it."""

    label: str
    count: int
    chosen: bool
    link: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A document in the timeline."""

    day: str
    title: str
    about: str
    link: str


class PatientPage:
    """What is shown of a record; `arguments` are the parameters of the page's address."""

    def __init__(self, record: PatientRecord, reader: ConceptReader | None, arguments: MultiDict[str, str]) -> None:
        self.record = record
        self.collection = record.collection
        self._pairs = [(name, value) for name, value in arguments.items(multi=True) if value]
        self._names = [
            field.name
            for field in record.collection.fields.values()
            if field.type == "keyword" and field.facet and field.name != record.collection.group_by
        ]
        self._shown = [item for item in record.documents if self._fits(item)]
        self._says = [name for name in arguments.getlist(_SAYS) if name in SAYS]
        self._problems = Problems(self._shown, self.collection, reader) if reader else None
        self._whole = arguments.get("group", "")
        page = arguments.get("page", "1")
        self.number = min(max(int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1, 1), self.pages)

    @property
    def title(self) -> str:
        """Whose page it is."""
        return f"{self.collection.fields[self.collection.group_by].title} {self.record.patient}"

    @property
    def word(self) -> str:
        """What the documents belong to, as a word."""
        return self.collection.fields[self.collection.group_by].title.lower()

    @property
    def summary(self) -> str:
        """How many documents there are, and of which time."""
        days = [day for item in self.record.documents if (day := date_of(item, self.collection))]
        count = count_noun(len(self.record.documents), "document")
        count = count if self.record.complete else f"The newest {count}"
        if not days:
            return count
        first, last = format_value(min(days)), format_value(max(days))
        return f"{count}, {first}" if first == last else f"{count}, {first} to {last}"

    @property
    def filters(self) -> list[tuple[str, list[FilterChoice]]]:
        """(title of the field, its values) of each field that documents can be filtered by."""
        found = [(self.collection.fields[name].title, self._choices(name)) for name in self._names]
        return [item for item in found if item[1]]

    @property
    def assertions(self) -> list[FilterChoice]:
        """The assertions that the shown documents make, each with the number of concepts."""
        counts = self._problems.counts if self._problems else []
        return [
            FilterChoice(SAYS[name], count, name in self._says, self._toggled(_SAYS, name), name)
            for name, count in counts
        ]

    @property
    def groups(self) -> list[ProblemGroup]:
        """What the shown documents say, by group of concepts."""
        return self._problems.groups(self._says, self._whole, OF_A_GROUP) if self._problems else []

    def whole_group(self, name: str) -> str:
        """The address of this page with all concepts of one group."""
        return self._address([*(pair for pair in self._pairs if pair[0] != "group"), ("group", name)]) + f"#{name}"

    @property
    def is_read(self) -> bool:
        """Whether there is a reader of these documents."""
        return self._problems is not None

    @property
    def narrowed(self) -> str:
        """How many documents the filters leave; "" without filters."""
        left, every = len(self._shown), len(self.record.documents)
        return f"{left} of {every} documents" if left < every else ""

    @property
    def everything(self) -> str:
        """The address of this page without filters."""
        return self._address([pair for pair in self._pairs if pair[0] in ("collection", "document")])

    @property
    def years(self) -> list[tuple[str, list[TimelineEntry]]]:
        """(year, its documents) on this page of the timeline, the newest first."""
        first = (self.number - 1) * ON_A_PAGE
        shown = self._shown[first : first + ON_A_PAGE]
        return [(year, [self._entry(item) for item in found]) for year, found in groupby(shown, self._year)]

    @property
    def pages(self) -> int:
        """How many pages the timeline has."""
        return max(1, -(-len(self._shown) // ON_A_PAGE))

    @property
    def newer(self) -> str:
        """The address of the page before, "" on the first."""
        return self._paged(self.number - 1) if self.number > 1 else ""

    @property
    def older(self) -> str:
        """The address of the next page, "" on the last."""
        return self._paged(self.number + 1) if self.number < self.pages else ""

    def _paged(self, number: int) -> str:
        kept = [pair for pair in self._pairs if pair[0] != "page"]
        return self._address([*kept, ("page", str(number))]) + "#documents"

    def _fits(self, document: Document) -> bool:
        return all(set(self._chosen(name)) & set(_values(document, name)) for name in self._names if self._chosen(name))

    def _chosen(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def _choices(self, name: str) -> list[FilterChoice]:
        counts = Counter(value for item in self.record.documents for value in _values(item, name))
        return [
            FilterChoice(value, count, value in self._chosen(name), self._toggled(name, value))
            for value, count in counts.most_common()
        ]

    def _toggled(self, name: str, value: str) -> str:
        kept = [pair for pair in self._pairs if pair[0] != "page"]
        chosen = (name, value) in kept
        return self._address([pair for pair in kept if pair != (name, value)] if chosen else [*kept, (name, value)])

    def _address(self, pairs: Sequence[tuple[str, str]]) -> str:
        return f"/patient?{urlencode(pairs)}"

    def _year(self, document: Document) -> str:
        day = date_of(document, self.collection)
        return str(day.year) if day else "Without a date"

    def _entry(self, document: Document) -> TimelineEntry:
        day = date_of(document, self.collection)
        about = [
            item.value
            for item in details({name: document.fields.get(name, "") for name in self._names}, self.collection, True)
        ]
        return TimelineEntry(
            day=f"{day.day} {day:%B}" if day else "",
            title=document.title or document.id,
            about=", ".join(dict.fromkeys(about)),
            link=document_link(document, self.collection),
        )


def _values(document: Document, name: str) -> tuple[str, ...]:
    value = document.fields.get(name)
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
