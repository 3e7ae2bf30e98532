"""One document as a reference manager imports it, whatever the format: names, dates, pages and identifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from mappings.documents import Document, FieldValue
from web.citations.identifiers import doi_address, doi_of, pmid_address, pmid_of

INVENTED: Final = "Invented: this document was made up for a demonstration. It is not a publication."

_RANGE: Final = re.compile(r"([A-Za-z]*\d+[A-Za-z]*)\s*[-\u2013]+\s*([A-Za-z]*\d+[A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class Citation:
    """One document as a reference manager imports it. No text has a line break: in RIS, a line is a value.

    `notes` are those of the user who cites it.
    """

    id: str
    title: str
    collection: str
    abstract: str = ""
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    invented: bool = False
    notes: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """A field as text; several keywords are joined by '; '."""
        return "; ".join(self.values(name))

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a field, without empty ones."""
        value = self.fields.get(name, ())
        if isinstance(value, float) and value.is_integer():
            value = str(int(value))
        texts = value if isinstance(value, tuple) else (str(value),)
        return tuple(filter(None, map(one_line, texts)))

    @property
    def year(self) -> str:
        """The year, from the field `year` or from a date; empty without either."""
        return self.text("year") or next((str(day.year) for day in self._dates), "")

    @property
    def day(self) -> str:
        """The date as RIS writes it: YYYY/MM/DD, with blank parts for what is not known; empty without a date.

        Of `published` only what the source states; see `stated_parts`.
        """
        day = next(iter(self._dates), None)
        if day is None:
            return ""
        count = stated_parts(day) if day == self.fields.get("published") else 3
        year, month, of_month = f"{day.year:04}", f"{day.month:02}", f"{day.day:02}"
        return {1: f"{year}///", 2: f"{year}/{month}//", 3: f"{year}/{month}/{of_month}"}[count]

    @property
    def _dates(self) -> list[date]:
        return [value for name in ("published", "date") if isinstance(value := self.fields.get(name), date)]

    @property
    def authors(self) -> tuple[str, ...]:
        """The authors, each as "Family, Given", "Family, Given, Jr", or the name of a group."""
        return tuple(name for item in self.values("authors") for name in map(str.strip, item.split(";")) if name)

    @property
    def keywords(self) -> tuple[str, ...]:
        """The MeSH headings, then the authors' keywords, each once."""
        return tuple(dict.fromkeys((*self.values("mesh"), *self.values("keywords"))))

    @property
    def pages(self) -> tuple[str, str]:
        """(first, last) page; MEDLINE's "123-9" is 123 to 129. The last is empty if there is one page only."""
        parts = re.split(r"\s*[,;]\s*", self.text("pages"), maxsplit=1)
        match = _RANGE.fullmatch(parts[0])
        if match is None:
            return parts[0], ""
        first, last = match.groups()
        missing = len(first) - len(last)
        whole = f"{first[:missing]}{last}" if missing > 0 and first.isdecimal() and last.isdecimal() else last
        return first, whole

    @property
    def doi(self) -> str:
        """The first value that is a DOI, otherwise what the field holds."""
        return next(filter(None, map(doi_of, self.values("doi"))), self.text("doi"))

    @property
    def pmid(self) -> str:
        """The first value that is a PubMed id, otherwise what the field holds."""
        return next(filter(None, map(pmid_of, self.values("pmid"))), self.text("pmid"))

    @property
    def address(self) -> str:
        """The page of the document on PubMed, otherwise where its DOI leads; empty without either."""
        return pmid_address(self.pmid) or doi_address(self.doi)

    @property
    def is_article(self) -> bool:
        """Whether it appeared in a journal."""
        return bool(self.text("journal") or self.text("journal_abbreviation"))


def stated_parts(published: date) -> int:
    """How much of a date of publication the source states: 1 its year, 2 its month too, 3 its day too.

    Where it states only the month or the year, `published` is its first day.
    """
    return 3 if published.day > 1 else 2 if published.month > 1 else 1


def one_line(text: str) -> str:
    """`text` with every run of white space, and so every line break, as one space."""
    return " ".join(text.split())


def citation(document: Document, collection: str, invented: bool = False) -> Citation:
    """The citation of a document: its sections with their headings are the abstract."""
    abstract = one_line(document.labelled_text)
    return Citation(one_line(document.id), one_line(document.title), collection, abstract, document.fields, invented)
