"""Questions of experts, checked claims, entailed questions, graded answers and plain language, in small files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mappings.datasets import (
    answer_grades,
    bioasq,
    citation_integrity,
    covid_fact,
    healthver,
    lay,
    question_entailment,
    scifact,
)
from mappings.errors import InvalidInput

SUMMARY = {"source": "plaba", "id": "12/adaptation2", "technical": "Polyuria was frequent.", "lay": "Many went often."}


def write(data: Path, name: str, *records: Mapping[str, Any]) -> None:
    path = data / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


def test_an_experts_question_has_the_snippets_of_its_year(tmp_path: Path) -> None:
    snippets = [{"text": "Otters sleep.", "document": "77", "section": "title"}]
    record = {
        "id": "b1",
        "question": "Do otters sleep?",
        "type": "yesno",
        "year": 3,
        "snippets": snippets,
        "exact": "yes",
    }
    write(tmp_path, "bioasq/questions", {**record, "documents": ["77", "78"]})
    assert list(bioasq.read_questions(tmp_path)) == [
        bioasq.ExpertQuestion("b1", "Do otters sleep?", 3, (bioasq.Snippet("77", "title", "Otters sleep."),), "yes")
    ]


def test_a_citing_claim_and_its_paragraph_have_scifacts_form(tmp_path: Path) -> None:
    write(tmp_path, "citation_integrity/corpus", {"doc_id": 31008, "title": "", "abstract": ["B.", "A."]})
    claim = {"id": 4, "claim": "It is so.", "cited_doc_ids": [31008], "evidence": {}}
    claim["evidence"] = {"31008": [{"sentences": [1], "label": "REFUTE"}, {"sentences": [0, 1], "label": "REFUTE"}]}
    write(tmp_path, "citation_integrity/claims_dev", claim)
    assert [item.text for item in citation_integrity.read_paragraphs(tmp_path)] == ["B. A."]
    assert list(citation_integrity.read_claims(tmp_path, "dev")) == [
        scifact.ScientificClaim(
            "4", "It is so.", ("31008",), {"31008": scifact.MarkedEvidence("refutes", frozenset({0, 1}))}
        )
    ]
    assert citation_integrity.article_of("31008") == "31"


def test_a_summary_has_the_titles_that_are_known(tmp_path: Path) -> None:
    write(tmp_path, "lay/passages", SUMMARY, {**SUMMARY, "id": "CD1", "title": "T", "lay_title": "L"})
    adapted, review = lay.read_summaries(tmp_path)
    assert (adapted.title, adapted.lay_title, lay.technical_id(adapted.id)) == ("", "", "12")
    assert (review.title, review.lay_title, lay.technical_id(review.id)) == ("T", "L", "CD1")


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Otters sleep. They swim.", "Otters sleep."),
        (". Otters sleep . They swim .", "Otters sleep ."),
        ("12. Otters sleep", "12. Otters sleep"),
        ("...", ""),
        ("", ""),
    ],
)
def test_a_summary_opens_with_its_first_sentence_of_words(text: str, opening: str) -> None:
    assert lay.PlainSummary("1", "elife", "", "", "", text).opening == opening


def test_plain_sentences_terms_and_definitions(tmp_path: Path) -> None:
    write(tmp_path, "lay/sentences", {**SUMMARY, "id": "12/adaptation2/5"})
    term = {"source": "x", "lay": "heart attack", "technical": "Infarction", "lay_lower": "heart attack"}
    write(tmp_path, "lay/terms", term, {**term, "concept": "C1"})
    write(tmp_path, "lay/definitions", {"source": "y", "term": "Polyuria", "definition": "Passing much urine."})
    (sentence,) = lay.read_sentences(tmp_path)
    assert sentence == lay.PlainSentence("12/adaptation2/5", "plaba", "Polyuria was frequent.", "Many went often.")
    assert [item.concept for item in lay.read_terms(tmp_path)] == ["", "C1"]
    assert list(lay.read_definitions(tmp_path)) == [lay.TermDefinition("y", "Polyuria", "Passing much urine.")]


def test_claims_beside_evidence(tmp_path: Path) -> None:
    pair = {"id": "9", "question": "Do hats help?", "claim": "Hats help.", "evidence": "Hats did nothing."}
    write(tmp_path, "healthver/pairs", {**pair, "label": "REFUTE"}, {**pair, "label": "NEUTRAL"})
    refuted, neutral = healthver.read_claims(tmp_path)
    assert refuted == healthver.WebClaim("9", "Do hats help?", "Hats help.", "Hats did nothing.", "refutes")
    assert (refuted.is_decided, neutral.is_decided) == (True, False)
    discussed = {"id": 0, "claim": "Hats help.", "evidence": ["Some do.", "Few do not."]}
    write(tmp_path, "covid_fact/claims", {**discussed, "label": "SUPPORT"}, {**discussed, "label": "REFUTE"})
    supported, made = covid_fact.read_claims(tmp_path)
    assert supported == covid_fact.DiscussedClaim("0", "Hats help.", ("Some do.", "Few do not."), True)
    assert not made.is_supported


def test_questions_that_answer_others(tmp_path: Path) -> None:
    record = {"id": "1", "type": "x", "question": "Which hat for a cold boy?", "faq": "Which hat?", "entails": True}
    write(tmp_path, "question_entailment/pairs", record)
    assert list(question_entailment.read_pairs(tmp_path)) == [
        question_entailment.QuestionPair("1", "Which hat for a cold boy?", "Which hat?", True)
    ]


@pytest.mark.parametrize(
    ("text", "label", "answer"),
    [
        ("Hats (Care): Wash: never.", "Hats (Care)", "Wash: never."),
        ("What are hats?: Hats are worn.", "What are hats?", "Hats are worn."),
        ("Hats are worn.", "", "Hats are worn."),
    ],
)
def test_an_answer_is_told_from_its_label(tmp_path: Path, text: str, label: str, answer: str) -> None:
    graded = {"id": "1_1", "grade": 3, "rank": 2, "text": text}
    write(tmp_path, "answer_grades/questions", {"id": "1", "question": "What are hats?", "answers": [graded]})
    (question,) = answer_grades.read_questions(tmp_path)
    assert question.answers == (answer_grades.GradedAnswer("1_1", label, answer, 3, 2),)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    write(tmp_path, "bioasq/questions", {"id": "b1", "question": "Do otters sleep?", "year": 3})
    with pytest.raises(InvalidInput, match=r"questions\.jsonl, line 1: the key 'snippets' is missing"):
        list(bioasq.read_questions(tmp_path))
