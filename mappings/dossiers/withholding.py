"""What others see of a dossier that is shared with them: no more of its evidence than of the documents themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mappings.documents import Access
from mappings.dossiers.dossier import ChosenEvidence
from mappings.dossiers.parse import parse_dossier


def content_for(content: Mapping[str, Any], access: Access, collections: frozenset[str] | None) -> dict[str, Any]:
    """The content of another user's dossier for a reader who sees `collections` (None: all).

    Evidence is withheld unless the reader has a label that the document had when it was chosen. Of its labels the reader
    learns only their own.
    """
    dossier = parse_dossier(content)
    claims = tuple(
        replace(claim, evidence=tuple(_for_reader(item, access, collections) for item in claim.evidence))
        for claim in dossier.claims
    )
    return replace(dossier, claims=claims).as_json()


def _for_reader(item: ChosenEvidence, access: Access, collections: frozenset[str] | None) -> ChosenEvidence:
    hidden = collections is not None and item.collection not in collections
    if item.withheld or hidden or not access.may_see(item.labels):
        return ChosenEvidence(item.number, withheld=True)
    return item if access.everything else replace(item, labels=item.labels & access.labels)
