"""What it is worth to read a passage in its document: models that do beside those that do not, on the same candidates.

Where a passage is long, a model of 512 tokens does not read its end; where it does not name what it is about, only its
document does. On the questions whose answers are so, and on all, each model that reads surroundings is compared with each of
the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from encoders.artifact import SHIPPED, TOKENIZER, Artifact
from encoders.text import ModelTokenizer
from evaluation.corpus.abstracts import plain
from evaluation.measures import Judgements, Run, parse, per_query
from evaluation.rows import paired_test, rows_and_tests
from evaluation.suite import Report
from evaluation.task import SEPARATOR, Task

TOKENS: Final = 512
"""What a BERT reads of a text, the special tokens included."""
TOKENIZED_BY: Final = "medley-biencoder"
"""The shipped model whose tokens are counted, so that the questions are the same whatever models are compared."""
LONG: Final = f"answers over {TOKENS} tokens"
UNNAMED: Final = "answers without the entity's name"


def compare_surroundings(
    task: Task, runs: Mapping[str, Run], judgements: Judgements, ways: Mapping[str, str]
) -> tuple[list[Report], list[Report]]:
    """Rows of parts of the questions, and paired tests on these and on all; none where no system reads surroundings.

    None, too, for a task that does not tell in which documents passages stand: there, a document is all that is read.

    `ways` says of systems of `runs` how they read windows (`encoders.artifact.Reading`); others are left out. Rows are named
    by the part and its number of questions. Tests are of the first of the task's measures.
    """
    known = {name: way for name, way in ways.items() if name in runs}
    around = [name for name, way in known.items() if way == "surroundings"]
    if not around or not task.whole:
        return [], []
    alone = [name for name in known if name not in around]
    compared = {name: runs[name] for name in (*around, *alone)}
    rows: list[Report] = []
    tests = _tests(task, compared, judgements, task.variant, (around, alone))
    for part, questions in split_questions(task).items():
        own = {query: grades for query, grades in judgements.items() if query in questions}
        if own:
            variant = f"{task.variant}{SEPARATOR}{part} ({len(own):,})"
            rows += rows_and_tests(task, compared, own, variant)[0]
            tests += _tests(task, compared, own, variant, (around, alone))
    return rows, tests


def split_questions(task: Task) -> dict[str, frozenset[str]]:
    """Part → the questions all of whose answers are so: over `TOKENS` tokens, or without the question's entity by name."""
    texts = {key: text for document in task.whole for key, text in document.items()}
    answers = {
        question: [texts[key] for key, grade in grades.items() if grade > 0 and key in texts]
        for question, grades in task.answers.items()
    }
    flat = list(dict.fromkeys(text for found in answers.values() for text in found))
    long = {text for text, count in zip(flat, count_tokens(flat), strict=True) if count > TOKENS}
    entities = {question.id: f" {plain(question.entity)} " for question in task.questions if plain(question.entity)}
    return {
        LONG: frozenset(
            question for question, found in answers.items() if found and all(text in long for text in found)
        ),
        UNNAMED: frozenset(
            question
            for question, entity in entities.items()
            if answers.get(question) and all(entity not in f" {plain(text)} " for text in answers[question])
        ),
    }


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text by the shipped encoder's tokenizer, with the special ones; those above `TOKENS` are lower bounds."""
    return _tokenizer().count_tokens(texts, TOKENS)


@cache
def _tokenizer() -> ModelTokenizer:
    artifact = Artifact.open(SHIPPED / TOKENIZED_BY)
    return ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)


def _tests(
    task: Task,
    runs: Mapping[str, Run],
    judgements: Judgements,
    variant: str,
    sides: tuple[Sequence[str], Sequence[str]],
) -> list[Report]:
    """Each of the first systems against each of the second ones."""
    measure = parse(task.measures[0])
    values = {system: per_query([measure], judgements, run)[measure] for system, run in runs.items()}
    return [
        paired_test(
            f"{first}{SEPARATOR}{variant}", f"{second}{SEPARATOR}{variant}", measure, values[first], values[second]
        )
        for first in sides[0]
        for second in sides[1]
    ]
