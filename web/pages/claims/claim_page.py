"""The page of one claim: what each hit says of it, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mappings.claims.remarks import ClaimRemark, remarks_on
from mappings.collection import Collection
from mappings.errors import MedleyError
from mappings.stances import STANCES, Stance
from search.pipeline.results import Results
from web.pages.addresses import SearchAddress
from web.pages.claims.addresses import ClaimAddress, claim_address, search_address
from web.pages.claims.stances import (
    NOTHING,
    StanceSummary,
    document_noun,
    in_words,
    missing_in_words,
    seems_unanswered,
    summary_of,
)
from web.pages.hits import HitView, hit_views


@dataclass(frozen=True, slots=True)
class ClaimHit:
    """A hit of a claim: how well it answers, in words, and the warnings that stand beside its evidence."""

    view: HitView
    answers: str
    warnings: Sequence[str]

    @classmethod
    def of(cls, view: HitView) -> ClaimHit:
        """The hit for display."""
        return cls(view, in_words(view.hit.probability), [item.name for item in view.study if item.warns])


@dataclass(slots=True)
class ClaimPage:
    """A claim and, once it was searched, its hits by stance."""

    collection: Collection
    claim: str
    unhurried: bool = False
    results: Results | None = None
    error: MedleyError | None = None
    hits: list[ClaimHit] = field(default_factory=list)

    def show(self, results: Results) -> None:
        """Show an answer."""
        self.results = results
        self.hits = [ClaimHit.of(item) for item in hit_views(results, self.collection, self.search, {})]

    @property
    def search(self) -> SearchAddress:
        """The same text as an ordinary search."""
        return search_address(self.collection, self.claim)

    @property
    def address(self) -> ClaimAddress:
        """The address of this page."""
        return claim_address(self.collection, self.claim, self.unhurried)

    @property
    def whole(self) -> ClaimAddress | None:
        """The same page with time to read every hit, if there was none for some and it has not been given yet."""
        is_short = self.collection.stance is not None and self.summary.unread > 0 and not self.unhurried
        return claim_address(self.collection, self.claim, unhurried=True) if is_short else None

    @property
    def noun(self) -> str:
        """What is read, as a word."""
        return document_noun(self.collection)

    @property
    def remarks(self) -> list[ClaimRemark]:
        """What is to be said of the claim itself."""
        return remarks_on(self.claim) if self.claim else []

    @property
    def summary(self) -> StanceSummary:
        """How many hits say what."""
        return summary_of((item.view.hit for item in self.hits), self.collection)

    @property
    def columns(self) -> list[tuple[Stance, str, list[ClaimHit]]]:
        """(stance, title, its hits, the best first) of each stance; empty if none was read."""
        titles: dict[Stance, str] = {"supports": "Supports", "refutes": "Refutes", "neither": "Says neither"}
        if not self.summary.read:
            return []
        return [(stance, titles[stance], self._of(stance)) for stance in STANCES]

    def _of(self, stance: Stance) -> list[ClaimHit]:
        return [item for item in self.hits if item.view.hit.stance and item.view.hit.stance.label == stance]

    @property
    def unread(self) -> list[ClaimHit]:
        """The hits of which it isn't known what they say."""
        return [item for item in self.hits if item.view.hit.stance is None]

    @property
    def why_unread(self) -> str:
        """Why no hit was read; "" if any was."""
        if not self.hits or self.summary.read:
            return ""
        if self.collection.stance is None:
            return f"in this collection nothing reads what {self.noun}s say of a claim, so they are listed as found"
        over = "" if self.unhurried else ", or time was over"
        return (
            f"what these {self.noun}s say of the text was not read: it may be too short or too long for a claim{over}"
        )

    @property
    def abstention(self) -> list[str]:
        """What speaks against there being an answer here."""
        if self.results is None:
            return []
        missing = missing_in_words(self.results.missing)
        return [*([NOTHING] if seems_unanswered(self.results) else []), *([missing] if missing else [])]
