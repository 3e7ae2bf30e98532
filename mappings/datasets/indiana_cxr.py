"""Chest X-ray reports of Indiana University (Demner-Fushman et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records

NAME: Final = "indiana_cxr"


@dataclass(frozen=True, slots=True)
class ChestReport:
    """A report: its two sections that say what the images show, either of which can be empty, and what it was asked for.

    `headings` are the MeSH headings that its indexers gave it, each alone (`Opacity`) and with each of the places and
    qualifiers behind it (`Opacity/round` of `Opacity/lung/base/left/round`).
    """

    id: str
    findings: str
    impression: str
    indication: str = ""
    headings: frozenset[str] = frozenset()


def read_reports(data: Path | None) -> Iterator[ChestReport]:
    """The reports, in the order of the file."""
    for record in dataset_records(data, f"{NAME}/reports", ("uid",)):
        yield ChestReport(
            record["uid"],
            record.get("findings") or "",
            record.get("impression") or "",
            record.get("indication") or "",
            frozenset(heading for item in (record.get("MeSH") or "").split(";") for heading in _headings(item)),
        )


def _headings(item: str) -> Iterator[str]:
    heading, *behind = map(str.strip, item.split("/"))
    yield heading
    yield from (f"{heading}/{word}" for word in behind)
