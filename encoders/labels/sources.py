"""Documents that label themselves: the training side of the public data sets, each with its kind of collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from encoders.labels import health, notes
from encoders.labels.records import records
from mappings.analysis.sections import split_note
from mappings.collection import Collection
from mappings.documents import Document, Section
from mappings.formats.mtsamples import parse

Source = Callable[[Path, Collection, Counter[str]], Iterator[Document]]
"""(data folder, collection, what was dropped) -> documents that training may see."""


def articles(data: Path, collection: Collection, dropped: Counter[str]) -> Iterator[Document]:
    """The health articles that are not evaluated, a question's type as its passage's heading, never the question."""
    for record in health.training_documents(data, dropped):
        sections = tuple(Section(passage["question_type"], passage["text"]) for passage in record["passages"])
        if sections:
            yield Document(record["id"], record["title"], sections)


def clinical(data: Path, collection: Collection, dropped: Counter[str]) -> Iterator[Document]:
    """The training notes of MTSamples, the training sections of MTS-Dialog and the training notes of ACI-Bench."""
    for record in notes.training_notes(data, dropped):
        yield parse(record, collection)
    for record in _there(data, "mts_dialog/MTS-Dialog-TrainingSet.jsonl.gz"):
        yield Document(f"mts-dialog:{record['ID']}", "", (Section(record["section_header"], record["section_text"]),))
    for record in _there(data, "aci_bench/train.jsonl.gz"):
        yield Document(f"aci-bench:{record['encounter_id']}", "", tuple(split_note(record["note"])))


def _there(data: Path, name: str) -> Iterator[Mapping[str, str]]:
    """The records of a data set that may be left out of the folder as a whole."""
    if (data / name).parent.is_dir():
        yield from records(data, name)


SOURCES: Final[Mapping[str, Source]] = {"articles": articles, "notes": clinical}
"""Collection kind -> its documents."""
