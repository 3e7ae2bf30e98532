"""The score of a title beside that of the whole passage, against BM25 as published."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from test_embedded_exactness import EVERYBODY, WEIGHTS, WORDS, bm25

from mappings.analysis.words import terms
from mappings.collection import load
from mappings.documents import Passage
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.titles import title_or_lead, title_weights
from search.protocols import IndexEntry, LegsRequest, LexicalQuery

PASSAGES = 200


def random_passages(rng: random.Random) -> list[Passage]:
    """Passages of two to five sentences, every second one without a title."""
    made = []
    for number in range(PASSAGES):
        title = " ".join(rng.choices(WORDS, WEIGHTS, k=rng.randint(2, 15))) if number % 2 else ""
        said = [" ".join(rng.choices(WORDS, WEIGHTS, k=rng.randint(3, 30))) for _ in range(rng.randint(2, 5))]
        made.append(Passage(f"{number:03}", 1, 0, title, "", ". ".join(said) + "."))
    return made


@pytest.mark.parametrize("boost", [0.0, 0.01, 0.3, 1.0, 2.0])
def test_the_better_of_title_and_passage_counts_in_full_and_the_other_by_the_boost(tmp_path, boost):
    rng = random.Random(7)
    passages, kind = random_passages(rng), replace(load("abstracts"), title_boost=boost)
    (tmp_path / "collections" / "abstracts").mkdir(parents=True)
    engine = EmbeddedEngine(tmp_path, lambda name: kind)
    index = engine.create("abstracts", {}).index
    with engine.writer(index) as writer:
        writer.write([IndexEntry(one.document, 1, frozenset({"public"}), {}, (one,), {}) for one in passages])
        writer.commit()
    for _ in range(6):
        query = list(dict.fromkeys(rng.choices(WORDS, WEIGHTS, k=rng.randint(1, 8))))
        wholes = bm25([terms(f"{one.title} {one.text}") for one in passages], query)
        titles = bm25([terms(title_or_lead(one)) for one in passages], query)
        weight, share = title_weights(boost)
        pairs = [(whole, weight * title if boost else 0.0) for whole, title in zip(wholes, titles, strict=True)]
        expected = {passages[place].id: max(pair) + share * min(pair) for place, pair in enumerate(pairs) if any(pair)}
        lexical = LexicalQuery(tuple((term, 1.0) for term in query))
        leg = engine.legs(LegsRequest(index, lexical, {}, EVERYBODY, PASSAGES)).rankings["bm25"]
        assert {item.passage: item.score for item in leg} == pytest.approx(expected, abs=3e-4)


def test_the_weights_of_a_title_up_to_and_above_one():
    assert [title_weights(boost) for boost in (0.0, 0.01, 1.0, 2.5)] == [(1, 0), (1, 0.01), (1, 1), (2.5, 1)]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Walks and sugar", "First sentence. Second one.", "Walks and sugar"),
        ("", "First sentence, e.g. this. Second one.", "First sentence, e.g. this."),
        ("The", "First sentence. Second one.", "First sentence."),
        ("", "*** \N{EM DASH} and the", ""),
        ("", "", ""),
        ("***", " \n ", ""),
    ],
)
def test_the_title_or_what_stands_in_for_it(title, text, expected):
    assert title_or_lead(Passage("a", 1, 0, title, "", text)) == expected


def test_a_first_sentence_without_an_end_is_cut():
    lead = title_or_lead(Passage("a", 1, 0, "", "", "word " * 2_000))
    assert 0 < len(lead) <= 1_500
