"""One abstract asked for in five forms, made by rule: what a searcher may know of it, worded as they may word it.

The forms are the title, its rarest words, the conclusion, the conclusion turned to its opposite, and a question made of the
title or the objective. The abstracts are those of the pool that no training sees, without their titles; the sentence of
a conclusion that is asked is taken out. An abstract that denies the query is the answer all the same: it is about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from encoders.labels.tasks.forms import FORMS, FormedAbstract, read_formed_abstracts
from evaluation.corpus.abstracts import abstract
from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings.documents import Section
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "Success@1", "Success@5", "Success@20")


def tasks(settings: Settings) -> list[Task]:
    """All forms together, then each alone, over the same abstracts."""
    formed = read_formed_abstracts(settings.data)
    whole = _task(formed, FORMS)
    return [whole, *(replace(_task(formed, [form]), variant=form, corpus=whole.corpus) for form in FORMS)]


def _task(formed: Iterable[FormedAbstract], forms: Iterable[str]) -> Task:
    documents = [abstract(item.id, "", [Section("", item.text)], source="forms") for item in formed]
    asked = [(item, form) for form in forms for item in formed if item.forms]
    return Task(
        suite="forms",
        corpus=Corpus("forms", "abstracts", lambda: documents),
        questions=tuple(Question(f"{form}: {item.id}", item.forms[form], stratum=form) for item, form in asked),
        judgements={f"{form}: {item.id}": {item.id: 1} for item, form in asked},
        measures=MEASURES,
        notes=(
            f"{sum(bool(item.forms) for item in formed)} of {len(documents):,} abstracts that no training sees, each asked"
            " for in five forms made by rule, none of which an author wrote as a query",
            "abstracts without titles, and without the sentence that states a conclusion where that is asked; a sample has"
            " so many questions of each form",
        ),
    )


SUITE = Suite("forms", "an abstract asked for in five forms", lambda settings, options: tasks(settings))
