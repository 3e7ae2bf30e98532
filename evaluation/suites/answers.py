"""Graded answers: the query is a consumer's question, the answers those that graders found correct among all questions' answers.

A label that is a question is MedQuAD's question for the passage, often the query itself: it is never indexed nor shown to
a model, as in the suite `medquad`. Another label is the document's title.
"""

from __future__ import annotations

from evaluation.corpus.abstracts import LABELS, plain
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.answer_grades import GradedAnswer, read_questions
from mappings.documents import Document, Section
from search.settings import Settings

MEASURES = ("nDCG@10", "AP", "RR", "Success@1", "P@5")
RELATED = 2
"""The grade of an answer that is related but not correct: it and below count as no answer."""


def task(settings: Settings) -> Task:
    """The suite: answers with the same text are one document; questions without a correct one are left out."""
    documents: dict[str, Document] = {}
    judgements: dict[str, dict[str, int]] = {}
    asked = list(read_questions(settings.data))
    for question in asked:
        grades = judgements.setdefault(question.id, {})
        for answer in question.answers:
            document = documents.setdefault(plain(answer.text), _document(answer))
            grades[document.id] = max(answer.grade - RELATED, grades.get(document.id, 0))
    questions = tuple(Question(item.id, item.text) for item in asked if any(judgements[item.id].values()))
    return Task(
        suite="answers",
        corpus=Corpus("answers", "articles", lambda: list(documents.values())),
        questions=questions,
        judgements={item.id: judgements[item.id] for item in questions},
        measures=MEASURES,
        notes=(
            f"{len(documents)} distinct answers; excellent ones count 2, incomplete ones 1, others nothing;"
            f" {len(asked) - len(questions)} questions without a correct answer are left out",
            "the answers were found by a search engine for each question: what it did not find is not graded, and counts"
            " as wrong",
        ),
        reference=True,
    )


def _document(answer: GradedAnswer) -> Document:
    title = "" if answer.label.endswith("?") else answer.label
    return Document(answer.id, title, (Section("", answer.text),), LABELS, {"source": "answers"})


SUITE = Suite("answers", "consumer questions to graded answers", lambda settings, options: [task(settings)])
