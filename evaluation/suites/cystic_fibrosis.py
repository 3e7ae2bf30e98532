"""The cystic fibrosis collection (Shaw, Wood and Tibbo 1991): graded judgements of four readers."""

from __future__ import annotations

from evaluation.corpora import abstract, lines_of
from evaluation.data import folder, lines
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from search.settings import Settings

MEASURES = ("nDCG@10", "AP", "P@10", "Success@1", "R@100")


def task(settings: Settings) -> Task:
    """The suite; a grade is the sum of the four readers' scores of 0 to 2 each (the file has one misprint above)."""
    base = folder(settings, "cystic_fibrosis")
    documents = [
        abstract(row["doc_id"], row["title"], [("", row["abstract"])], source="cystic-fibrosis")
        for row in lines_of(base / "corpus.jsonl")
        if row["title"].strip() or row["abstract"].strip()
    ]
    names = {document.id.lstrip("0"): document.id for document in documents}
    judgements: dict[str, dict[str, int]] = {}
    for number, line in lines(base / "qrels.tsv"):
        if number > 1 and line.strip():
            query, document, scores = line.split("\t")
            judgements.setdefault(query, {})[names.get(document.lstrip("0"), document)] = sum(
                min(int(score), 2) for score in scores[:4]
            )
    questions = tuple(Question(row["query_id"], row["text"]) for row in lines_of(base / "queries.jsonl"))
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
