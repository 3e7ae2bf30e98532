"""Training sees no article on a judged entity, under none of its names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from label_data import write

from encoders.labels.evaluated import JudgedData
from encoders.labels.guard import Guard
from encoders.labels.leaks import name_key
from encoders.labels.pairs import Pair, Text
from encoders.labels.sieve import Sieve
from encoders.labels.tasks.health import read_judged_names, read_training_articles
from mappings.datasets.medquad import read_articles, read_questions
from mappings.errors import InvalidInput


def article(number: int, title: str, *synonyms: str) -> dict[str, Any]:
    text = f"Article {number} tells of mast, keel and rudder in words that no other article of these shares: {'x' * number}."
    passage = {"id": f"a{number}-1", "question": f"What is {title} ?", "question_type": "information", "text": text}
    return {"id": f"a{number}", "title": title, "synonyms": list(synonyms), "passages": [passage]}


def medquad(root: Path, *articles: dict[str, Any]) -> Path:
    """The data set of `articles`, the first of which is judged, as "Harbour fever"."""
    write(root / "medquad/documents.jsonl.gz", articles)
    judged = {"passage": "a1-1", "document": "a1", "entity": "Harbour fever"}
    write(root / "medquad/cdv_test_passages.jsonl.gz", [judged])
    names = {"entity": "Harbour fever", "aspect": "information", "aspect_heading": "overview"}
    write(root / "medquad/cdv_test_queries.jsonl.gz", [{"id": "q", "question": "?", "relevant": ["a1-1"], **names}])
    return root


@pytest.mark.parametrize(
    ("own", "title", "synonyms"),
    [
        ((), "Sailor's disease", ("harbour fever",)),
        (("Quay ague",), "Quay Ague", ()),
        (("Quay ague",), "Dock illness", ("ague, quay",)),
        (("Sjörup's disease",), "Sjorup disease", ()),
    ],
    ids=["its synonym is judged", "a judged synonym is its title", "both share a synonym", "spelt in another way"],
)
def test_an_article_on_a_judged_entity_under_another_name_is_not_seen(
    tmp_path: Path, own: tuple[str, ...], title: str, synonyms: tuple[str, ...]
) -> None:
    known = article(1, "Harbour fever", *own)
    data = medquad(tmp_path, known, article(2, title, *synonyms), article(3, "Mountain cough", "peak cough"))
    dropped: Counter[str] = Counter()
    assert [found.id for found in read_training_articles(data, dropped)] == ["a3"]
    assert dropped["health articles on a judged entity, under any of its names"] == 1


def test_the_other_articles_of_such_a_title_are_not_seen_either(tmp_path: Path) -> None:
    data = medquad(
        tmp_path, article(1, "Harbour fever"), article(2, "Port ill", "harbour fever"), article(3, "Port Ill")
    )
    assert read_training_articles(data, Counter()) == []


def test_names_without_letters_hold_nothing_back(tmp_path: Path) -> None:
    data = medquad(tmp_path, article(1, "Harbour fever", "–", ""), article(2, "Mountain cough", "…", ""))
    assert [found.id for found in read_training_articles(data, Counter())] == ["a2"]
    assert "" not in read_judged_names(data)


@pytest.mark.parametrize("synonyms", ["harbour fever", [3], {"name": "x"}])
def test_synonyms_that_are_no_list_of_names_are_refused(tmp_path: Path, synonyms: Any) -> None:
    data = medquad(tmp_path, {**article(1, "Harbour fever"), "synonyms": synonyms})
    with pytest.raises(InvalidInput, match="the synonyms of article 'a1' must be a list of names"):
        list(read_articles(data))


def test_pairs_that_were_labelled_before_are_refused_by_name() -> None:
    judged = JudgedData("medquad", (), (), names=frozenset({name_key("Port ill")}))
    text = Text("a2-1", "Port Ill", "information", "Whoever works at the port can have it for a week or two.")
    pair = Pair("slots", "s:1", "g", "train", "health", "Port Ill overview", ("a2-1",), text)
    free = Text("a3-1", "Mountain cough", "information", "Whoever walks in the mountains can have it in spring.")
    for bad in (pair, Pair("slots", "s:2", "g", "train", "health", "Cough", ("a3-1",), free, (text,))):
        with pytest.raises(InvalidInput, match="an article on 'Port Ill', an entity of the suite medquad"):
            Guard([judged]).check(bad)
    note = Pair("note", "n:1", "g", "train", "notes", "Port Ill plan", ("a2-1",), text)
    Guard([judged]).check(note)  # a note's name is no article's title
    sieve = Sieve([judged], Counter())
    assert list(sieve.filter_pairs([pair, note])) == [note]
    assert list(sieve.filter_corpus("entity-aspect-articles", [text, free])) == [free]


@pytest.mark.data
def test_no_judged_entity_of_the_data_is_left_in_training(data_folder: Path) -> None:
    dropped: Counter[str] = Counter()
    kept = read_training_articles(data_folder, dropped)
    names = {name_key(name) for found in kept for name in (found.title, *found.synonyms)}
    asked = {name_key(question.entity) for question in read_questions(data_folder)}
    assert len(asked) > 1_000
    left = asked & names
    print(  # noqa: T201
        f"{len(asked)} judged entities, {len(left)} of them in {len(kept)} training articles; dropped: {dict(dropped)}"
    )
    assert left == set()
    assert len(kept) > 3_000
