"""The areas of the portal beside the search, as the head of each page links to them."""

from __future__ import annotations

from flask import g, request

from mappings.collection import Collection
from mappings.errors import MedleyError
from web import context
from web.pages.patients.record import has_patients


def areas() -> list[tuple[str, str, bool]]:
    """(name, address, whether this page belongs to it) of each area that has something for the caller."""
    if not g.get("caller"):
        return []
    try:
        collections = context.use_cases().collections.all()
    except MedleyError:
        return []  # the page itself says what does not work
    found = [("Cohorts", "/cohorts", any(map(has_patients, collections))), ("Saved", "/saved", bool(collections))]
    return [(name, address, request.path.startswith(address)) for name, address, shown in found if shown]


def cohort_collections() -> list[Collection]:
    """The collections whose documents belong to patients and that the caller sees; invented ones come last."""
    found = filter(has_patients, context.use_cases().collections.all())
    return sorted(found, key=lambda item: item.invented)
