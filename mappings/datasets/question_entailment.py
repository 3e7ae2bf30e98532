"""Recognizing question entailment (Ben Abacha and Demner-Fushman 2016): whether answering a question answers another.

The questions were asked by clinicians at work. Where the second follows from the first, it is a shortened form of it, and
for 1,454 pairs the very same words. Where it does not, it is one of 409 others, four of which make up a third of these
pairs: so which question it is gives the answer away. One pair has an empty second question, one is in both classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records

NAME: Final = "question_entailment"


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """A question, a short one, and whether each full answer of the short one also answers the first, at least in part."""

    id: str
    question: str
    short: str
    entails: bool


def read_pairs(data: Path | None) -> Iterator[QuestionPair]:
    """The 8,588 pairs."""
    names = ("id", "question", "faq", "entails")
    for record in dataset_records(data, f"{NAME}/pairs", names):
        yield QuestionPair(*(record[name] for name in names))
