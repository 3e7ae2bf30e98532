"""The term bundles that searches and cohorts name, looked up with the access of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mappings.bundles import BUNDLE, MOST_TERMS, TermBundle, bundle_reference
from mappings.documents import Access
from mappings.errors import InvalidInput
from search.kept.items import KeptItem
from search.query import Query, stated_finding
from web.kept.use_cases import KeptUseCases
from web.use_cases import UseCases


def named_bundle(reference: str, use_cases: UseCases) -> TermBundle:
    """The caller's own bundle of that name, or the one with that id that they may see.

    Raises `InvalidInput`, alike for a bundle that does not exist and for one that the caller can't see.
    """
    item = KeptUseCases(use_cases).find("bundle", reference)
    if item is None or item.kind != "bundle":
        raise InvalidInput(
            f"there is no bundle {reference[:80]!r} that you may see: it was deleted or renamed, or is not shared with you; "
            "name one of your own, or give the id of a shared one",
            field="bundle",
        )
    terms = terms_of(item.content)
    if not 1 <= len(terms) <= MOST_TERMS:
        raise InvalidInput(
            f"the bundle {item.name!r} has {len(terms):,} terms; with 1 to {MOST_TERMS} it can be asked for",
            field="bundle",
        )
    return TermBundle(item.id, item.name, tuple(terms))


def with_bundles(query: Query, use_cases: UseCases) -> Query:
    """The query with the bundles that its findings name. Raises `InvalidInput` for one that the caller can't see."""
    found: dict[str, TermBundle] = {}
    for slot, reference in _references(query):
        try:
            found.setdefault(reference, named_bundle(reference, use_cases))
        except InvalidInput as error:
            raise InvalidInput(error.message, field=slot) from None
    return replace(query, bundles=tuple(found.items())) if found else query


def reference_to(item: KeptItem, access: Access) -> str:
    """How the caller names a bundle in a list separated by commas: their own by its name, another one by its id."""
    own = item.owner == access.user and "," not in item.name
    return f"{BUNDLE}{item.name if own else item.id}"


def by_id(finding: str, use_cases: UseCases) -> str:
    """A finding of a saved search, with the id of its bundle: whoever opens it, and under whatever name, it is the same one.

    Raises `InvalidInput` for a bundle that the caller can't see.
    """
    name = stated_finding(finding)[1]
    reference = bundle_reference(name)
    if not reference:
        return finding
    return finding.removesuffix(name) + BUNDLE + named_bundle(reference, use_cases).id


def terms_of(content: Mapping[str, Any]) -> list[str]:
    """The terms of a bundle, each once."""
    terms = content.get("terms")
    given = [str(term).strip() for term in terms] if isinstance(terms, list) else []
    return list(dict.fromkeys(filter(None, given)))


def _references(query: Query) -> Iterator[tuple[str, str]]:
    for slot, texts in (("with", query.having), ("without", query.lacking)):
        for text in texts:
            name = stated_finding(text)[1] if slot == "with" else text
            if reference := bundle_reference(name):
                yield slot, reference
