"""The patients of a cohort as its page shows them: for each criterion what the documents say, and the way to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection
from search.cohorts.results import CohortEvidence, CohortPatient, CriterionStanding, Standing
from web.pages.assertions import SAYS
from web.pages.formatting import Segments, format_value, segments

FIRST_SENTENCES: Final = 2
"""How many sentences of a criterion are shown at once; the others open."""

_STANDINGS: Final[dict[Standing, str]] = {
    "met": "met",
    "ruled-out": "ruled out",
    "uncertain": "uncertain",
    "other": "mentioned otherwise",
    "not-mentioned": "not mentioned",
}
_NO_PATIENT: Final = "id:"
"""How the group of a document without a patient begins; the document's id follows."""


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence, what it asserts ("" for words), and the document's page with the sentence marked."""

    pieces: Segments
    assertion: str
    says: str
    heading: str
    about: str
    link: str


@dataclass(frozen=True, slots=True)
class StandingView:
    """How a patient stands to one criterion; `number` is that of its row."""

    number: int
    asks: str
    standing: Standing
    says: str
    first: Sequence[SentenceView]
    further: Sequence[SentenceView]


@dataclass(frozen=True, slots=True)
class PatientView:
    """A patient; `link` leads to the patient's page, and is "" if no document that leads there is known."""

    name: str
    has_page: bool
    link: str
    documents: int
    standings: Sequence[StandingView]


def patient_views(
    patients: Sequence[CohortPatient], collection: Collection, asked: Sequence[tuple[int, str]]
) -> list[PatientView]:
    """The patients of a page; `asked` has for each criterion the number of its row, and what it asks in words."""
    return [_patient(item, collection, asked) for item in patients]


def _patient(item: CohortPatient, collection: Collection, asked: Sequence[tuple[int, str]]) -> PatientView:
    paired = sorted(zip(asked, item.standings, strict=True), key=lambda pair: pair[0][0])
    documents = [own.document for standing in item.standings for own in standing.evidence]
    has_page = not item.patient.startswith(_NO_PATIENT)
    place = [("collection", collection.name), *(("document", name) for name in documents[:1])]
    return PatientView(
        name=item.patient.removeprefix(_NO_PATIENT),
        has_page=has_page,
        link=f"/patient?{urlencode(place)}" if has_page and documents else "",
        documents=item.documents,
        standings=[_standing(number, asks, own, collection) for (number, asks), own in paired],
    )


def _standing(number: int, asks: str, item: CriterionStanding, collection: Collection) -> StandingView:
    sentences = [_sentence(own, collection) for own in item.evidence]
    return StandingView(
        number, asks, item.standing, _STANDINGS[item.standing], sentences[:FIRST_SENTENCES], sentences[FIRST_SENTENCES:]
    )


def _sentence(item: CohortEvidence, collection: Collection) -> SentenceView:
    mark = f"{item.start + item.mark.start}-{item.start + item.mark.end}"
    place = [("collection", collection.name), ("id", item.document), ("passage", item.passage), ("mark", mark)]
    kind = "" if item.title.startswith(item.type) else item.type
    about = [format_value(item.date) if item.date else "", kind, item.title]
    return SentenceView(
        pieces=segments(item.text, [item.mark]),
        assertion=item.assertion,
        says=SAYS.get(item.assertion, ""),
        heading=item.heading,
        about=", ".join(filter(None, about)) or item.document,
        link=f"/document?{urlencode(place)}#evidence",
    )
