"""Citations as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from web.citations.citation import INVENTED, Citation, one_line

CSV_COLUMNS: Final = (
    *("id", "title", "authors", "year", "published", "journal", "journal_abbreviation", "volume", "issue", "pages"),
    *("pmid", "doi", "mesh", "keywords", "type", "language", "source", "collection", "abstract", "note"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_UNSEEN: Final = " \0\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202d\u202e\u2060\ufeff"
"""What a program can drop from the beginning of a cell before it reads it."""


def as_csv(citations: Sequence[Citation]) -> str:
    """CSV with a header line. A cell that a spreadsheet would run as a formula starts with an apostrophe.

    Every cell is quoted: where lists are separated by semicolons, a spreadsheet also splits lines there.
    """
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(CSV_COLUMNS)
    for item in citations:
        known = {
            "id": item.id,
            "title": item.title,
            "authors": "; ".join(item.authors),
            "year": item.year,
            "collection": item.collection,
            "abstract": item.abstract,
            "note": " ".join((*([INVENTED] if item.invented else []), *item.notes)),
        }
        writer.writerow([safe_cell(known.get(name) or item.text(name)) for name in CSV_COLUMNS])
    return file.getvalue()


def safe_cell(text: str) -> str:
    """`text` on one line, with an apostrophe before it if a spreadsheet would run it as a formula."""
    line = one_line(text)
    return f"'{line}" if line.lstrip(_UNSEEN).startswith(_FORMULA) else line
