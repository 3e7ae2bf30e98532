"""What the page of a dossier shows, computed from its content and from the documents as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import urlencode

from mappings.dossiers.changes import size_of
from mappings.dossiers.dossier import VERDICTS, ChosenEvidence, DossierClaim, Stamp
from mappings.errors import Conflict, MedleyError
from mappings.studies.description import with_study_fields
from search.kept.items import MOST_CONTENT_BYTES
from web.citations.citation import Citation
from web.citations.identifiers import doi_address, pmid_address
from web.dossiers.exports import unrated_claims
from web.dossiers.snapshots import cited
from web.dossiers.use_cases import OpenDossier
from web.kept.live_documents import LiveDocuments
from web.pages.formatting import OutwardLink, format_value
from web.pages.studies import StudyBadge, study_badges

EXPORTS: Final = (
    ("ris", "RIS"),
    ("bibtex", "BibTeX"),
    ("csv", "CSV"),
    ("json", "JSON"),
    ("claimreview", "ClaimReview"),
)
STANCE_WORDS: Final = {"supports": "supports the claim", "refutes": "refutes the claim", "neither": "decides nothing"}
_SHOWN_AUTHORS: Final = 3
_NEARLY_FULL: Final = 0.8


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """A piece of evidence. `link` leads to its document; "" if that is gone, or hidden from the reader.

    `badges` are those of the document as it is now: it can have been retracted since.
    """

    item: ChosenEvidence
    study: Citation
    link: str
    badges: Sequence[StudyBadge]
    added: str

    @classmethod
    def of(cls, item: ChosenEvidence, documents: LiveDocuments) -> EvidenceView:
        """The evidence beside its document, if that is among `documents`."""
        live = documents.get((item.collection, item.document))
        badges = study_badges(with_study_fields(*live)) if live else []
        added = format_value(datetime.fromisoformat(item.added).date()) if item.added else ""
        return cls(item, cited(item), _document_link(item) if live else "", badges, added)

    @property
    def reference(self) -> str:
        """Authors, journal and year in one line."""
        authors = [name.partition(",")[0] for name in self.study.authors]
        shown = ", ".join(authors[:_SHOWN_AUTHORS]) + (" et al." if len(authors) > _SHOWN_AUTHORS else "")
        return " · ".join(filter(None, (shown, self.study.text("journal"), self.study.year)))

    @property
    def outward(self) -> list[OutwardLink]:
        """Where the study is found outside of Medley."""
        known = (
            OutwardLink(f"PubMed {self.study.pmid}", pmid_address(self.study.pmid)),
            OutwardLink("DOI", doi_address(self.study.doi)),
        )
        return [item for item in known if item.url]

    @property
    def stance(self) -> str:
        """What the page said of the sentences when they were chosen, in words; "" if nothing."""
        if self.item.stance is None:
            return ""
        share = "" if self.item.probability is None else f", {self.item.probability:.0%}"
        return f"{STANCE_WORDS[self.item.stance]}{share}"


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim with its evidence; `search` leads to the hits for its text."""

    claim: DossierClaim
    evidence: Sequence[EvidenceView]

    @property
    def search(self) -> str:
        """The search for the claim, in the collection of the evidence that was chosen last."""
        collections = [item.item.collection for item in self.evidence if item.link]
        place = [("collection", collections[-1])] if collections else []
        return f"/search?{urlencode([*place, ('text', self.claim.text)])}"

    @property
    def style(self) -> str:
        """The verdict as the name of a style."""
        return self.claim.verdict.replace(" ", "-")


@dataclass(slots=True)
class DossierPage:
    """A dossier; after an error, the form `failed` keeps what was `typed` into it."""

    opened: OpenDossier
    claims: Sequence[ClaimView]
    error: MedleyError | None = None
    failed: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, opened: OpenDossier, documents: LiveDocuments) -> DossierPage:
        """The page of a dossier whose documents are `documents`, as far as they are left."""
        return cls(
            opened,
            [
                ClaimView(claim, [EvidenceView.of(item, documents) for item in claim.evidence])
                for claim in opened.dossier.claims
            ],
        )

    def value(self, form: str, name: str, stored: str) -> str:
        """What a field of a form holds: what was typed into the form that failed, or what is stored."""
        return self.typed.get(name, stored) if form == self.failed else stored

    @property
    def is_outdated(self) -> bool:
        """Whether the form that failed was made from an older revision."""
        return isinstance(self.error, Conflict) and self.error.field == "revision"

    @property
    def is_lost(self) -> bool:
        """Whether the form that failed belongs to something that is no longer there, so that the page has no place for it."""
        kinds = ("claim-", "evidence-")
        known = {f"claim-{item.claim.number}" for item in self.claims} | {"claim-new"}
        known |= {f"evidence-{one.claim.number}-{it.item.number}" for one in self.claims for it in one.evidence}
        return self.failed.startswith(kinds) and self.failed not in known

    @property
    def verdicts(self) -> Sequence[str]:
        """The verdicts to choose from."""
        return VERDICTS

    @property
    def exports(self) -> Sequence[tuple[str, str]]:
        """(name, words) of each format of the export."""
        return EXPORTS

    @property
    def unrated(self) -> int:
        """How many claims have no verdict yet."""
        return unrated_claims(self.opened)

    @property
    def changed(self) -> str:
        """The day of the last change."""
        return format_value(_day_of(self.opened.item.changed))

    @property
    def history(self) -> list[tuple[str, str, str]]:
        """(moment, user, what was changed), the newest first."""
        changes = self.opened.dossier.history
        return [(_moment_of(item.stamp), item.stamp.by, item.what) for item in reversed(changes)]

    @property
    def filled(self) -> str:
        """How full the dossier is, as a percentage; "" while there is a lot of room."""
        share = size_of(self.opened.dossier) / MOST_CONTENT_BYTES
        return f"{min(share, 1):.0%}" if share > _NEARLY_FULL else ""


def _document_link(item: ChosenEvidence) -> str:
    place = [("collection", item.collection), ("id", item.document), ("passage", item.passage)]
    marks = [("mark", mark) for mark in item.marks]
    return f"/document?{urlencode([*place, *marks])}{'#evidence' if marks else ''}"


def _day_of(microseconds: int) -> date:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).date()


def _moment_of(stamp: Stamp) -> str:
    if not stamp.at:
        return ""
    moment = datetime.fromisoformat(stamp.at)
    return f"{format_value(moment.date())}, {moment:%H:%M} UTC"
