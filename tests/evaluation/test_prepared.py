"""The papers' lexical baselines against hand-made texts and their formulas."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from evaluation.baselines import papers
from evaluation.baselines.prepared import TfIdf, expansions_for, plain_tokens, prepared_tokens
from evaluation.task import Corpus, Question, Task
from mappings.documents import Document, Section

rank_bm25 = pytest.importorskip("rank_bm25")

TEXTS = ["Heart failure and gout.", "Gout, gout and again gout!", "Heart surgery", "Lung"]


def test_an_abbreviation_is_expanded_when_it_occurs_more_than_twice_as_written() -> None:
    assert expansions_for(["BP rose", "BP fell, bp"]) == {}
    assert expansions_for(["BP rose", "BP fell", "of BP"]) == {"BP": "blood pressure"}


def test_prepared_tokens_are_small_stemmed_and_without_function_words() -> None:
    assert prepared_tokens("What the BP of Patients was", {"BP": "blood pressure"}) == ["blood", "pressur", "patient"]
    assert plain_tokens("The BP of Patients") == ["the", "bp", "of", "patients"]


def test_tf_idf_is_the_cosine_of_its_formula() -> None:
    words = [plain_tokens(text) for text in TEXTS]
    vocabulary = sorted({word for text in words for word in text})
    idf = {word: math.log(4 / sum(word in text for text in words)) for word in vocabulary}

    def vector(text: list[str]) -> np.ndarray:
        return np.array([(1 + math.log(text.count(w))) * idf[w] if w in text else 0.0 for w in vocabulary])

    query = vector(["gout", "heart", "heart"])
    expected = [vector(text) @ query / np.linalg.norm(vector(text)) for text in words]
    assert TfIdf(words).get_scores(["gout", "heart", "heart", "unknown"]) == pytest.approx(expected)
    assert TfIdf(words).get_scores([]).tolist() == [0.0] * 4


def task(depth: int = 0, documents: int = 4) -> Task:
    made = [
        Document(f"d{number}", "", (Section("", TEXTS[number % 4] + f" w{number}"),), frozenset({"public"}))
        for number in range(documents)
    ]
    questions = (Question("q1", "the gout of the heart"), Question("q2", "lungs"), Question("q3", "?"))
    return Task("t", Corpus("t", "abstracts", lambda: made), questions, {}, ("RR",), depth=depth)


def test_the_bm25_rows_are_rank_bm25s_own_orders() -> None:
    found = papers.rank(task())
    assert list(found) == ["TF-IDF", "BM25", "BM25+", "BM25+†"]
    texts = [plain_tokens(f"{text} w{number}") for number, text in enumerate(TEXTS)]
    for system, name in (("BM25", "BM25Okapi"), ("BM25+", "BM25Plus")):
        scores = getattr(rank_bm25, name)(texts).get_scores(["the", "gout", "of", "the", "heart"])
        assert found[system]["q1"] == [f"d{at}" for at in np.lexsort((np.arange(4), -scores))]
    assert found["BM25"]["q2"] == ["d0", "d1", "d2", "d3"]  # "lungs" is no word of a plain text: all are equal
    assert found["BM25+†"]["q2"][0] == "d3"
    prepared = [prepared_tokens(f"{text} w{number}", {}) for number, text in enumerate(TEXTS)]
    scores = rank_bm25.BM25Plus(prepared).get_scores(prepared_tokens("the gout of the heart", {}))
    assert found["BM25+†"]["q1"] == [f"d{at}" for at in np.lexsort((np.arange(4), -scores))]


def test_an_abbreviation_is_counted_in_questions_too() -> None:
    texts = ["BP rose at night", "BP fell by day", "The blood pressure rose"]
    made = [
        Document(f"d{number}", "", (Section("", text),), frozenset({"public"})) for number, text in enumerate(texts)
    ]
    asked = Task("t", Corpus("t", "abstracts", lambda: made), (Question("q", "day BP"),), {}, ("RR",))
    once = replace(asked, questions=(Question("q", "blood pressure by day"),))
    # Three uses, one of them the question's: all are expanded, and the shortest text is the second.
    assert papers.rank(asked)["BM25+†"]["q"] == ["d1", "d2", "d0"]
    # Two in the texts are not enough.
    assert papers.rank(once)["BM25+†"]["q"] == ["d2", "d1", "d0"]


@pytest.mark.parametrize("name", ["BM25Okapi", "BM25Plus"])
def test_scores_asked_for_where_a_word_stands_are_the_models_own(name: str) -> None:
    texts = [plain_tokens(f"all {text}") for text in TEXTS]
    ours, theirs = papers.AdditiveModel(name, texts), getattr(rank_bm25, name)(texts)
    for query in ("gout", "heart gout gout", "all", "nowhere", "lung all nowhere heart", ""):
        assert ours.get_scores(query.split()) == pytest.approx(theirs.get_scores(query.split()), abs=1e-12)


def test_rankings_end_at_the_tasks_depth() -> None:
    assert {len(run["q1"]) for run in papers.rank(task(documents=130)).values()} == {100}
    assert {len(run["q1"]) for run in papers.rank(task(depth=120, documents=130)).values()} == {120}
    chosen = {f"q{number}": frozenset({"d1", "d3"}) for number in (1, 2, 3)}
    assert {frozenset(run["q1"]) for run in papers.rank(task(), chosen).values()} == {frozenset({"d1", "d3"})}
