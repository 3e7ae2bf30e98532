"""Notes of MIMIC: NOTEEVENTS.csv of MIMIC-III, and discharge.csv and radiology.csv of MIMIC-IV-Note.

A note that is marked as an error (ISERROR) is a deletion. Dates in MIMIC are shifted far into the future; they are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection, clean
from mappings.errors import InvalidInput
from mappings.formats.csv_rows import rows
from mappings.formats.fields import dropped_of, fields_of
from mappings.formats.files import LocatedItem, parse_or_reject
from mappings.formats.jsonl import split
from mappings.formats.moments import first_day, shifted_moment

SUFFIXES: Final = (".csv",)
_IDS: Final = frozenset({"row_id", "note_id"})
_TYPES: Final = {
    "DS": "Discharge summary",
    "AD": "Discharge summary addendum",
    "RR": "Radiology report",
    "AR": "Radiology report addendum",
}


def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
    """The notes of a file, and the deletions. Raises `InvalidInput` for a file without the required columns."""
    for item in rows(path, "text", (_IDS, frozenset({"subject_id"}))):
        if isinstance(item, Rejection):
            yield LocatedItem(item.position, item)
        else:
            yield parse_or_reject(str(path), item.position, partial(parse, item.fields, collection))


def parse(row: Mapping[str, str], collection: Collection) -> Document | Deletion:
    """One note, from a row by lowercase column name. Raises `InvalidInput` that names the column."""
    row = {name: clean(value).strip() if name != "text" else value for name, value in row.items()}
    name = next(name for name in ("row_id", "note_id") if name in row)
    if not row[name]:
        raise InvalidInput(f"{name.upper()} is empty: it must be the id of the document", field=name.upper())
    stored = row.get("storetime", "")
    version = shifted_moment(stored, "STORETIME") if stored else None
    if _number(row.get("iserror", "")) == "1":
        return Deletion(row[name], version)
    if not row["text"].strip():
        raise InvalidInput("TEXT is empty", field="TEXT")
    values = _values(row)
    return Document(
        id=row[name],
        title=": ".join(filter(None, (values["type"], row.get("description", "")))),
        sections=split(clean(row["text"]), collection),
        labels=collection.default_labels,
        fields=fields_of(values, collection),
        dropped=dropped_of(values, collection, ("source",)),
        source_version=version,
    )


def _values(row: Mapping[str, str]) -> dict[str, Any]:
    """The values of the fields that a kind can declare, by name."""
    kind = row.get("note_type", "")
    days = ((name.upper(), row[name]) for name in ("chartdate", "charttime") if row.get(name))
    name, day = next(days, ("", ""))
    return {
        "patient": _number(row["subject_id"]),
        "encounter": _number(row.get("hadm_id", "")),
        "type": row.get("category") or _TYPES.get(kind, kind),
        "caregiver": _number(row.get("cgid", "")),
        "date": first_day(day, name) if day else None,
        "source": "MIMIC",
    }


def _number(text: str) -> str:
    """An id without the ".0" that some programs add to the numbers of a column with gaps."""
    return text.removesuffix(".0")
