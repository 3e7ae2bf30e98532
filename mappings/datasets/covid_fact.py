"""COVID-Fact (Saakyan et al. 2021): titles of discussions of COVID-19 as claims, with sentences of the linked page.

A refuted claim is a supported one in which a model replaced a word, often by nonsense ("chs-cov-2"), with the same
evidence: 1,296 supported claims and up to three refuted ones of nearly each. Nothing says which page a sentence is from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records

NAME: Final = "covid_fact"


@dataclass(frozen=True, slots=True)
class DiscussedClaim:
    """A claim, one to five sentences of evidence, and whether they support it; otherwise they refute it."""

    id: str
    text: str
    evidence: tuple[str, ...]
    is_supported: bool


def read_claims(data: Path | None) -> Iterator[DiscussedClaim]:
    """The 4,086 claims; those made of one another follow it."""
    for record in dataset_records(data, f"{NAME}/claims", ("id", "claim", "evidence", "label")):
        supported = record["label"] == "SUPPORT"
        yield DiscussedClaim(str(record["id"]), record["claim"], tuple(record["evidence"]), supported)
