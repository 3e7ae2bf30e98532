"""PubMedQA (Jin et al. 2019): research questions, each with the abstract that answers it, and annotators' answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mappings.datasets.files import dataset_records

NAME: Final = "pubmedqa"


@dataclass(frozen=True, slots=True)
class ResearchQuestion:
    """A question, which is the title of an article, and the texts of its abstract's sections before the conclusion.

    `answer` is annotators': yes, no or maybe; `conclusion` is the last section.
    """

    id: str
    question: str
    sections: tuple[str, ...]
    answer: Literal["yes", "no", "maybe"] = "maybe"
    conclusion: str = ""


def read_questions(data: Path | None) -> Iterator[ResearchQuestion]:
    """The 1,000 questions, in the order of the file."""
    for record in dataset_records(data, f"{NAME}/questions", ("id", "QUESTION", "CONTEXTS")):
        answer, conclusion = record.get("final_decision", "maybe"), record.get("LONG_ANSWER", "")
        yield ResearchQuestion(record["id"], record["QUESTION"], tuple(record["CONTEXTS"]), answer, conclusion)
