"""Citations as RIS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import rispy

from web.citations.citation import INVENTED, Citation


class _Writer(rispy.RisWriter):  # type: ignore[misc]  # rispy has no types
    """RIS whose first line of a record is TY: rispy numbers the records above it, which the format does not know."""

    def set_header(self, count: int) -> str:
        """Nothing."""
        return ""


def as_ris(citations: Sequence[Citation]) -> str:
    """RIS, as reference managers import it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rispy warns about tags that it leaves out; all of these are known
        return str(rispy.dumps([_ris(item) for item in citations], implementation=_Writer))


def _ris(item: Citation) -> dict[str, Any]:
    first, last = item.pages
    journal, abbreviation = item.text("journal"), item.text("journal_abbreviation")
    tags = {
        "type_of_reference": "JOUR" if item.is_article else "GEN",
        "authors": list(item.authors),
        "title": item.title,
        "alternate_title3": journal,  # JF
        "journal_name": abbreviation or journal,  # JO
        "year": item.year,
        "date": item.day,
        "volume": item.text("volume"),
        "number": item.text("issue"),
        "start_page": first,
        "end_page": last,
        "doi": item.doi,
        "accession_number": item.pmid,
        "urls": [item.address] if item.address else [],
        "abstract": item.abstract,
        "keywords": list(item.keywords),
        "language": item.text("language"),
        "type_of_work": item.text("type"),
        "name_of_database": item.text("source") or item.collection,
        "id": item.id,
        "notes": [*([INVENTED] if item.invented else []), *item.notes],
    }
    return {name: value for name, value in tags.items() if value}
