"""The formats by name, and `read`, the one entry point to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection
from mappings.errors import InvalidInput
from mappings.formats import (
    beir,
    fhir,
    jsonl,
    labelled_abstracts,
    medline,
    medquad,
    medquad_xml,
    mtsamples,
    noteevents,
    notes,
    openi,
    records,
    scifact,
    xml_elements,
)
from mappings.formats.files import LocatedItem, files


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of one format. `read` reads one file; `suffixes` select the files of a folder."""

    read: Callable[[Path, Collection], Iterator[LocatedItem]]
    about: str
    suffixes: tuple[str, ...] = records.SUFFIXES


FORMATS: Final[Mapping[str, Reader]] = {
    "jsonl": Reader(jsonl.read, "Medley's own schema, one JSON object a line"),
    "abstracts": Reader(labelled_abstracts.read, "abstracts with labelled sections"),
    "beir": Reader(beir.read, "corpus.jsonl of BEIR"),
    "fhir": Reader(fhir.read, "FHIR R4: DocumentReference and DiagnosticReport, one a line or in Bundles"),
    "medline": Reader(medline.read, "PubMed's citations in XML", xml_elements.SUFFIXES),
    "medquad": Reader(medquad.read, "health articles, one passage a question"),
    "medquad-xml": Reader(medquad_xml.read, "health articles as MedQuAD's XML", xml_elements.SUFFIXES),
    "mtsamples": Reader(mtsamples.read, "transcribed notes in which commas replaced line breaks"),
    "noteevents": Reader(noteevents.read, "notes of MIMIC in CSV", noteevents.SUFFIXES),
    "notes": Reader(notes.read, "plain-text notes, one a file", notes.SUFFIXES),
    "openi": Reader(openi.read, "radiology reports as Open-i's XML", xml_elements.SUFFIXES),
    "scifact": Reader(scifact.read, "corpus.jsonl of SciFact or Check-COVID"),
}


def read(path: Path, format: str, collection: Collection) -> Iterator[Document | Deletion | Rejection]:  # noqa: A002 (the word users know)
    """The documents of a file, or of a folder's files, in order; an invalid record becomes a rejection.

    A record that its source withdrew is a `Deletion`. Streams: memory does not grow with the file except by 64 bits for
    each id, which are kept to reject a second record with the same id. A record with a source version is not rejected,
    since files of updates contain several versions of one record: the store knows which is the newest.
    Raises `InvalidInput` for an unknown format, a missing path, a folder without files of the format, and a file of
    another format altogether; in a folder such a file is a rejection.
    """
    reader = FORMATS.get(format)
    if reader is None:
        raise InvalidInput(f"there is no format {format!r}; the known formats are {', '.join(FORMATS)}", field="format")
    return _unique(_all(path, files(path, reader.suffixes), reader, collection))


def _all(path: Path, found: list[Path], reader: Reader, collection: Collection) -> Iterator[tuple[Path, LocatedItem]]:
    for file in found:
        try:
            for located in reader.read(file, collection):
                yield file, located
        except InvalidInput as error:
            if file == path:
                raise
            yield file, LocatedItem("file", Rejection(str(file), "file", error.message, error.field))


def _unique(items: Iterator[tuple[Path, LocatedItem]]) -> Iterator[Document | Deletion | Rejection]:
    seen: set[int] = set()
    for file, (position, item) in items:
        if isinstance(item, Deletion):
            seen.discard(hash(item.id))  # a withdrawn record can come back
        elif isinstance(item, Document):
            key = hash(item.id)
            if key in seen and item.source_version is None:
                yield Rejection(
                    str(file), position, f"an earlier record has the id {item.id!r}; the first one is kept", "id"
                )
                continue
            seen.add(key)
        yield item
