"""Changes of a dossier: each function returns a new one, whose history says what was changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import orjson

from mappings.dossiers.dossier import (
    MOST_CLAIMS,
    MOST_EVIDENCE,
    MOST_HISTORY,
    ChosenEvidence,
    Dossier,
    DossierChange,
    DossierClaim,
    Stamp,
    Verdict,
    next_number,
)
from mappings.errors import Conflict

LEAST_HISTORY: Final = 20
"""How many changes a dossier remembers even if it is nearly full."""

_EXCERPT: Final = 60


class ClaimRating(NamedTuple):
    """What a user decides about a claim: the verdict, notes, and where the claim appeared."""

    verdict: Verdict
    notes: str
    source: str


def with_claim(dossier: Dossier, text: str, stamp: Stamp) -> Dossier:
    """The dossier with one more claim. Raises `Conflict` if it has the claim, or as many as possible."""
    if dossier.claim_of(text):
        raise Conflict("this claim is in the dossier already", field="claim")
    if len(dossier.claims) >= MOST_CLAIMS:
        raise Conflict(f"the dossier has {MOST_CLAIMS} claims, the most possible: begin another one", field="claim")
    added = DossierClaim(next_number(dossier.claims), text)
    return _recorded(replace(dossier, claims=(*dossier.claims, added)), f"added the claim {_excerpt(text)}", stamp)


def with_rating(dossier: Dossier, number: int, rating: ClaimRating, stamp: Stamp) -> Dossier:
    """The dossier with another verdict, notes or source of a claim; the same dossier if nothing differs."""
    claim = dossier.claim(number)
    words = [f"changed the verdict on {_excerpt(claim.text)} from {claim.verdict} to {rating.verdict}"]
    words = words if claim.verdict != rating.verdict else []
    if claim.notes != rating.notes:
        words.append(f"changed the notes on {_excerpt(claim.text)}")
    if claim.source != rating.source:
        words.append(f"changed where {_excerpt(claim.text)} appeared")
    changed = replace(claim, verdict=rating.verdict, notes=rating.notes, source=rating.source)
    dossier = _with(dossier, changed)
    for what in words:
        dossier = _recorded(dossier, what, stamp)
    return dossier


def with_evidence(dossier: Dossier, number: int, evidence: ChosenEvidence, stamp: Stamp) -> Dossier:
    """The dossier with evidence for a claim, under a number of its own. Raises `Conflict` if the claim has it."""
    claim = dossier.claim(number)
    if any(evidence.is_same_as(item) for item in claim.evidence):
        raise Conflict("these sentences are evidence for the claim already", field="passage")
    if len(claim.evidence) >= MOST_EVIDENCE:
        raise Conflict(f"the claim has {MOST_EVIDENCE} pieces of evidence, the most possible", field="passage")
    added = replace(evidence, number=next_number(claim.evidence))
    # Readers of a shared dossier see its history: it names no document, since they may not be allowed to see that one.
    what = f"added evidence {added.number} to {_excerpt(claim.text)}"
    return _recorded(_with(dossier, replace(claim, evidence=(*claim.evidence, added))), what, stamp)


def with_note(dossier: Dossier, number: int, evidence: int, note: str, stamp: Stamp) -> Dossier:
    """The dossier with another note on a piece of evidence; the same dossier if it is the same note."""
    claim = dossier.claim(number)
    chosen = claim.chosen(evidence)
    if chosen.note == note:
        return dossier
    changed = tuple(replace(item, note=note) if item is chosen else item for item in claim.evidence)
    what = f"changed the note on evidence {evidence} of {_excerpt(claim.text)}"
    return _recorded(_with(dossier, replace(claim, evidence=changed)), what, stamp)


def without_claim(dossier: Dossier, number: int, stamp: Stamp) -> Dossier:
    """The dossier without a claim and its evidence."""
    claim = dossier.claim(number)
    kept = tuple(item for item in dossier.claims if item is not claim)
    return _recorded(replace(dossier, claims=kept), f"removed the claim {_excerpt(claim.text)}", stamp)


def without_evidence(dossier: Dossier, number: int, evidence: int, stamp: Stamp) -> Dossier:
    """The dossier without one piece of evidence."""
    claim = dossier.claim(number)
    chosen = claim.chosen(evidence)
    kept = tuple(item for item in claim.evidence if item is not chosen)
    what = f"removed evidence {evidence} from {_excerpt(claim.text)}"
    return _recorded(_with(dossier, replace(claim, evidence=kept)), what, stamp)


def renamed(dossier: Dossier, old: str, new: str, stamp: Stamp) -> Dossier:
    """The dossier with its new name in the history; the same dossier if the name is the same."""
    if old == new:
        return dossier
    return _recorded(dossier, f"renamed the dossier from {_excerpt(old)} to {_excerpt(new)}", stamp)


def begun(stamp: Stamp) -> Dossier:
    """A dossier without claims."""
    return _recorded(Dossier(), "created the dossier", stamp)


def fitted(dossier: Dossier, most_bytes: int) -> Dossier:
    """The dossier, with less history if it would have more than `most_bytes` as JSON: history gives way to evidence.

    Raises `Conflict` if it is too large with `LEAST_HISTORY` changes.
    """
    history = list(dossier.history)
    while (size := size_of(dossier)) > most_bytes and len(history) > LEAST_HISTORY:
        excess = size - most_bytes
        while excess > 0 and len(history) > LEAST_HISTORY:
            excess -= len(orjson.dumps(history.pop(0).as_json()))
        dossier = replace(dossier, history=tuple(history))
    if size > most_bytes:
        raise Conflict(
            f"the dossier is full: it would have {size:,} bytes, and at most {most_bytes:,} are kept; remove claims or "
            "evidence, shorten notes, or begin another dossier",
            field="content",
        )
    return dossier


def size_of(dossier: Dossier) -> int:
    """How many bytes the dossier has as JSON in UTF-8."""
    return len(orjson.dumps(dossier.as_json()))


def _with(dossier: Dossier, claim: DossierClaim) -> Dossier:
    return replace(dossier, claims=tuple(claim if item.number == claim.number else item for item in dossier.claims))


def _recorded(dossier: Dossier, what: str, stamp: Stamp) -> Dossier:
    return replace(dossier, history=(*dossier.history, DossierChange(stamp, what))[-MOST_HISTORY:])


def _excerpt(text: str) -> str:
    return f"“{text}”" if len(text) <= _EXCERPT else f"“{text[: _EXCERPT - 1].rstrip()}…”"


DossierEdit = Callable[[Dossier, Stamp], Dossier]
"""A change of a dossier, made at a moment by a user."""
