"""The cystic fibrosis collection (Shaw, Wood and Tibbo 1991): graded judgements of four readers."""

from __future__ import annotations

from evaluation.corpus.abstracts import abstract
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.cystic_fibrosis import read_corpus, read_queries, read_scores
from mappings.documents import Section
from search.settings import Settings

MEASURES = ("nDCG@10", "AP", "P@10", "Success@1", "R@100")


def task(settings: Settings) -> Task:
    """The suite; a grade is the sum of the four readers' scores of 0 to 2 each (the file has one misprint above)."""
    documents = [
        abstract(item.id, item.title, [Section("", item.text)], source="cystic-fibrosis")
        for item in read_corpus(settings.data)
        if item.title.strip() or item.text.strip()
    ]
    names = {document.id.lstrip("0"): document.id for document in documents}
    judgements: dict[str, dict[str, int]] = {}
    for judged in read_scores(settings.data):
        document = names.get(judged.document.lstrip("0"), judged.document)
        judgements.setdefault(judged.query, {})[document] = sum(min(score, 2) for score in judged.scores)
    questions = tuple(Question(query.id, query.text) for query in read_queries(settings.data))
    return Task(
        suite="cystic-fibrosis",
        corpus=Corpus("cystic-fibrosis", "abstracts", lambda: documents),
        questions=questions,
        judgements={item.id: judgements[item.id] for item in questions},
        measures=MEASURES,
        notes=("grades are the sum of four readers' scores (0 to 8); used for figures only, never for training",),
        reference=True,
    )


SUITE = Suite("cystic-fibrosis", "questions to abstracts, graded", lambda settings, options: [task(settings)])
