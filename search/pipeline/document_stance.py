"""What one document says of a claim, by the passage that says most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.documents import Document, Passage
from mappings.errors import InvalidInput, MedleyError
from mappings.stances import ClaimPassage
from search.pipeline import evidence
from search.pipeline.reading import MOST_CLAIM, best_of
from search.pipeline.results import Evidence, HitStance
from search.pipeline.services import SearchServices

MOST_PASSAGES: Final = 40
"""Of a longer document only the first passages are read."""


@dataclass(frozen=True, slots=True)
class DocumentStance:
    """What a document says of a claim: its stance in `passage`, with the sentences that this rests on.

    `read` of its `passages` were read.
    """

    stance: HitStance
    passage: Passage
    evidence: tuple[Evidence, ...]
    read: int
    passages: int


def read_document(
    claim: str, document: Document, version: int, collection: Collection, services: SearchServices
) -> DocumentStance:
    """Read a version of a document for what it says of a claim; no deadline holds.

    Raises `InvalidInput` for an empty claim, for one that is too long, and where the collection has no model that reads
    claims; `ModelError` if that can't be opened.
    """
    if not claim.strip():
        raise InvalidInput("the claim is empty", field="text")
    if len(claim) > MOST_CLAIM:
        raise InvalidInput(
            f"the claim has {len(claim):,} characters; at most {MOST_CLAIM} are read as one claim", field="text"
        )
    reader = services.claim_reader(collection)
    if reader is None:
        raise InvalidInput(f"the kind {collection.kind!r} names no model that reads claims", field="collection")
    found = passages(document, version, collection)
    chosen = found[:MOST_PASSAGES]
    readings = reader.reader.read(claim.strip(), [ClaimPassage.of(item.text, item.title) for item in chosen])
    best = max(range(len(chosen)), key=lambda place: (readings[place].decided, -place))
    text, count = chosen[best].text, len(readings[best].evidence)
    sentences = sorted(evidence.candidates(evidence.ReadPassage.of(text), {}, count), key=lambda item: item.start)
    logits = _logits(claim.strip(), sentences, collection, services)
    return DocumentStance(
        stance=HitStance(readings[best].stance, readings[best].probability),
        passage=chosen[best],
        evidence=best_of(claim, sentences, readings[best], logits),
        read=len(chosen),
        passages=len(found),
    )


def _logits(
    claim: str, sentences: Sequence[Evidence], collection: Collection, services: SearchServices
) -> list[float | None] | None:
    """What the cross-encoder scores of the sentences; None without one, or where it fails: then words stand in."""
    try:
        stages = services.reranker(collection)
        return stages.last.score_pairs([(claim, item.text) for item in sentences], None) if stages else None
    except MedleyError:
        return None
