"""Invented X-ray reports in the form of the data folder, for tests of labelling and of evaluation."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from mappings.datasets.indiana_cxr import ChestReport

PLACES = ("left base", "right base", "apex", "lingula", "hilum", "middle lobe", "upper lobe", "lower lobe", "mid lung", "periphery", "right side", "left side")  # fmt: skip
FINDINGS = ("pneumothorax", "effusion", "granuloma", "scarring", "atelectasis", "cardiomegaly")


def reports() -> list[ChestReport]:
    """Twelve reports: each says where a finding is, where another is not, and leaves a third open."""
    return [_report(number) for number in range(len(PLACES))]


def _report(number: int) -> ChestReport:
    place = PLACES[number]
    there = " ".join(f"Stable {finding} at the {place}." for finding in FINDINGS[:5])
    gone = " ".join(f"No {finding} or other change at the {place}." for finding in FINDINGS[:4])
    heart = "Heart size is normal." if number % 2 else "The heart is enlarged."
    return ChestReport(str(number), f"1. {there} {heart} XXXX.", f"{gone} Possible effusion at the {place}.")


def write(root: Path, own: Sequence[ChestReport] = ()) -> Path:
    """The data folder with these reports, or with those of your `own`."""
    path = root / "indiana_cxr" / "reports.jsonl.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt") as file:
        for report in own or reports():
            record = {"uid": report.id, "findings": report.findings, "impression": report.impression}
            file.write(json.dumps(record) + "\n")
    return root


def write_notes(root: Path, notes: Sequence[tuple[str, str, str]]) -> Path:
    """The data folder with transcribed notes: (id, specialty, text)."""
    path = root / "mtsamples" / "notes.jsonl.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt") as file:
        for name, specialty, text in notes:
            record = {"id": name, "name": name, "description": "", "specialties": [specialty], "text": text}
            file.write(json.dumps(record) + "\n")
    return root
