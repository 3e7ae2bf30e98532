"""What a user keeps, as the page lists it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import Access
from mappings.errors import MedleyError
from search.kept.items import KeptItem, KeptKind, KeptPage
from web.kept.bundles import reference_to, terms_of
from web.pages.addresses import SearchAddress
from web.pages.formatting import format_value

TITLES: Final[Mapping[KeptKind, str]] = {"search": "Searches", "bundle": "Bundles", "cohort": "Cohorts"}
"""The kinds of items that the page lists; dossiers have a page of their own."""

_MAKING: Final[Mapping[KeptKind, str]] = {
    "search": "Below the hits of each search, “Save this search” keeps it.",
    "bundle": "A bundle is a list of names that belong together, such as the drugs of one kind.",
    "cohort": "Beside the patients of a cohort is the field to save it.",
}


@dataclass(frozen=True, slots=True)
class SavedItem:
    """A saved item as it is listed; `terms` are those of a bundle, one a line, and `finding` is how a search asks for it."""

    item: KeptItem
    own: bool
    changed: str
    link: str
    terms: str
    finding: str = ""

    @classmethod
    def of(cls, item: KeptItem, access: Access) -> SavedItem:
        """The item as the caller sees it."""
        moment = datetime.fromtimestamp(item.changed / 1_000_000, UTC)
        link = {"search": f"/saved/{item.id}", "cohort": f"/cohorts/{item.id}"}.get(item.kind, "")
        terms = "\n".join(terms_of(item.content)) if item.kind == "bundle" else ""
        finding = reference_to(item, access) if item.kind == "bundle" else ""
        return cls(item, item.owner == access.user, format_value(moment.date()), link, terms, finding)


@dataclass(frozen=True, slots=True)
class SavedSection:
    """The items of one kind on this page; `next` is the position after them, "" on the last page."""

    kind: KeptKind
    items: Sequence[SavedItem]
    next: str

    @classmethod
    def of(cls, kind: KeptKind, page: KeptPage, access: Access) -> SavedSection:
        """One page of a listing."""
        return cls(kind, [SavedItem.of(item, access) for item in page.items], page.next or "")

    @property
    def title(self) -> str:
        """The kind in words."""
        return TITLES[self.kind]

    @property
    def making(self) -> str:
        """How an item of this kind is made."""
        return _MAKING[self.kind]


@dataclass(frozen=True, slots=True)
class SavedPage:
    """The page of what the caller keeps and what is shared with them; `failed` is the item that an error is of.

    `collections` are those in which bundles can be searched for; `has_cohorts`: one of them has patients; `judges`: the
    hits of some collection can be judged.
    """

    sections: Sequence[SavedSection]
    collections: Sequence[Collection] = ()
    has_cohorts: bool = False
    judges: bool = False
    error: MedleyError | None = None
    failed: str = ""
    name: str = ""
    terms: str = ""


def as_content(address: SearchAddress, kept_finding: Callable[[str], str]) -> dict[str, Any]:
    """A search as it is kept: its parameters as of the search page, each with its values; a finding as `kept_finding` has it."""
    names = dict.fromkeys(name for name, _ in address.first_page().pairs if name != "collection")
    parameters = {name: address.values(name) for name in names}
    for name in {"with", "without"} & parameters.keys():
        findings = [text.strip() for value in parameters[name] for text in value.split(",")]
        parameters[name] = [", ".join(kept_finding(text) for text in findings if text)]
    return {"parameters": parameters}


def as_address(item: KeptItem) -> SearchAddress:
    """The search that is kept; parameters that are no texts are left out."""
    given = item.content.get("parameters")
    named = given.items() if isinstance(given, dict) else ()
    pairs = [(name, value) for name, values in named if isinstance(values, list) for value in map(str, values)]
    return SearchAddress.of([("collection", item.collection), *pairs])
