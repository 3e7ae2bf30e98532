"""The hits of a search page, each with its links, its highlighted texts and its explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection
from mappings.documents import Document
from search.pipeline.results import Hit, Proof, Results
from search.query import NOT_PRESENT
from search.understanding.criteria import Criterion
from search.understanding.understand import Understanding
from web.pages.addresses import SearchAddress
from web.pages.assertions import ASKS, SAYS
from web.pages.explanations import ExplanationTable, explanation_table
from web.pages.formatting import Detail, Segments, count_noun, details, segments
from web.pages.patients.record import address_of, has_patients
from web.pages.studies import StudyBadge, study_badges

OTHERS: Final = 5


@dataclass(frozen=True, slots=True)
class OtherDocument:
    """A further document of a hit's group, such as of the same patient."""

    title: str
    details: list[Detail]
    link: str


@dataclass(frozen=True, slots=True)
class ProofView:
    """What a hit shows for a criterion: `asks` names it, `says` is what the sentence `pieces` asserts of it.

    `assertion` is its style; without a sentence it is "", and `says` tells so.
    """

    asks: str
    says: str
    assertion: str = ""
    heading: str = ""
    pieces: Segments = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit for display. `number` counts the hits of the page from 1, `link` leads to the document.

    `below`: from this one on, hits do not say what the search prefers.
    """

    hit: Hit
    number: int
    title: Segments
    evidence: list[Segments]
    proofs: list[ProofView]
    details: list[Detail]
    link: str
    table: ExplanationTable | None
    more: str
    others: list[OtherDocument]
    others_text: str
    patient: str
    patient_link: str
    study: Sequence[StudyBadge] = ()
    below: bool = False

    @property
    def share(self) -> int:
        """The score as a percentage of the highest possible one, for the bar beside it."""
        return round(100 * min(1.0, max(0.0, self.hit.score)))


def others_of(results: Results) -> list[str]:
    """The further documents that a page lists below its hits."""
    return [name for hit in results.hits for name in hit.others[:OTHERS]]


def hit_views(
    results: Results, collection: Collection, address: SearchAddress, others: Mapping[str, Document]
) -> list[HitView]:
    """Prepare the hits for display; `others` are the documents of `others_of` that the caller can see."""
    hits = results.hits
    below = next((item for item in hits if _falls_short(item, results)), None)
    views = [
        _hit_view(
            hit,
            number,
            collection,
            address,
            [others[name] for name in hit.others[:OTHERS] if name in others],
            results.understood,
        )
        for number, hit in enumerate(hits, 1)
    ]
    return [replace(view, below=view.hit is below) for view in views]


def _falls_short(hit: Hit, results: Results) -> bool:
    """Whether the hit does not say what the search prefers: such hits stand below the others."""
    return bool(results.understood.preferences) and None in hit.proofs


def _hit_view(
    hit: Hit,
    number: int,
    collection: Collection,
    address: SearchAddress,
    others: Sequence[Document],
    understood: Understanding,
) -> HitView:
    # A sentence that proves a criterion stands there, and not again among the evidence.
    proven = {item.text.strip() for item in hit.proofs if item}
    return HitView(
        hit=hit,
        number=number,
        title=segments(hit.title or hit.document, hit.title_marks if hit.title else ()),
        evidence=[segments(item.text, item.marks) for item in hit.evidence if item.text.strip() not in proven],
        proofs=[
            _proof_view(*pair)
            for pair in zip(understood.proven, hit.proofs, strict=False)
            if pair[1] or understood.criteria
        ],
        details=details(hit.fields, collection, of_hit=True),
        link=_document_link(hit, collection, address),
        table=explanation_table(hit.explain, hit.passage) if hit.explain else None,
        more=count_noun(hit.more_passages, "more passage"),
        others=[
            OtherDocument(
                item.title or item.id,
                details(item.fields, collection, of_hit=True),
                _other_link(item.id, collection, address),
            )
            for item in others
        ],
        others_text=f"{count_noun(len(hit.others), _further(collection))} of this {group_word(collection)}",
        patient=str(hit.fields.get(collection.group_by, "")) if has_patients(collection) else "",
        patient_link=address_of(collection, hit.document),
        study=study_badges(hit.fields),
    )


def _proof_view(criterion: Criterion, proof: Proof | None) -> ProofView:
    asks = f"{ASKS[criterion.assertion]} {criterion.name}"
    if proof is None:
        missing = "no sentence says that it is present" if criterion.assertion == NOT_PRESENT else "no sentence found"
        return ProofView(asks, missing)
    pieces = segments(proof.text, [proof.mark])
    return ProofView(asks, SAYS[proof.assertion], proof.assertion, proof.heading, pieces)


def _further(collection: Collection) -> str:
    return "more version" if folds_works(collection) else "more document"


def folds_works(collection: Collection) -> bool:
    """Whether hits are works, each with its versions."""
    return collection.studies and collection.group_by == "document"


def group_word(collection: Collection) -> str:
    """What hits are grouped by, as a word."""
    field = collection.fields.get(collection.group_by)
    return "work" if folds_works(collection) else field.title.lower() if field else collection.group_by


def _other_link(identifier: str, collection: Collection, address: SearchAddress) -> str:
    place = [("collection", collection.name), ("id", identifier)]
    return f"/document?{urlencode([*place, *address.back_parameter])}"


def _document_link(hit: Hit, collection: Collection, address: SearchAddress) -> str:
    """The URL of the document's page, with the evidence to highlight and the link back to the search."""
    place = [("collection", collection.name), ("id", hit.document), ("passage", hit.passage)]
    marks = [("mark", f"{item.start}-{item.end}") for item in hit.evidence]
    return f"/document?{urlencode([*place, *marks, *address.back_parameter])}{'#evidence' if marks else ''}"
