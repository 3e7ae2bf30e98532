"""What can be asked about an abstract that no training sees, in five forms made by rule; its title is never indexed.

The forms: the title; its rarest words; the conclusion, whose sentence is taken out of the text; the conclusion turned to
its opposite, which is about the same abstract; and the title, or what the study set out to find, as a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.split import bucket, is_test_abstract
from encoders.labels.tasks.abstracts import LEAST_CHARACTERS, extract_conclusions
from encoders.labels.tasks.form_rules import ask_objective, ask_plainly, ask_title, choose_terms, negate, words
from mappings.datasets.abstracts import SectionedAbstract, bare_title, read_abstracts

TITLE, KEY_TERMS, CONCLUSION, NEGATED, QUESTION = "title", "key terms", "conclusion", "negated conclusion", "question"
FORMS: Final = (TITLE, KEY_TERMS, CONCLUSION, NEGATED, QUESTION)
ASKED: Final = 300
"""Most abstracts that are asked for, each in every form."""


@dataclass(frozen=True, slots=True)
class FormedAbstract:
    """An abstract with the text that is indexed of it; `forms` ask for it, none for one that only stands beside others."""

    id: str
    title: str
    text: str
    forms: Mapping[str, str]


def read_formed_abstracts(data: Path | None) -> list[FormedAbstract]:
    """The abstracts that no training sees; those of which the rules make every form are asked for, the first by hash."""
    abstracts = read_test_abstracts(data)
    conclusions = extract_conclusions(abstracts)
    frequency = Counter(word for item in abstracts for word in words(f"{item.title} {item.text}"))
    made = {
        item.id: forms
        for item in sorted(abstracts, key=lambda item: bucket(f"form:{item.id}", 2**32))
        if item.id in conclusions and all((forms := make_forms(item, conclusions[item.id][0], frequency)).values())
    }
    asked = dict(list(made.items())[:ASKED])
    texts = {name: conclusions[name][1].text for name in asked}
    return [
        FormedAbstract(item.id, item.title, texts.get(item.id, item.text), asked.get(item.id, {})) for item in abstracts
    ]


def read_test_abstracts(data: Path | None) -> list[SectionedAbstract]:
    """The abstracts that no training sees, in the order of the file, those with the same title once."""
    found: dict[str, SectionedAbstract] = {}
    for abstract in read_abstracts(data):
        if is_test_abstract(abstract.id) and len(abstract.text) >= LEAST_CHARACTERS:
            found.setdefault(normalise(bare_title(abstract.title)), abstract)
    return [abstract for title, abstract in found.items() if title]


def make_forms(abstract: SectionedAbstract, conclusion: str, frequency: Mapping[str, int]) -> dict[str, str]:
    """Form -> query, "" where no rule makes one. `frequency` is in how many abstracts a word occurs."""
    title = bare_title(abstract.title).rstrip(".")
    return {
        TITLE: title,
        KEY_TERMS: choose_terms(title, frequency),
        CONCLUSION: conclusion,
        NEGATED: negate(conclusion),
        QUESTION: ask_title(title) or ask_objective(abstract.text) or ask_plainly(title),
    }
