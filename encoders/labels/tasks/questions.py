"""Questions: those of experts, labelled with what was marked for them in abstracts, and long ones with a shorter form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import TEST_YEARS, bucket, link, split_of
from mappings.datasets.bioasq import ExpertQuestion, join_snippets, read_questions
from mappings.datasets.question_entailment import QuestionPair, read_pairs

EXPERTS: Final = "experts"
SHORT: Final = "short-questions"
"""The corpora: abstracts as far as experts marked them, and short questions."""

ANSWERS: Final = 6
"""The most abstracts of one question that become pairs: some questions have a hundred."""
MIN_WORDS: Final = 8
"""Fewer marked words ("men (n = 67)") answer nothing by themselves; such abstracts are still in the corpus."""


def read_expert_questions(data: Path | None, dropped: dict[str, int]) -> list[ExpertQuestion]:
    """The questions of the training years, without the abstracts that a question of the test years judges."""
    every = list(read_questions(data))
    judged = {snippet.document for item in every if item.year in TEST_YEARS for snippet in item.snippets}
    found = [item for item in every if item.year not in TEST_YEARS]
    dropped["expert: abstracts that a question of the test years judges"] += len(judged & join_snippets(found).keys())
    return [replace(item, snippets=tuple(one for one in item.snippets if one.document not in judged)) for item in found]


def expert_texts(questions: Iterable[ExpertQuestion]) -> list[Text]:
    """All that experts marked in each abstract. Its id begins with the years of its questions: `5:123`, `3+5:124`.

    So a recipe can leave out all of a year's questions with every passage that answers one.
    """
    questions = list(questions)
    names = _text_ids(questions)
    return [Text(names[document], "", "", text) for document, text in join_snippets(questions).items()]


def _text_ids(questions: Iterable[ExpertQuestion]) -> dict[str, str]:
    years: defaultdict[str, set[int]] = defaultdict(set)
    for item in questions:
        for snippet in item.snippets:
            years[snippet.document].add(item.year)
    return {document: f"{'+'.join(map(str, sorted(found)))}:{document}" for document, found in years.items()}


def label_experts(questions: Sequence[ExpertQuestion]) -> Iterator[Pair]:
    """Question -> what its expert marked in one abstract, for at most `ANSWERS` abstracts that a hash draws.

    A pair's id says the year of its question: `expert:5:<question>:<abstract>`. Questions in the same words or with an
    abstract in common are one group.
    """
    names = _text_ids(questions)
    groups = link(
        (f"question:{normalise(item.text)}", *(snippet.document for snippet in item.snippets)) for item in questions
    )
    for item in questions:
        marked = join_snippets([item])
        relevant = tuple(names[document] for document in marked)
        group = f"expert:{groups[f'question:{normalise(item.text)}']}"
        told = [document for document, text in marked.items() if len(text.split()) >= MIN_WORDS]
        for document in sorted(told, key=lambda name: bucket(f"{item.id}:{name}", 2**32))[:ANSWERS]:
            name = f"expert:{item.year}:{item.id}:{document}"
            text = Text(names[document], "", "", marked[document])
            yield Pair("expert", name, group, split_of(group), EXPERTS, item.text, relevant, text)


def read_entailed(data: Path | None, dropped: dict[str, int]) -> list[QuestionPair]:
    """The questions with a short form in other words.

    Those that do not follow are no negatives: they are of another subject, and four questions are a third of them.
    """
    entailed = [item for item in read_pairs(data) if item.entails and item.short.strip()]
    found = [item for item in entailed if normalise(item.question) != normalise(item.short)]
    dropped["entailed: questions whose short form has the same words"] += len(entailed) - len(found)
    return found


def short_texts(found: Iterable[QuestionPair]) -> list[Text]:
    """The distinct short questions as passages."""
    first = {normalise(item.short): item.short for item in reversed(list(found))}
    return [Text(f"short:{key}", "", "", text) for key, text in first.items()]


def label_entailed(found: Sequence[QuestionPair]) -> Iterator[Pair]:
    """A question as a clinician asked it -> its short form."""
    texts = {text.id: text for text in short_texts(found)}
    forms: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in found:
        forms[normalise(item.question)][f"short:{normalise(item.short)}"] = None
    groups = link((question, *shorter) for question, shorter in forms.items())
    for item in found:
        question, short = normalise(item.question), f"short:{normalise(item.short)}"
        group = f"entailed:{groups[question]}"
        relevant = tuple(forms[question])
        yield Pair(
            "entailed", f"entailed:{item.id}", group, split_of(group), SHORT, item.question, relevant, texts[short]
        )
