"""Check-COVID: claims from the news and the abstracts that support or refute them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records
from mappings.datasets.scifact import SentenceAbstract, read_sentence_abstracts

NAME: Final = "check_covid"
_DECIDED: Final = ("SUPPORT", "REFUTE")


@dataclass(frozen=True, slots=True)
class NewsClaim:
    """A claim, the id of the abstract it was checked against, and the verdict: SUPPORT, REFUTE or NOTENOUGHINFO."""

    id: str
    text: str
    abstract: str
    verdict: str

    @property
    def is_decided(self) -> bool:
        """Whether the abstract supports or refutes the claim."""
        return self.verdict in _DECIDED


def read_corpus(data: Path | None) -> Iterator[SentenceAbstract]:
    """The 347 abstracts."""
    return read_sentence_abstracts(data, f"{NAME}/corpus", "cord_id")


def read_claims(data: Path | None, split: str) -> Iterator[NewsClaim]:
    """The claims of a split, `train` or `dev`."""
    for record in dataset_records(data, f"{NAME}/claims_{split}", ("id", "claim", "cord_id", "label")):
        yield NewsClaim(record["id"], record["claim"], record["cord_id"], record["label"])
