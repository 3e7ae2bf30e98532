"""Plain language: the query is how a plain-language summary begins, the answer the technical text that it summarises.

The summaries are those of the half that no training sees. A query is the lay title and the first sentence; a lay title that
is the technical one is left out. Cochrane's summaries without a lay title of their own ask nothing: they often begin with
how many studies were found, of whatever. Their technical texts are in the corpus all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.labels.split import is_test_summary
from encoders.labels.tasks.summaries import summary_question
from evaluation.corpus.abstracts import abstract, merged, plain, pool
from evaluation.suite import POOLED, Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.abstracts import bare_title
from mappings.datasets.lay import PlainSummary, read_summaries, technical_id
from mappings.documents import Document, Section
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5", "Success@20")


def task(settings: Settings, distractors: bool = False) -> Task:
    """The suite; two adaptations of one abstract are two questions with the same answer."""
    summaries = [item for item in read_summaries(settings.data) if is_test_summary(technical_id(item.id))]
    asked = {item.id: text for item in summaries if (text := summary_question(item))}
    name = "lay-distractors" if distractors else "lay"
    return Task(
        suite=name,
        corpus=Corpus(name, "abstracts", lambda: _documents(summaries, settings, distractors)),
        questions=tuple(Question(identifier, text) for identifier, text in asked.items()),
        judgements={identifier: {technical_id(identifier): 1} for identifier in asked},
        measures=MEASURES,
        notes=(
            f"{len(asked):,} summaries of the half that is never trained on, by lay title and first sentence",
            "with the pool of 39k abstracts added, merged by normalised title"
            if distractors
            else f"the technical texts of that half, of {len(summaries):,} summaries",
        ),
        reference=True,
    )


def _documents(summaries: Sequence[PlainSummary], settings: Settings, distractors: bool) -> Iterator[Document]:
    originals = {technical_id(item.id): _document(item) for item in summaries}.values()
    if not distractors:
        return iter(originals)
    titles = {plain(document.title) for document in originals if document.title}
    return merged(originals, (item for item in pool(settings.data) if plain(bare_title(item.title)) not in titles))


def _document(summary: PlainSummary) -> Document:
    return abstract(technical_id(summary.id), summary.title, [Section("", summary.technical)], source=summary.source)


SUITE = Suite(
    "lay",
    "plain-language summaries to technical texts",
    lambda settings, options: [task(settings, options.distractors)],
    options=("distractors",),
    forms=POOLED,
)
