"""What the suites of experts, citations, summaries and graded answers judge, and what of their data sets training may see."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from label_data import LAY

from encoders.labels.evaluated import JudgedData, read_judged_data
from encoders.labels.pairs import Pair, Text
from encoders.labels.sieve import Sieve
from mappings.datasets import answer_grades, bioasq, citation_integrity, lay


@pytest.fixture
def judged(data: Path) -> dict[str, JudgedData]:
    return {found.suite: found for found in read_judged_data(data)}


def passes(data: Path, query: str, text: str, title: str = "") -> bool:
    pair = Pair("new", "n:1", "g", "train", "new", query, ("t1",), Text("t1", title, "", text))
    return list(Sieve(read_judged_data(data), Counter()).filter_pairs([pair])) == [pair]


def test_of_the_experts_questions_those_of_the_last_years_are_judged(data: Path, judged: dict[str, JudgedData]) -> None:
    early, late = bioasq.read_questions(data)
    assert judged["experts"].queries == (late.text,)
    assert {text.id for text in judged["experts"].texts} == {"2"}
    for question, free in ((early, True), (late, False)):
        for snippet in question.snippets:
            assert passes(data, "Where do beavers swim?", snippet.text) == free
        assert passes(data, question.text, "Beavers swim.") == free
        assert passes(data, "Where do beavers swim?", "Beavers swim.", question.snippets[1].text) == free


def test_every_paragraph_of_an_article_that_a_judged_claim_cites_is_judged(
    data: Path, judged: dict[str, JudgedData]
) -> None:
    assert judged["citations"].queries == ("Nurses are said to have counted beds at night.",)
    assert [text.id for text in judged["citations"].texts] == ["7000", "7001"]
    free = {
        paragraph.id: passes(data, "Who counts?", paragraph.text)
        for paragraph in citation_integrity.read_paragraphs(data)
    }
    assert free == {"7000": False, "7001": False, "8000": True}


def test_a_summary_is_judged_with_its_sentences_and_its_technical_text(
    data: Path, judged: dict[str, JudgedData]
) -> None:
    summaries = {item.id: item for item in lay.read_summaries(data)}
    assert judged["lay"].queries == (f"Splints after a fall Does a splint help number {LAY['test']}?",)
    for half, free in (("train", True), ("test", False)):
        for text in (summaries[LAY[half]].technical, summaries[LAY[half]].lay):
            assert passes(data, "What helps a wrist?", text) == free
    assert {text.id for text in judged["lay"].texts} == {LAY["test"]}


def test_graded_answers_are_judged_without_their_labels(data: Path) -> None:
    (question,) = answer_grades.read_questions(data)
    assert not passes(data, question.text, "Hold your breath.")
    assert not passes(data, "Hiccups for days", question.answers[0].text)
    assert passes(data, "What stops sneezing?", "Whoever sneezes in spring may have an allergy to the pollen of trees.")
