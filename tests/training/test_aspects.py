"""Queries name aspects as training documents do, never as a test split does."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoders.labels.pairs import read_pairs
from encoders.labels.run import label_datasets
from encoders.labels.tasks.aspects import aspect_names, choose_name
from encoders.labels.tasks.health import label_health
from mappings.datasets.medquad import HealthArticle, HealthPassage


def test_names_are_the_headings_of_training_documents_by_frequency() -> None:
    wanted = ["symptoms"] * 4 + ["outlook"] * 2 + ["genetic changes", "inheritance"]
    others = ["Signs and Symptoms"] * 5 + ["Prognosis:"] * 3 + ["PRESENTATION"] * 2 + ["inheritance"] * 9
    assert aspect_names(wanted, others) == {
        "symptoms": {"signs and symptoms": 5, "symptoms": 4},
        "outlook": {"prognosis": 3, "outlook": 2},
        "genetic changes": {"genetic changes": 1},
        "inheritance": {"inheritance": 1},
    }
    assert list(aspect_names(wanted, others)["symptoms"]) == ["signs and symptoms", "symptoms"]
    assert aspect_names(reversed(wanted), reversed(others)) == aspect_names(wanted, others)


def test_shorthand_and_one_authors_heading_name_no_aspect() -> None:
    assert aspect_names(["treatment"], ["p"] * 20 + ["management"] * 2 + [""] * 5) == {"treatment": {"treatment": 1}}
    assert aspect_names([], ["management"] * 9) == {}


def test_a_name_is_chosen_as_often_as_it_is_used() -> None:
    names = {"symptoms": 75, "signs and symptoms": 25}
    chosen = [choose_name(names, f"passage {number}") for number in range(2_000)]
    assert 1_400 < chosen.count("symptoms") < 1_600
    assert chosen == [choose_name(names, f"passage {number}") for number in range(2_000)]


def test_no_query_is_worded_after_the_test_split() -> None:
    kinds = ("symptoms", "inheritance", "causes", "exams and tests", "outlook", "susceptibility", "stages")
    articles = [
        HealthArticle(
            f"d{n}", f"Fever {n}", tuple(HealthPassage(f"d{n}-{k}", "?", k, f"Text {n} on {k}.") for k in kinds)
        )
        for n in range(9)
    ]
    slots = [pair for pair in label_health(articles) if pair.task == "slots"]
    assert {pair.query for pair in slots} == {f"Fever {n} {kind}" for n in range(9) for kind in kinds}


def test_labelling_words_slots_by_the_headings_of_its_training_documents(data: Path, tmp_path: Path) -> None:
    label_datasets(data, tmp_path)
    for pair in read_pairs(tmp_path / "pairs/slots.jsonl"):
        assert pair.query == f"{pair.positive.title} {pair.positive.heading}"


@pytest.mark.data
def test_the_test_splits_own_headings_are_not_in_the_queries(data_folder: Path) -> None:
    from collections import Counter

    from encoders.labels.tasks import health, notes
    from mappings.datasets.medquad import read_questions

    articles = health.read_training_articles(data_folder, Counter())
    seen = [text.heading for text in health.health_texts(articles)]
    noted = [text.heading for text in notes.long_sections(notes.read_training_notes(data_folder, Counter()))]
    found = {name for names in aspect_names(seen, noted).values() for name in names}
    assert found <= set(seen) | set(noted)
    tested = {question.aspect_heading for question in read_questions(data_folder)}
    print(  # noqa: T201
        f"{len(found)} names of aspects; {len(tested - found)} of {len(tested)} headings of the test split are not among them"
    )
    assert {"symptoms and presentation", "genetic inheritance", "causes and mechanism"} <= tested - found
