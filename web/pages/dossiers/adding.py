"""The form below a hit that adds its sentences to a dossier, and the page that repeats it where something is missing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from flask import g
from werkzeug.datastructures import MultiDict

from mappings.documents import clean
from mappings.dossiers.dossier import MOST_CLAIM_CHARACTERS
from mappings.dossiers.parse import check_notes, check_probability
from mappings.errors import InvalidInput, MedleyError
from mappings.stances import as_stance
from search.kept.items import MOST_PAGE_ITEMS, KeptFilter, KeptItem
from web import context
from web.citations.evidence_marks import EvidenceMarks
from web.dossiers.snapshots import PassageChoice

CARRIED: Final = ("collection", "document", "passage", "stance", "probability")
"""The fields that the form carries along unseen, beside the places of the sentences."""

_MOST_LISTED: Final = 20
_MOST_PAGES: Final = 5


@dataclass(frozen=True, slots=True)
class AddingPage:
    """The form on a page of its own, with what was sent and why that was not enough."""

    error: MedleyError
    sent: MultiDict[str, str]

    @property
    def carried(self) -> list[tuple[str, str]]:
        """What the form carries along unseen."""
        fields = [(name, self.sent.get(name, "")) for name in CARRIED]
        return [*fields, *(("mark", mark) for mark in self.sent.getlist("mark"))]

    @property
    def claim(self) -> str:
        """The claim as it was sent."""
        return self.sent.get("claim", "")

    @property
    def most_characters(self) -> int:
        """How long a claim can be."""
        return MOST_CLAIM_CHARACTERS


def sent_choice(sent: MultiDict[str, str]) -> PassageChoice:
    """The sentences that a form names. Raises `InvalidInput`."""
    stance, probability = sent.get("stance", ""), sent.get("probability", "")
    return PassageChoice(
        sent.get("collection", ""),
        clean(sent.get("document", "")),
        EvidenceMarks(sent.get("passage", ""), sent.getlist("mark")),
        as_stance(stance) if stance else None,
        _probability(probability) if probability else None,
        check_notes(sent.get("note", ""), "note"),
    )


def own_dossiers() -> Sequence[KeptItem]:
    """The dossiers that the caller can add to, what was changed last first.

    Not logged: every search page asks for them, and they are the caller's own. A search page works without them, too.
    """
    if "own_dossiers" not in g:
        found: list[KeptItem] = []
        with suppress(MedleyError):
            found = _own_items()
        g.own_dossiers = found[:_MOST_LISTED]
    listed: Sequence[KeptItem] = g.own_dossiers
    return listed


def _own_items() -> list[KeptItem]:
    store, access = context.portal().medley.kept, context.caller().access
    found: list[KeptItem] = []
    after = ""
    for _ in range(_MOST_PAGES):
        page = store.list_items(access, KeptFilter("dossier"), MOST_PAGE_ITEMS, after)
        found += [item for item in page.items if item.owner == access.user]
        if page.next is None or len(found) >= _MOST_LISTED:
            break
        after = page.next
    return found


def _probability(text: str) -> float:
    try:
        return check_probability(float(text))
    except ValueError:
        raise InvalidInput("a probability is a number from 0 to 1", field="probability") from None
