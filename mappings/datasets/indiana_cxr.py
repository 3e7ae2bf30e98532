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
    """The two sections of a report that say what the images show; either can be empty."""

    id: str
    findings: str
    impression: str


def read_reports(data: Path | None) -> Iterator[ChestReport]:
    """The reports, in the order of the file."""
    for record in dataset_records(data, f"{NAME}/reports", ("uid",)):
        yield ChestReport(record["uid"], record.get("findings") or "", record.get("impression") or "")
