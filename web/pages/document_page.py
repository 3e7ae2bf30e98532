"""The page of one document: the evidence that led to it and the concepts that it mentions are marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from mappings.collection import Collection
from mappings.documents import Section
from mappings.studies.badges import values_of
from mappings.studies.description import NOTICES, with_study_fields
from search.pipeline.results import Span
from search.storage import StoredDocument
from web.citations.evidence_marks import EvidenceMarks
from web.pages.addresses import SearchAddress
from web.pages.explanations import CurveView
from web.pages.findings import DocumentFindings, FindingMark, MarkedPiece, finding_pieces
from web.pages.formatting import details, segments
from web.pages.hits import group_word
from web.pages.patients.record import address_of, has_patients
from web.pages.studies import study_badges, without_study

CONTENTS_FROM: Final = 3


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section as it is shown: runs of its text, one after the other, and whether each is evidence."""

    heading: str
    runs: list[tuple[list[MarkedPiece], bool]]
    anchor: str


class DocumentPage:
    """A document with its evidence marked."""

    def __init__(
        self,
        stored: StoredDocument,
        collection: Collection,
        marks: EvidenceMarks,
        back: SearchAddress,
        findings: DocumentFindings | None = None,
        curve: CurveView | None = None,
    ) -> None:
        assert stored.document  # noqa: S101 - a tombstone is never shown
        self.stored = stored
        self.collection = collection
        self.back = back if back.pairs and not collection.private_queries else None
        self.title = stored.document.title or stored.id
        fields = with_study_fields(stored.document, collection)
        self.study = study_badges(fields)
        self.notices = values_of(fields, NOTICES)
        self.details = details(without_study(fields), collection)
        self.findings = findings
        self.curve = curve
        sentences = marks.texts(stored, collection)
        self.sections = [
            section_view(item, number, sentences, findings.of_section(number) if findings else ())
            for number, item in enumerate(stored.document.sections)
        ]
        self.contents = [item for item in self.sections if item.heading] if len(self.sections) > CONTENTS_FROM else []
        self.marked = any(evident for item in self.sections for _, evident in item.runs)

    @property
    def caption(self) -> str:
        """The group of the document and its title, for the line that stays visible, where the title can be cut."""
        owner = self.stored.document.fields.get(self.collection.group_by) if self.stored.document else None
        return f"{owner} · {self.title}" if owner else self.title

    @property
    def patient(self) -> str:
        """The address of the page of the document's patient; "" if it belongs to none."""
        fields = self.stored.document.fields if self.stored.document else {}
        known = has_patients(self.collection) and fields.get(self.collection.group_by)
        return address_of(self.collection, self.stored.id) if known else ""

    @property
    def group_word(self) -> str:
        """What the collection's documents belong to, as a word."""
        return group_word(self.collection)

    def citation(self, name: str) -> str:
        """The address of the document's citation."""
        return "/cite?" + urlencode({"collection": self.collection.name, "id": self.stored.id, "format": name})


def section_view(
    section: Section, number: int, sentences: Sequence[str], findings: Sequence[FindingMark] = ()
) -> SectionView:
    """The section with the number `number`, from 0: those of the sentences that it contains are marked, and its findings."""
    # A passage made of whole sections has each heading in its text, so the evidence can begin with one.
    tried = (find(sentence, section.text) or find(sentence.partition(":")[2], section.text) for sentence in sentences)
    spans = [span for span in tried if span]
    at, runs = 0, []
    for text, evident in segments(section.text, spans):
        runs.append((finding_pieces(section.text, at, at + len(text), findings), evident))
        at += len(text)
    return SectionView(section.heading, runs, f"section-{number + 1}")


def find(sentence: str, text: str) -> Span | None:
    """Where `sentence` is in `text`; line breaks and runs of spaces count as one space."""
    if not sentence.strip():
        return None
    match = re.search(r"\s+".join(re.escape(word) for word in sentence.split()), text)
    return Span(match.start(), match.end()) if match else None
