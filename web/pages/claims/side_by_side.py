"""Two documents side by side, with what they say of a claim marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mappings.collection import Collection
from mappings.documents import FieldValue
from mappings.errors import InvalidInput
from mappings.studies.badges import DESIGNS, WARNINGS, values_of
from mappings.studies.description import BADGES, NOTICES, SAMPLE_SIZE, with_study_fields
from search.pipeline.results import Hit, Results
from search.storage import StoredDocument
from web.pages.claims.addresses import ClaimAddress, claim_address
from web.pages.claims.stances import SAYS, in_words
from web.pages.document_page import SectionView, section_view
from web.pages.formatting import format_value

COMPARED: Final = 2
_UNKNOWN: Final = "not stated"


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One of the two: `rows` are (what, value), the same for both; `warnings` are what became of it."""

    id: str
    title: str
    rows: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    notices: Sequence[str]
    sections: Sequence[SectionView]

    @classmethod
    def of(cls, stored: StoredDocument, collection: Collection, hit: Hit | None) -> ComparedDocument:
        """The document; `hit` is what the search for the claim found in it, None if it did not find it."""
        assert stored.document  # noqa: S101 - a tombstone is never shown
        fields = with_study_fields(stored.document, collection)
        sentences = [item.text.strip() for item in hit.evidence] if hit else []
        sections = stored.document.sections
        return cls(
            id=stored.id,
            title=stored.document.title or stored.id,
            rows=[*_study(fields), *_said(hit)],
            warnings=[name for name in values_of(fields, BADGES) if name in WARNINGS],
            notices=values_of(fields, NOTICES),
            sections=[section_view(item, number, sentences) for number, item in enumerate(sections)],
        )


def _study(fields: Mapping[str, FieldValue]) -> list[tuple[str, str]]:
    designs = [name for name in values_of(fields, BADGES) if name in DESIGNS]
    size = fields.get(SAMPLE_SIZE)
    return [
        ("Design", ", ".join(designs) or _UNKNOWN),
        ("Sample size", f"{int(size):,}" if isinstance(size, float) else _UNKNOWN),
        ("Journal", _value(fields, "journal")),
        ("Year", _value(fields, "year")),
    ]


def _value(fields: Mapping[str, FieldValue], name: str) -> str:
    return format_value(fields[name]) if fields.get(name) not in (None, "", ()) else _UNKNOWN


def _said(hit: Hit | None) -> list[tuple[str, str]]:
    """What the document says of the claim, and how well it answers; without a row for what can't be told of any hit."""
    if hit is None:
        return [("Of the claim", "not among the hits for it")]
    stance = f"{'' if hit.stance.is_sure else 'perhaps '}{SAYS[hit.stance.label]}" if hit.stance else "not read"
    answers = in_words(hit.probability)
    return [("Of the claim", f"{stance}, {answers}" if answers else stance)]


@dataclass(frozen=True, slots=True)
class SideBySidePage:
    """Two documents beside each other."""

    collection: Collection
    claim: str
    documents: Sequence[ComparedDocument]

    @property
    def back(self) -> ClaimAddress:
        """The page of the claim."""
        return claim_address(self.collection, self.claim)

    @property
    def names(self) -> list[str]:
        """The names of the rows."""
        return [name for name, _ in self.documents[0].rows]

    @property
    def same(self) -> bool:
        """Whether it is one document twice."""
        return len({item.id for item in self.documents}) < len(self.documents)


def check_chosen(names: Sequence[str]) -> Sequence[str]:
    """The two documents to compare. Raises `InvalidInput` for another number of them."""
    if len(names) != COMPARED:
        raise InvalidInput(
            f"{len(names) or 'no'} document{'' if len(names) == 1 else 's'} chosen: choose two to compare",
            field="document",
        )
    return names


def hit_of(results: Results, document: str) -> Hit | None:
    """The hit that is a document."""
    return next((item for item in results.hits if item.document == document), None)
