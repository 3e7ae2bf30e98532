"""The suites of experts, citations, plain language and graded answers, on small files written here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from encoders.labels.split import is_test_summary
from evaluation.suites import answers, citations, experts, lay
from mappings.errors import InvalidInput
from search.settings import Settings

TEST, TRAIN = ([f"CD{n}" for n in range(40) if is_test_summary(f"CD{n}") == half][:3] for half in (True, False))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), data=tmp_path)


def write(settings: Settings, name: str, *records: Mapping[str, Any]) -> None:
    path = Path(str(settings.data)) / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))


def asked(name: str, year: int, *snippets: tuple[str, str]) -> dict[str, Any]:
    marked = [{"document": document, "section": "abstract", "text": text} for document, text in snippets]
    return {"id": name, "question": f"Question {name}?", "year": year, "snippets": marked}


def test_an_abstract_is_what_experts_marked_in_it_each_piece_once(settings: Settings) -> None:
    whole = ("7", "Otters sleep in rivers")
    write(
        settings,
        "bioasq/questions",
        asked("a", 1, ("7", "Otters sleep"), ("8", "Beavers swim.")),
        asked("b", 9, whole, ("7", "They swim."), whole),
    )
    every, unseen = experts.tasks(settings)
    assert {item.id: item.sections[0].text for item in every.corpus.documents()} == {
        "7": "Otters sleep in rivers\n\nThey swim.",
        "8": "Beavers swim.",
    }
    assert every.judgements == {"a": {"7": 1, "8": 1}, "b": {"7": 1}}
    assert (unseen.variant, unseen.judgements) == ("years 9 and 10", {"b": {"7": 1}})


def test_one_year_has_its_questions_over_the_same_abstracts(settings: Settings) -> None:
    write(settings, "bioasq/questions", asked("a", 1, ("7", "Otters sleep.")), asked("b", 2, ("8", "Beavers swim.")))
    (task,) = experts.tasks(settings, 2)
    assert ([item.id for item in task.questions], task.variant) == (["b"], "")
    assert [item.id for item in task.corpus.documents()] == ["7", "8"]
    with pytest.raises(InvalidInput, match="year is 11; the questions are of the years 1 to 10"):
        experts.tasks(settings, 11)


def test_a_sample_has_so_many_questions_of_each_year(settings: Settings) -> None:
    questions = [asked(f"{year}-{n}", year, ("7", "Otters sleep.")) for year in (1, 9) for n in range(20 * year)]
    write(settings, "bioasq/questions", *questions)
    every, unseen = (task.sampled(30) for task in experts.tasks(settings))
    assert [sum(item.stratum == year for item in every.questions) for year in ("1", "9")] == [20, 30]
    assert [item for item in every.questions if item.stratum == "9"] == list(unseen.questions)
    assert experts.tasks(settings, 9)[0].sampled(30).questions == unseen.questions


def test_every_paragraph_of_the_cited_article_is_an_answer_and_the_claims_own_counts_twice(settings: Settings) -> None:
    texts = {7000: ["A.", "B."], 7001: ["b", "a"], 7002: ["C."], 8000: ["D."], 8001: []}
    paragraphs = [{"doc_id": name, "title": "", "abstract": text} for name, text in texts.items()]
    write(settings, "citation_integrity/corpus", *paragraphs)

    def claim(number: int, text: str, cited: int, decided: bool = True) -> dict[str, Any]:
        found = {str(cited): [{"sentences": [0], "label": "SUPPORT"}]} if decided else {}
        return {"id": number, "claim": text, "cited_doc_ids": [cited], "evidence": found}

    claims = [claim(0, "So it is.", 7001), claim(1, "so it is", 7002), claim(2, "Or not.", 8000, decided=False)]
    write(settings, "citation_integrity/claims_dev", *claims)
    task = citations.task(settings)
    assert [item.id for item in task.corpus.documents()] == ["7000", "7002", "8000"]
    assert [item.text for item in task.questions] == ["So it is."]
    assert task.strict == {"0": {"7000": 1, "7002": 1}}
    write(settings, "citation_integrity/claims_dev", claims[0])
    assert citations.task(settings).judgements == {"0": {"7000": 2, "7002": 1}}


def summary(name: str, source: str = "cochrane-auto", **titles: str) -> dict[str, str]:
    return {"id": name, "source": source, "technical": f"T of {name}.", "lay": f"Lay of {name}. More of it.", **titles}


def test_summaries_of_the_test_half_ask_by_lay_title_and_first_sentence(settings: Settings) -> None:
    first, second, third = TEST
    rows = [
        summary(first, title="Salicylates for cephalalgia", lay_title="Aspirin for headaches"),
        summary(second, title="Zinc for colds", lay_title="Zinc for colds."),
        summary(third, "cochrane-devaraj", title="Rest"),
        *(summary(f"{TEST[0]}/adaptation{n}", "plaba") for n in (1, 2)),
        summary(TRAIN[0], title="Unseen", lay_title="Not seen"),
    ]
    write(settings, "lay/passages", *rows)
    task = lay.task(settings)
    assert {item.id: item.text for item in task.questions} == {
        first: f"Aspirin for headaches Lay of {first}.",
        f"{first}/adaptation1": f"Lay of {first}/adaptation1.",
        f"{first}/adaptation2": f"Lay of {first}/adaptation2.",
    }
    assert {key for grades in task.judgements.values() for key in grades} == {first}
    assert [item.id for item in task.corpus.documents()] == TEST


def test_the_pool_gives_no_twin_of_a_technical_text(settings: Settings) -> None:
    write(settings, "lay/passages", summary(TEST[0], title="Zinc for colds"), summary(TEST[1]))
    titles = ["Zinc for colds [Systematic Review]3179", "zinc for Colds", "Rest for colds", "[Rest for flu]", ""]
    pool = [{"doc_id": f"p{n}", "title": title, "sections": [{"text": "Rest."}]} for n, title in enumerate(titles)]
    write(settings, "abstracts/abstracts", *pool)
    task = lay.task(settings, distractors=True)
    assert [item.id for item in task.corpus.documents()] == [*TEST[:2], "pool:p2", "pool:p3", "pool:p4"]
    assert task.suite == "lay-distractors"


def test_answers_are_graded_by_how_correct_they_are_and_never_show_the_question(settings: Settings) -> None:
    def answer(name: str, grade: int, text: str) -> dict[str, Any]:
        return {"id": name, "grade": grade, "rank": 1, "text": text}

    found = [
        answer("1_1", 4, "What are hats?: Hats are worn."),
        answer("1_2", 3, "Hats (Care): Wash them."),
        answer("1_3", 2, "Caps: Caps are small."),
        answer("1_4", 1, "Shoes: They have laces."),
    ]
    other = [answer("2_1", 2, "Hats (Care): wash them"), answer("2_2", 3, "Wool: It is warm.")]
    wrong = [answer("3_1", 1, "Wool: It is warm.")]
    questions = {"What are hats?": found, "How warm are hats?": other, "What are gloves?": wrong}
    write(
        settings,
        "answer_grades/questions",
        *({"id": str(n), "question": text, "answers": given} for n, (text, given) in enumerate(questions.items(), 1)),
    )
    task = answers.task(settings)
    assert task.judgements == {"1": {"1_1": 2, "1_2": 1, "1_3": 0, "1_4": 0}, "2": {"1_2": 0, "2_2": 1}}
    documents = {item.id: (item.title, item.sections[0].text) for item in task.corpus.documents()}
    assert documents["1_1"] == ("", "Hats are worn.")
    assert documents["1_2"] == ("Hats (Care)", "Wash them.")
    assert len(documents) == 5
