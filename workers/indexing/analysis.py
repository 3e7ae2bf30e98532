"""The first step of indexing: stored documents into entries without vectors."""

from __future__ import annotations

from collections.abc import Sequence

from mappings.clinical.placing import keys_of, read_passages
from mappings.clinical.reading import ConceptReader
from mappings.collection import Collection
from mappings.documents import Document
from mappings.studies.description import with_study_fields
from search.protocols import IndexEntry
from search.storage import StoredDocument
from workers.indexing.batches import DocumentBatch, Outcome, describe_error


def analyse(
    batch: Sequence[StoredDocument], collection: Collection, reader: ConceptReader | None = None
) -> DocumentBatch:
    """Each document as an entry without vectors, read by `reader`; one that is damaged, or can't be analysed, fails alone."""
    entries, failed, deleted = [], [], []
    for stored in batch:
        if stored.damage:
            failed.append(Outcome.failure(stored.id, stored.version, stored.damage))
            continue
        if stored.document is None:
            deleted.append(stored)
            continue
        try:
            entries.append(_make_entry(stored.document, stored.version, collection, reader))
        except Exception as error:  # whatever analysis does to one document must not stop the others
            failed.append(Outcome.failure(stored.id, stored.version, describe_error(error)))
    return DocumentBatch(tuple(entries), tuple(deleted), tuple(failed))


def _make_entry(document: Document, version: int, collection: Collection, reader: ConceptReader | None) -> IndexEntry:
    split = read_passages(document, version, collection, reader)
    asserted = tuple(keys_of(item, reader.lexicon) for item in split) if reader else ()
    fields = with_study_fields(document, collection)
    return IndexEntry(document.id, version, document.labels, fields, split, {}, asserted=asserted)
