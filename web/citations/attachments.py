"""Citations of documents as files to download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flask import make_response
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import Document
from search.storage import StoredDocument
from web.citations.bibtex import as_bibtex
from web.citations.citation import Citation, citation
from web.citations.csv_table import as_csv
from web.citations.ris import as_ris


@dataclass(frozen=True, slots=True)
class CitationFormat:
    """A format of citations, with its media type and the suffix of its file."""

    write: Callable[[Sequence[Citation]], str]
    media_type: str
    suffix: str


WRITERS: Final[Mapping[str, CitationFormat]] = {
    "ris": CitationFormat(as_ris, "application/x-research-info-systems", "ris"),
    "bibtex": CitationFormat(as_bibtex, "application/x-bibtex", "bib"),
    "csv": CitationFormat(as_csv, "text/csv", "csv"),
}


def as_attachment(name: str, items: Sequence[Citation], title: str) -> Response:
    """Citations in the format `name` as a file to download, called after `title`."""
    chosen = WRITERS[name]
    return as_download(chosen.write(items), chosen.media_type, title, chosen.suffix)


def as_download(content: str, media_type: str, title: str, suffix: str) -> Response:
    """A text as a file to download, called after `title`."""
    response = make_response(content)
    response.headers["Content-Type"] = f"{media_type}; charset=utf-8"
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in title)
    stem = safe[:80].strip(".-") or "citations"
    response.headers["Content-Disposition"] = f'attachment; filename="{stem}.{suffix}"'
    return response


def of_documents(name: str, documents: Iterable[Document], collection: Collection) -> Response:
    """The citations of documents as a file to download, called after their collection."""
    found = [citation(item, collection.name, collection.invented) for item in documents]
    return as_attachment(name, found, collection.name)


def of_stored(name: str, stored: StoredDocument, collection: Collection) -> Response:
    """The citation of one stored document, which is not a tombstone, as a file to download."""
    if stored.document is None:
        raise ValueError("a tombstone has no citation")
    return as_attachment(name, [citation(stored.document, collection.name, collection.invented)], stored.id)
