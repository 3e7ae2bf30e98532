"""Evidence inference (Lehman 2019): the query is intervention, comparator and outcome, the answer the trial's abstract.

Prompts are those of validation and test articles, phrased as questions in the same way as labelling phrases those of
training articles; the corpus is all articles' abstracts. The data set's copy marks no sentences of evidence, so none are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from encoders.labels.tasks.abstracts import trial_question
from evaluation.corpus.abstracts import abstract, plain
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.datasets.evidence_inference import read_abstracts, read_prompts, read_test_articles, read_train_articles
from mappings.documents import Document
from search.settings import Settings

MEASURES = ("RR", "Success@1", "Success@5", "Success@20")


def task(settings: Settings) -> Task:
    """The suite: prompts with the same wording are one question, answered by the abstract of each of their articles."""
    train = read_train_articles(settings.data)
    return _task(settings, lambda article: article not in train)


def test_task(settings: Settings) -> Task:
    """The prompts of test articles alone, over the same abstracts."""
    test = read_test_articles(settings.data)
    return _task(settings, lambda article: article in test)


def _task(settings: Settings, is_judged: Callable[[str], bool]) -> Task:
    documents = list(_documents(settings))
    known = {document.id for document in documents}
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    for prompt in read_prompts(settings.data):
        article = f"pmc:{prompt.article}"
        if is_judged(prompt.article) and article in known:
            text = trial_question(prompt)
            question = questions.setdefault(plain(text), Question(prompt.id, text))
            judgements.setdefault(question.id, {})[article] = 1
    return Task(
        suite="evidence",
        corpus=Corpus("evidence", "abstracts", lambda: documents),
        questions=tuple(questions.values()),
        judgements=judgements,
        measures=MEASURES,
        notes=(f"prompts of validation and test articles over {len(documents):,} abstracts, one abstract per article",),
        reference=True,
    )


def _documents(settings: Settings) -> Iterator[Document]:
    for record in read_abstracts(settings.data):
        if record.title.strip() or any(section.text.strip() for section in record.sections):
            yield abstract(f"pmc:{record.id}", record.title, record.sections, source="evidence")


SUITE = Suite("evidence", "a trial's question to its abstract", lambda settings, options: [task(settings)])
