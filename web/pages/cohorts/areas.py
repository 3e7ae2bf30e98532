"""The areas of the portal that have something for the caller, as the head of each page links to them."""

from __future__ import annotations

from typing import Final

from flask import g, request

from mappings.collection import Collection
from mappings.errors import MedleyError
from web import context
from web.pages.patients.record import has_patients

_AREAS: Final = (
    ("Search", "/"),
    ("Claims", "/claims"),
    ("Dossiers", "/dossiers"),
    ("Cohorts", "/cohorts"),
    ("Saved", "/saved"),
)


def areas() -> list[tuple[str, str, bool]]:
    """(name, address, whether this page belongs to it) of each area."""
    if not g.get("caller"):
        return []
    try:
        collections = context.use_cases().collections.all()
    except MedleyError:
        return []  # the page itself says what does not work
    left_out = {
        *(() if any(map(has_patients, collections)) else ("/cohorts",)),
        *(() if any(item.studies for item in collections) else ("/claims", "/dossiers")),
    }
    shown = [item for item in _AREAS if item[1] not in left_out] if collections else []
    # On the search page the chosen collection is what is marked.
    return [(name, address, address != "/" and _is_here(address)) for name, address in shown]


def _is_here(address: str) -> bool:
    """Whether this page belongs to the area: `/claim` is one of the `/claims`."""
    return request.path.startswith(address.removesuffix("s"))


def cohort_collections() -> list[Collection]:
    """The collections whose documents belong to patients and that the caller sees; invented ones come last."""
    found = filter(has_patients, context.use_cases().collections.all())
    return sorted(found, key=lambda item: item.invented)
