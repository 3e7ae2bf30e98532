"""A query in the words of the passage: the name that the passage has takes the place of the one that was typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.reading import shipped_reader
from mappings.documents import Access, Passage
from mappings.stages import PassageParts, Reranking
from search.query import Query
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.candidates import Candidate
from search.ranking.cascade import RerankStages, score_window
from search.ranking.wording import Wording
from search.timed_models import TimedOut
from search.understanding.model_text import MODEL_WORDS, opening
from search.understanding.understand import understand

READER = Access("reader", frozenset({"public"}))


def wording(text, **more):
    found = understand(Query("abstracts", READER, text, **more), reader=shipped_reader(), name_weight=0.5)
    return Wording(found.model_text, found.names)


@pytest.mark.parametrize(
    ("text", "passage", "read"),
    [
        ("Is CF mucus abnormal?", "Mucus in cystic fibrosis.", "Is cystic fibrosis mucus abnormal?"),
        ("Is CF mucus abnormal?", "Mucus in cystic fibrosis (CF).", "Is CF mucus abnormal?"),
        ("Is CF mucus abnormal?", "Mucus in asthma.", "Is CF mucus abnormal?"),
        ("cystic fibrosis in adults", "CF in adults.", "CF in adults"),
        ("a trial in two ICUs", "An intensive care unit.", "a trial in two intensive care unit"),
        ("who has MS", "Multiple sclerosis in women.", "who has multiple sclerosis"),
        ("who has MS", "Mitral stenosis in women.", "who has mitral stenosis"),
        ("do water pills help", "A diuretic for one year.", "do diuretic help"),
        ("who gets a heart attack", "Myocardial infarctions in men.", "who gets a myocardial infarction"),
        ("non-CF bronchiectasis", "Cystic fibrosis.", "non-CF bronchiectasis"),
        (
            "copd with fever",
            "Chronic obstructive pulmonary disease.",
            "chronic obstructive pulmonary disease with fever",
        ),
        ("coffee", "", "coffee"),
    ],
)
def test_the_query_takes_the_name_that_the_passage_has(text, passage, read):
    assert wording(text).as_in(passage) == read


def test_a_name_that_is_searched_as_typed_stays():
    assert (
        wording("Is CF mucus abnormal?", as_typed=("CF",)).as_in("Mucus in cystic fibrosis.") == "Is CF mucus abnormal?"
    )


def test_a_name_is_told_once_however_it_is_typed():
    found = understand(Query("abstracts", READER, "copd with fever"), reader=shipped_reader(), name_weight=0.5)
    assert [typed.casefold() for typed, _ in found.names].count("copd") == 1


def test_a_name_without_a_word_stays():
    assert Wording("Is : a word?", [(":", ["0"])]).as_in("0") == "Is : a word?"


@given(st.text(max_size=60), st.text(min_size=1, max_size=8), st.text(max_size=12), st.text(max_size=60))
def test_any_name_can_be_replaced_by_any_other(text, typed, other, passage):
    asked = Wording(text, [(typed, [other])])
    assert isinstance(asked.as_in(passage), str)
    assert asked.as_in(f"{typed} {passage}") == text or typed not in text


class Recorder:
    """A reranker that keeps what it was asked; a text scores by its length."""

    fingerprint = "recorder"

    def __init__(self):
        self.asked = []

    def score(self, query, texts):
        self.asked.append((query, list(texts)))
        return [float(len(text)) for text in texts]


def test_each_passage_is_read_with_its_own_query_and_all_scores_come_back_in_order():
    texts = ["Mucus in cystic fibrosis.", "Mucus in CF.", "Salt in cystic fibrosis, again."]
    passages = [Passage("", number, 0, "", "", text) for number, text in enumerate(texts)]
    window = [Candidate(str(number), str(number), 1.0, ()) for number in range(3)]
    model = Recorder()
    stages = RerankStages(AnytimeReranker(model, ScoreCache(), Pace()))
    found = score_window(
        stages, Reranking("recorder", 3, 0, 0.5), wording("Is CF mucus abnormal?"), window, passages, None
    )
    assert model.asked == [
        ("Is cystic fibrosis mucus abnormal?", [texts[0], texts[2]]),
        ("Is CF mucus abnormal?", [texts[1]]),
    ]
    assert found.last == {str(number): float(len(text)) for number, text in enumerate(texts)}


def test_the_parts_of_a_passage_are_those_near_to_any_of_the_names():
    text = "Filler about other things entirely here. Cystic fibrosis is what this sentence says. Filler once more at the end."
    model = Recorder()
    stages = RerankStages(AnytimeReranker(model, ScoreCache(), Pace()))
    reranking = Reranking("recorder", 1, 0, 0.5, parts=PassageParts(9, 1))
    score_window(
        stages,
        reranking,
        wording("what is CF"),
        [Candidate("0", "0", 1.0, ())],
        [Passage("", 0, 0, "", "", text)],
        None,
    )
    ((_, (read,)),) = model.asked
    assert "Cystic fibrosis" in read


def test_the_opening_ends_with_a_sentence_and_has_at_least_one():
    short = "Coffee protects the heart. "
    assert opening(short * 30) == (short * (MODEL_WORDS // 4)).strip()
    long = " ".join(["coffee"] * 200) + "."
    assert opening(f"{long} And tea.") == long
    assert opening("") == ""


class Hurried(Recorder):
    """One that has time for its first call only."""

    def score_within(self, query, texts, seconds):
        if self.asked:
            raise TimedOut("too late")
        return self.score(query, texts)


def test_what_was_scored_in_one_wording_stays_when_the_time_is_over_before_the_next():
    cache = ScoreCache()
    pairs = [("as typed", "One text."), ("in other words", "Another text."), ("as typed", "The third text.")]
    found = AnytimeReranker(Hurried(), cache, Pace(), clock=lambda: 0.0).score_pairs(pairs, until=60.0)
    assert found == [9.0, None, 15.0]
    assert cache.get("recorder", *pairs[2]) == 15.0
