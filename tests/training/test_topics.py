"""Topics: titles and questions that name a condition and an aspect of it label their own texts."""

from __future__ import annotations

from collections import Counter

import pytest

from encoders.labels.tasks.topics import find_topic, label_topics
from mappings.analysis.asked_aspects import find_asked_aspect
from mappings.clinical.reading import shipped_reader
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.bioasq import ExpertQuestion, Snippet
from mappings.documents import Section


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Prevalence of gout in young adults", ("gout", "prevalence")),
        ("Asthma: diagnosis and treatment in the community", ("asthma", "diagnosis and treatment")),
        ("Risk factors, prognosis and survival in sepsis", ("sepsis", "risk factors and prognosis")),
        ("Gout in young adults", ("gout", "")),
        ("Prevalence of smartphones", ("", "prevalence")),
        ("", ("", "")),
    ],
)
def test_a_title_names_a_condition_and_at_most_two_aspects(text: str, topic: tuple[str, str]) -> None:
    assert find_topic(text, shipped_reader()) == topic


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Which drugs treat gout?", ("gout", "treatment")),
        ("Is asthma inherited?", ("asthma", "genetics")),
        ("What is sepsis?", ("sepsis", "overview")),
        ("What is the prognosis of sepsis?", ("sepsis", "prognosis")),
        ("Does gout hurt?", ("gout", "")),
    ],
)
def test_a_question_can_ask_for_an_aspect_by_a_verb(text: str, topic: tuple[str, str]) -> None:
    condition, named = find_topic(text, shipped_reader())
    assert (condition, named or find_asked_aspect(text)) == topic
    assert find_topic("Which drugs treat gout?", shipped_reader()) == ("gout", "")  # no title is read so


def test_texts_stand_by_condition_and_what_names_none_is_counted() -> None:
    pool = [
        SectionedAbstract("2", "Treatment of sepsis", (Section("", "Fluids help."),)),
        SectionedAbstract("1", "Causes of gout", (Section("Results", "Salt in the joints."),)),
        SectionedAbstract("3", "A walk in the park", (Section("", "It rained."),)),
    ]
    snippets = (Snippet("9", "abstract", "Joints swell."), Snippet("9", "abstract", "Mostly at night."))
    asked = [ExpertQuestion("q", "What are the symptoms of gout?", 3, snippets)]
    dropped: Counter[str] = Counter()
    found = label_topics(pool, asked, shipped_reader(), dropped)
    assert [(text.title, text.heading, text.id) for text in found] == [
        ("gout", "causes", "topic:1"),
        ("gout", "symptoms", "topic:3:q:9"),
        ("sepsis", "treatment", "topic:2"),
    ]
    assert found[1].text.split() == ["Joints", "swell.", "Mostly", "at", "night."]
    assert dropped == {"topics: titles without a condition and an aspect of it": 1}
