"""BioASQ: the query is a question of a biomedical expert, the answers the abstracts in which experts marked snippets.

The corpus has of each abstract what was marked, for whichever question and year: the copies of the data have no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from encoders.labels.split import TEST_YEARS
from evaluation.corpus.abstracts import abstract
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.bioasq import YEARS, ExpertQuestion, join_snippets, read_questions
from mappings.documents import Document, Section
from mappings.errors import InvalidInput
from search.settings import Settings

MEASURES = ("nDCG@10", "RR", "Success@1", "Success@5", "R@100")


def tasks(settings: Settings, year: int | None = None) -> list[Task]:
    """The questions of all years, and those of the years that training never sees; or those of one year.

    Raises `InvalidInput` for a year that there is not.
    """
    if year is not None and year not in YEARS:
        raise InvalidInput(f"year is {year}; the questions are of the years 1 to {YEARS[-1]}", field="year")
    every = list(read_questions(settings.data))
    documents = list(_documents(every))
    whole = _task([item for item in every if year in (None, item.year)], documents)
    if year is not None:
        return [whole]
    unseen = _task([item for item in every if item.year in TEST_YEARS], documents)
    return [whole, replace(unseen, variant="years 9 and 10")]


def _task(questions: Sequence[ExpertQuestion], documents: Sequence[Document]) -> Task:
    return Task(
        suite="experts",
        corpus=Corpus("experts", "abstracts", lambda: documents),
        questions=tuple(Question(item.id, item.text, stratum=str(item.year)) for item in questions),
        judgements={item.id: {snippet.document: 1 for snippet in item.snippets} for item in questions},
        measures=MEASURES,
        strata="year",
        notes=(
            f"{len(documents):,} abstracts, of each only the snippets that experts marked for some question: an easier"
            " task than theirs, which was to find them among all abstracts of PubMed",
            "a sample has so many questions of each year; no training sees the questions of the years 9 and 10",
        ),
    )


def _documents(questions: Iterable[ExpertQuestion]) -> Iterator[Document]:
    """One document a PMID."""
    for identifier, text in join_snippets(questions).items():
        yield abstract(identifier, "", [Section("", text)], source="bioasq")


SUITE = Suite(
    "experts",
    "questions of biomedical experts to abstracts",
    lambda settings, options: tasks(settings, options.year),
    options=("year",),
)
