"""Check-COVID: claims from the news and the abstracts that support or refute them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records
from mappings.datasets.scifact import SentenceAbstract, read_sentence_abstracts
from mappings.stances import Stance, stance_of_label

NAME: Final = "check_covid"


@dataclass(frozen=True, slots=True)
class NewsClaim:
    """A claim, the id of the abstract it was checked against, and the abstract's stance.

    `sentences`: the places, from 0, of those that an annotator read for it, also where they say too little to decide.
    """

    id: str
    text: str
    abstract: str
    stance: Stance
    sentences: frozenset[int] = frozenset()

    @property
    def is_decided(self) -> bool:
        """Whether the abstract supports or refutes the claim."""
        return self.stance != "neither"


def read_corpus(data: Path | None) -> Iterator[SentenceAbstract]:
    """The 347 abstracts."""
    return read_sentence_abstracts(data, f"{NAME}/corpus", "cord_id")


def read_claims(data: Path | None, split: str) -> Iterator[NewsClaim]:
    """The claims of a split, `train` or `dev`."""
    for record in dataset_records(data, f"{NAME}/claims_{split}", ("id", "claim", "cord_id", "label")):
        stance, marked = stance_of_label(record["label"]), record.get("evidence_set", ())
        places = frozenset(item["sent_index"] for item in marked)
        yield NewsClaim(record["id"], record["claim"], record["cord_id"], stance, places)
