"""The table of several claims, on the page and as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mappings.claims.remarks import ClaimRemark, remarks_on
from mappings.collection import Collection
from mappings.errors import MedleyError
from mappings.stances import STANCES
from web.citations.csv_table import safe_cell
from web.pages.claims.addresses import ClaimAddress, claim_address, search_address, table_address
from web.pages.claims.claim_page import ClaimHit
from web.pages.claims.claim_search import PAGE_SECONDS, ClaimAnswer
from web.pages.claims.stances import NOTHING, StanceSummary, missing_in_words, seems_unanswered, summary_of
from web.pages.formatting import Segments, segments
from web.pages.hits import hit_views

COLUMNS: Final = (
    *("claim", "summary", "read", "supports", "refutes", "neither", "notes", "remarks"),
    *("document", "title", "badges", "stance", "answers", "evidence"),
)
_LEFT_OUT: Final = f"left out: the page's {PAGE_SECONDS:g} seconds were over"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One claim of the table: what its hits say, the first of them, and what is to be noted."""

    claim: str
    address: ClaimAddress
    summary: StanceSummary
    leading: ClaimHit | None
    notes: Sequence[str]
    remarks: Sequence[ClaimRemark]
    left_out: bool = False

    @classmethod
    def of(cls, answer: ClaimAnswer, collection: Collection) -> TableRow:
        """The row of an answer."""
        claim, results = answer.claim, answer.results
        hits = results.hits if results else ()
        views = hit_views(results, collection, search_address(collection, claim), {})[:1] if results else []
        return cls(
            claim=claim,
            address=claim_address(collection, claim),
            summary=summary_of(hits, collection),
            leading=ClaimHit.of(views[0]) if views else None,
            notes=_notes(answer),
            remarks=remarks_on(claim),
            left_out=answer.left_out,
        )

    @property
    def evidence(self) -> str:
        """The sentence that says most in the leading hit."""
        return "".join(text for text, _ in self.evidence_pieces)

    @property
    def evidence_pieces(self) -> Segments:
        """That sentence with what is marked in it; nothing without a hit."""
        found = self.leading.view.hit.evidence if self.leading else ()
        best = max(found, key=lambda item: item.score, default=None)
        return segments(best.text, best.marks) if best else []

    def as_json(self) -> dict[str, Any]:
        """The row for programs, with the names of `COLUMNS`."""
        hit = self.leading.view.hit if self.leading else None
        counts: dict[str, int] = dict(zip(STANCES, self.summary.counts, strict=True))
        return {
            "claim": self.claim,
            "summary": self.summary.words,
            "read": self.summary.read,
            **counts,
            "notes": list(self.notes),
            "remarks": [item.text for item in self.remarks],
            "document": hit.document if hit else None,
            "title": hit.title if hit else None,
            "badges": list(hit.badges) if hit else [],
            "stance": hit.stance.label if hit and hit.stance else None,
            "answers": (self.leading.answers or None) if self.leading else None,
            "evidence": self.evidence or None,
        }


def _notes(answer: ClaimAnswer) -> list[str]:
    if answer.left_out:
        return [_LEFT_OUT]
    if answer.results is None:
        return [f"the search failed: {answer.error}"]
    missing = missing_in_words(answer.results.missing)
    nothing = [NOTHING] if seems_unanswered(answer.results) else []
    return [*nothing, *([missing] if missing else []), *answer.results.degraded]


@dataclass(slots=True)
class TablePage:
    """Several claims with one answer each."""

    collection: Collection
    claims: Sequence[str]
    rows: Sequence[TableRow] = ()
    error: MedleyError | None = None

    def show(self, answers: Sequence[ClaimAnswer]) -> None:
        """Show the answers."""
        self.rows = [TableRow.of(item, self.collection) for item in answers]

    @property
    def address(self) -> ClaimAddress:
        """The address of the table."""
        return table_address(self.collection, self.claims)

    def file(self, name: str) -> ClaimAddress:
        """The address of its file in the format `name`."""
        return table_address(self.collection, self.claims, name)

    @property
    def reads(self) -> bool:
        """Whether the collection's documents are read for what they say of a claim."""
        return self.collection.stance is not None

    @property
    def left_out(self) -> ClaimAddress | None:
        """The table of the claims for which no time was left; None if there was for all."""
        claims = [row.claim for row in self.rows if row.left_out]
        return table_address(self.collection, claims) if claims else None

    def as_json(self) -> dict[str, Any]:
        """The table for programs."""
        return {"collection": self.collection.name, "claims": [row.as_json() for row in self.rows]}

    def as_csv(self) -> str:
        """The table for spreadsheets. A cell that a spreadsheet would run as a formula starts with an apostrophe."""
        file = io.StringIO()
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        for row in self.rows:
            found = row.as_json()
            writer.writerow([_cell(found[name]) for name in COLUMNS])
        return file.getvalue()


def _cell(value: object) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return safe_cell(text)
