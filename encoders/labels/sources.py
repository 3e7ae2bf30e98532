"""Documents to label with entities and aspects: the training split of the public data sets, by collection kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from encoders.labels.tasks import health, notes
from mappings.analysis.sections import split_note
from mappings.collection import Collection
from mappings.datasets import aci_bench, mts_dialog
from mappings.documents import Document, Section

Source = Callable[[Path, Collection, Counter[str]], Iterator[Document]]
"""(data folder, collection, counts of what was dropped) -> documents that training is allowed to see."""


def read_articles(data: Path, collection: Collection, dropped: Counter[str]) -> Iterator[Document]:
    """The health articles that are not judged; a passage's heading is its question's type, never the question."""
    for article in health.read_training_articles(data, dropped):
        sections = tuple(Section(passage.question_type, passage.text) for passage in article.passages)
        if sections:
            yield Document(article.id, article.title, sections)


def read_clinical_notes(data: Path, collection: Collection, dropped: Counter[str]) -> Iterator[Document]:
    """The training notes of MTSamples, and where present those of MTS-Dialog (sections) and of ACI-Bench."""
    for note in notes.read_training_notes(data, dropped):
        yield note.document(collection)
    if (data / mts_dialog.NAME).is_dir():
        for section in mts_dialog.read_training_sections(data):
            yield Document(f"mts-dialog:{section.id}", "", (Section(section.header, section.text),))
    if (data / aci_bench.NAME).is_dir():
        for visit in aci_bench.read_training_notes(data):
            yield Document(f"aci-bench:{visit.id}", "", tuple(split_note(visit.text)))


SOURCES: Final[Mapping[str, Source]] = {"articles": read_articles, "notes": read_clinical_notes}
"""Collection kind -> its documents."""
