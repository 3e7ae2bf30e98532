"""Graded answers to consumer questions (the training questions "Alexa" of MEDIQA 2019, Ben Abacha et al.).

The 104 questions are templates over 21 conditions. The answers are what a search engine found, so an answer to one
question is often graded for others, too: 530 texts are 862 answers. Each text begins with a label: the title of its page,
with a heading in brackets or not, or a question in MedQuAD's words that the passage answers, for 60 answers the very
question that is asked. About 60 texts are passages of MedQuAD.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mappings.datasets.files import dataset_records

NAME: Final = "answer_grades"


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer without its label; `label` is what precedes the first colon.

    `grade`: 4 excellent, 3 correct but incomplete, 2 related, 1 incorrect. `rank`: its place among the question's
    answers, 1 the best.
    """

    id: str
    label: str
    text: str
    grade: int
    rank: int


@dataclass(frozen=True, slots=True)
class ConsumerQuestion:
    """A question and its answers, in no order."""

    id: str
    text: str
    answers: tuple[GradedAnswer, ...]


def read_questions(data: Path | None) -> Iterator[ConsumerQuestion]:
    """The 104 questions."""
    for record in dataset_records(data, f"{NAME}/questions", ("id", "question", "answers")):
        answers = tuple(map(_answer, record["answers"]))
        yield ConsumerQuestion(record["id"], record["question"], answers)


def _answer(record: dict[str, Any]) -> GradedAnswer:
    label, colon, text = record["text"].partition(": ")
    return GradedAnswer(record["id"], label if colon else "", text if colon else label, record["grade"], record["rank"])
