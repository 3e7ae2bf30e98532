"""A dossier: the claims that a fact-checker looks into, each with a verdict of their own and the evidence that they chose.

Medley fills in what a document says; a verdict is only ever set by a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

from mappings.errors import NotFound
from mappings.stances import Stance

Verdict = Literal["unrated", "true", "mostly true", "mixed", "mostly false", "false", "unproven"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
MOST_CLAIMS: Final = 100
MOST_EVIDENCE: Final = 100
"""The most passages that are evidence for one claim."""

MOST_MARKS: Final = 10
"""The most sentences of a passage that one piece of evidence quotes."""

MOST_HISTORY: Final = 200
"""The most changes that a dossier remembers: the newest ones."""

MOST_CLAIM_CHARACTERS: Final = 2_000
MOST_NOTES_CHARACTERS: Final = 10_000
MOST_QUOTE_CHARACTERS: Final = 4_000
MOST_TITLE_CHARACTERS: Final = 1_000
MOST_SOURCE_CHARACTERS: Final = 2_000


class Stamp(NamedTuple):
    """When something was changed (ISO 8601, UTC), and by which user."""

    at: str
    by: str


@dataclass(frozen=True, slots=True)
class DossierChange:
    """A change of a dossier in words, such as "added the claim …"."""

    stamp: Stamp
    what: str

    def as_json(self) -> dict[str, Any]:
        """The change as a JSON object."""
        return {"at": self.stamp.at, "by": self.stamp.by, "what": self.what}


@dataclass(frozen=True, slots=True)
class CitedStudy:
    """What a citation of a study needs, as it was when the study was chosen; `year` can be empty, as can every text."""

    authors: tuple[str, ...] = ()
    journal: str = ""
    year: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    doi: str = ""
    pmid: str = ""

    def as_json(self) -> dict[str, Any]:
        """The citation as a JSON object, without what is empty."""
        names = ("journal", "year", "volume", "issue", "pages", "doi", "pmid")
        texts = {name: getattr(self, name) for name in names}
        return _filled({"authors": list(self.authors), **texts})


@dataclass(frozen=True, slots=True)
class ChosenEvidence:
    """Sentences of a document that a user chose as evidence: a snapshot, which stays when the document goes.

    `number` is unique within its claim. `marks` are the places of the sentences in the passage, such as `12-80`. `labels`
    are those of the document: others see the evidence only if they could see the document. `stance` and `probability` are
    what was shown when the evidence was chosen. Of what is `withheld` from a reader, nothing else is known.
    """

    number: int
    collection: str = ""
    document: str = ""
    passage: str = ""
    title: str = ""
    quote: str = ""
    marks: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    stance: Stance | None = None
    probability: float | None = None
    note: str = ""
    added: str = ""
    invented: bool = False
    study: CitedStudy = field(default_factory=CitedStudy)
    withheld: bool = False

    def as_json(self) -> dict[str, Any]:
        """The evidence as a JSON object, without what is empty."""
        names = (
            "collection",
            "document",
            "passage",
            "title",
            "quote",
            "stance",
            "note",
            "added",
            "invented",
            "withheld",
        )
        return _filled(
            {
                "number": self.number,
                **{name: getattr(self, name) for name in names},
                "marks": list(self.marks),
                "labels": sorted(self.labels),
                "citation": self.study.as_json(),
            }
        ) | ({} if self.probability is None else {"probability": self.probability})

    def is_same_as(self, other: ChosenEvidence) -> bool:
        """Whether both quote the same sentences of the same document."""
        return (self.collection, self.document, self.quote) == (other.collection, other.document, other.quote)


@dataclass(frozen=True, slots=True)
class DossierClaim:
    """A claim with its verdict. `number` is unique within the dossier; `source` is the address where the claim appeared."""

    number: int
    text: str
    verdict: Verdict = "unrated"
    notes: str = ""
    source: str = ""
    evidence: tuple[ChosenEvidence, ...] = ()

    def chosen(self, number: int) -> ChosenEvidence:
        """The evidence with this number. Raises `NotFound`."""
        found = next((item for item in self.evidence if item.number == number), None)
        if found is None:
            raise NotFound("this evidence is no longer in the dossier", field="evidence")
        return found

    def as_json(self) -> dict[str, Any]:
        """The claim as a JSON object, without what is empty."""
        evidence = [item.as_json() for item in self.evidence]
        texts = _filled({"notes": self.notes, "source": self.source})
        return {"number": self.number, "text": self.text, "verdict": self.verdict, **texts, "evidence": evidence}


@dataclass(frozen=True, slots=True)
class Dossier:
    """The content of a dossier; of `history`, the newest change comes last."""

    claims: tuple[DossierClaim, ...] = ()
    history: tuple[DossierChange, ...] = ()

    def claim(self, number: int) -> DossierClaim:
        """The claim with this number. Raises `NotFound`."""
        found = next((item for item in self.claims if item.number == number), None)
        if found is None:
            raise NotFound("this claim is no longer in the dossier", field="claim")
        return found

    def claim_of(self, text: str) -> DossierClaim | None:
        """The claim with the same text, whatever its capitals and spaces."""
        wanted = _folded(text)
        return next((item for item in self.claims if _folded(item.text) == wanted), None)

    def as_json(self) -> dict[str, Any]:
        """The dossier as a JSON object; `mappings.dossiers.parse` reads it."""
        return {
            "claims": [item.as_json() for item in self.claims],
            "history": [item.as_json() for item in self.history],
        }


def next_number(items: Iterable[DossierClaim | ChosenEvidence]) -> int:
    """The number of one more item."""
    return max((item.number for item in items), default=0) + 1


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
