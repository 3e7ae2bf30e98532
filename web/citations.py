"""Documents as citations: RIS, BibTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import rispy
from flask import make_response
from flask.wrappers import Response

from mappings.collection import Collection
from mappings.documents import Document, FieldValue
from search.storage import StoredDocument

INVENTED: Final = "Invented: this document was made up for a demonstration. It is not a publication."


@dataclass(frozen=True, slots=True)
class Citation:
    """One document as a reference manager imports it."""

    id: str
    title: str
    collection: str
    abstract: str = ""
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    invented: bool = False

    def text(self, name: str) -> str:
        """A field as text; several keywords are joined by '; '."""
        value = self.fields.get(name, "")
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return "; ".join(value) if isinstance(value, tuple) else str(value)

    @property
    def year(self) -> str:
        """The year, from the field `year` or from a date; empty without either."""
        dates = (value for name in ("published", "date") if isinstance(value := self.fields.get(name), date))
        return self.text("year") or next((str(value.year) for value in dates), "")


def citation(document: Document, collection: str, invented: bool = False) -> Citation:
    """The citation of a document: its sections with their headings are the abstract."""
    parts = (f"{section.heading}: {section.text}" if section.heading else section.text for section in document.sections)
    return Citation(
        document.id, document.title, collection, " ".join(" ".join(parts).split()), document.fields, invented
    )


def as_ris(citations: Sequence[Citation]) -> str:
    """RIS, as reference managers import it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rispy warns about tags that it leaves out; all of these are known
        return str(rispy.dumps([_ris(item) for item in citations]))


def _ris(item: Citation) -> dict[str, Any]:
    tags = {
        "type_of_reference": "JOUR" if item.text("journal") else "GEN",
        "title": _line(item.title),
        "authors": [_line(name) for name in _names(item)],
        "journal_name": _line(item.text("journal")),
        "year": item.year,
        "abstract": item.abstract,
        "doi": _line(item.text("doi")),
        "accession_number": _line(item.text("pmid")),
        "name_of_database": _line(item.text("source") or item.collection),
        "id": _line(item.id),
        "notes": [INVENTED] if item.invented else [],
    }
    return {name: value for name, value in tags.items() if value}


def _names(item: Citation) -> list[str]:
    value = item.fields.get("authors", ())
    return [str(name) for name in (value if isinstance(value, tuple) else (value,)) if name]


def _line(text: str) -> str:
    return " ".join(text.split())


_TEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def as_bibtex(citations: Sequence[Citation]) -> str:
    """BibTeX in UTF-8. Keys are made from the ids, with a number where two ids give the same key."""
    taken: set[str] = set()
    return "\n".join(_bibtex(item, _key(item, taken)) for item in citations)


def _bibtex(item: Citation, key: str) -> str:
    journal = item.text("journal")
    values = {
        "title": item.title,
        "author": " and ".join(_names(item)),
        "journal": journal,
        "year": item.year,
        "doi": item.text("doi"),
        "abstract": item.abstract,
        "note": f"{item.collection}: {item.id}{f'. {INVENTED}' * item.invented}",
    }
    # Two pairs of braces around the title: styles that lower-case titles would spoil its abbreviations.
    lines = [f"  {name} = {{{_tex(value, twice=name == 'title')}}}," for name, value in values.items() if value]
    return "\n".join([f"@{'article' if journal else 'misc'}{{{key},", *lines, "}", ""])


def _tex(text: str, *, twice: bool) -> str:
    escaped = _line(text).translate(_TEX)
    return f"{{{escaped}}}" if twice else escaped


def _key(item: Citation, taken: set[str]) -> str:
    plain = unicodedata.normalize("NFKD", item.id).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9:.-]+", "-", plain).strip("-") or "document"
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}-{number}"
    taken.add(key)
    return key


CSV_COLUMNS: Final = ("id", "title", "year", "journal", "source", "pmid", "doi", "collection", "abstract", "note")


def as_csv(citations: Sequence[Citation]) -> str:
    """CSV with a header line. A cell that a spreadsheet would run as a formula starts with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(CSV_COLUMNS)
    for item in citations:
        known = {
            "id": item.id,
            "title": item.title,
            "year": item.year,
            "collection": item.collection,
            "abstract": item.abstract,
            "note": INVENTED if item.invented else "",
        }
        writer.writerow([_cell(known.get(name) or item.text(name)) for name in CSV_COLUMNS])
    return file.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


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
    response = make_response(chosen.write(items))
    response.headers["Content-Type"] = f"{chosen.media_type}; charset=utf-8"
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in title)
    stem = safe[:80].strip(".-") or "citations"
    response.headers["Content-Disposition"] = f'attachment; filename="{stem}.{chosen.suffix}"'
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
