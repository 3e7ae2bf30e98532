"""Evidence as a dossier keeps it: the sentences are read from the document, never from the form that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mappings.collection import Collection
from mappings.documents import Document
from mappings.dossiers.dossier import MOST_QUOTE_CHARACTERS, MOST_TITLE_CHARACTERS, ChosenEvidence, CitedStudy
from mappings.dossiers.parse import MOST_AUTHORS, MOST_CITED_CHARACTERS
from mappings.errors import Conflict, InvalidInput
from mappings.stances import Stance
from search.storage import StoredDocument
from web.citations.citation import Citation, citation, one_line
from web.citations.evidence_marks import EvidenceMarks


@dataclass(frozen=True, slots=True)
class PassageChoice:
    """The sentences of a hit that a user chooses, and what the page said of them."""

    collection: str
    document: str
    marks: EvidenceMarks
    stance: Stance | None = None
    probability: float | None = None
    note: str = ""


def snapshot(choice: PassageChoice, stored: StoredDocument, collection: Collection, at: str) -> ChosenEvidence:
    """The evidence of a choice, which still needs a number.

    Raises `InvalidInput` for a collection that is not of studies, `Conflict` if the document has changed since.
    """
    if not collection.studies:
        raise InvalidInput(
            f"evidence is taken from collections of studies, and {collection.name!r} is not one", field="collection"
        )
    document = stored.document
    passage = choice.marks.passage_of(stored, collection)
    if document is None or passage is None:
        raise Conflict("the document has changed since it was found: search again", field="passage")
    sentences = choice.marks.texts(stored, collection)
    quote = " ".join(sentences) or passage.text.strip()
    return ChosenEvidence(
        number=1,
        collection=collection.name,
        document=document.id,
        passage=passage.id,
        title=one_line(document.title or document.id)[:MOST_TITLE_CHARACTERS],
        quote=one_line(quote)[:MOST_QUOTE_CHARACTERS],
        marks=tuple(choice.marks.usable) if sentences else (),
        labels=document.labels,
        stance=choice.stance,
        probability=choice.probability,
        note=choice.note,
        added=at,
        invented=collection.invented,
        study=_cited(document, collection),
    )


def cited(evidence: ChosenEvidence) -> Citation:
    """The citation of evidence as it was chosen."""
    study = evidence.study
    known: Mapping[str, str | tuple[str, ...]] = {
        "authors": study.authors,
        "journal": study.journal,
        "year": study.year,
        "volume": study.volume,
        "issue": study.issue,
        "pages": study.pages,
        "doi": study.doi,
        "pmid": study.pmid,
    }
    return Citation(
        one_line(evidence.document),
        one_line(evidence.title),
        one_line(evidence.collection),
        fields={name: value for name, value in known.items() if value},
        invented=evidence.invented,
    )


def _cited(document: Document, collection: Collection) -> CitedStudy:
    found = citation(document, collection.name, collection.invented)
    texts = [found.text("journal") or found.text("journal_abbreviation"), found.year]
    texts += [*map(found.text, ("volume", "issue", "pages")), found.doi, found.pmid]
    authors = tuple(name[:MOST_CITED_CHARACTERS] for name in found.authors[:MOST_AUTHORS])
    return CitedStudy(authors, *(text[:MOST_CITED_CHARACTERS] for text in texts))
