"""The areas of the portal that have something for the caller, as the head of each page links to them."""

from __future__ import annotations

from typing import Final

from flask import g, request

from mappings.collection import Collection
from mappings.errors import MedleyError
from web import context
from web.pages.patients.record import has_patients

_AREAS: Final = (("Search", "/"), ("Cohorts", "/cohorts"), ("Dossiers", "/dossiers"), ("Saved", "/saved"))


def areas() -> list[tuple[str, str, bool]]:
    """(name, address, whether this page belongs to it) of each area."""
    if not g.get("caller"):
        return []
    try:
        collections = context.use_cases().collections.all()
    except MedleyError:
        return []  # the page itself says what does not work
    left_out = {
        "/cohorts": not any(map(has_patients, collections)),
        "/dossiers": not any(item.studies for item in collections),
    }
    shown = [item for item in _AREAS if not left_out.get(item[1])] if collections else []
    # On the search page the chosen collection is what is marked.
    return [(name, address, address != "/" and request.path.startswith(address)) for name, address in shown]


def cohort_collections() -> list[Collection]:
    """The collections whose documents belong to patients and that the caller sees; invented ones come last."""
    found = filter(has_patients, context.use_cases().collections.all())
    return sorted(found, key=lambda item: item.invented)
