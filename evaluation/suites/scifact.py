"""SciFact (Wadden 2020): the query is a claim, the answers the abstracts that a scientist cited for it.

Queries are all 300 development claims, judged by the documents they cite, as in BEIR's SciFact test set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evaluation.corpus.abstracts import merged, pool
from evaluation.suite import POOLED, Suite, read_in_part
from evaluation.task import Corpus, Published, Question, Task
from mappings import collection as kinds
from mappings.datasets.scifact import read_claims, read_corpus
from mappings.documents import Document
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5", "Success@20", "R@100")
_BEIR = "the same claims, abstracts and judgements; Lucene's own analysis and its settings in BEIR"
_BEFORE = (
    "the same claims, abstracts and judgements, by programs that are not part of this project: no command prints it"
)
_POOL = "over the 5,183 abstracts without the pool: an easier task than this table's"
PUBLISHED = (
    Published(
        "BM25 (Lucene, title and text as fields)", "BEIR, Thakur et al. 2021, table 2", {"nDCG@10": 0.665}, _BEIR
    ),
    Published("BM25, first measurement", "measured before this project", {"nDCG@10": 0.679}, _BEFORE),
    Published("MiniLM as it comes", "measured before this project", {"nDCG@10": 0.647}, _BEFORE),
    Published("their min-max sum", "measured before this project", {"nDCG@10": 0.720}, _BEFORE),
)


def corpus(settings: Settings) -> Iterator[Document]:
    """The 5,183 abstracts, by the product's own reader."""
    collection = kinds.load("abstracts", None, settings.collections)
    for abstract in read_corpus(settings.data):
        yield abstract.document(collection)


def task(settings: Settings, distractors: bool = False, split: str = "dev") -> Task:
    """The suite; `split` is `dev` for figures and `train` for tuning, never the other way round."""
    claims = list(read_claims(settings.data, split))
    judgements = {claim.id: dict.fromkeys(claim.cited, 1) for claim in claims}
    questions = tuple(Question(claim.id, claim.text) for claim in claims if claim.cited)
    name = "scifact-distractors" if distractors else "scifact"
    return Task(
        suite=name,
        corpus=Corpus(name, "abstracts", lambda: _documents(settings, distractors)),
        questions=questions,
        judgements={item.id: judgements[item.id] for item in questions},
        measures=MEASURES,
        published=tuple(replace(row, note=f"{row.note}; {_POOL}") for row in PUBLISHED) if distractors else PUBLISHED,
        notes=_notes(distractors, split),
        reference=True,
    )


def _documents(settings: Settings, distractors: bool) -> Iterator[Document]:
    return merged(corpus(settings), pool(settings.data)) if distractors else corpus(settings)


def _notes(distractors: bool, split: str) -> tuple[str, ...]:
    judged = f"{split} claims, judged by the documents they cite, as in BEIR's SciFact"
    added = "with the pool of 39k abstracts added, merged by normalised title" if distractors else "5,183 abstracts"
    return (judged, added)


SUITE = Suite(
    "scifact",
    "claims to research abstracts",
    lambda settings, options: read_in_part(task(settings, options.distractors), options.reading),
    options=("distractors", "reading"),
    forms=POOLED,
)
