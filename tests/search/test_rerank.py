from dataclasses import dataclass, field

import numpy as np

from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache


@dataclass
class Slow:
    """A reranker whose score is the text's length, and whose time is a number we advance."""

    now: float = 0.0
    seconds_each: float = 0.01
    calls: list[int] = field(default_factory=list)
    fingerprint: str = "slow"

    def score(self, query, passages):
        self.calls.append(len(passages))
        self.now += self.seconds_each * len(passages)
        return np.asarray([len(text) for text in passages], dtype=np.float32)


def anytime(model: Slow) -> AnytimeReranker:
    return AnytimeReranker(model, ScoreCache(), Pace(), clock=lambda: model.now)


TEXTS = [f"text number {number:04d} with some words" for number in range(100)]


def test_without_a_deadline_all_are_scored():
    model = Slow()
    assert anytime(model).score("q", TEXTS, None) == [float(len(text)) for text in TEXTS]


def test_the_best_candidates_are_scored_before_the_deadline():
    model = Slow()
    scores = anytime(model).score("q", TEXTS, 0.4)
    reached = [score is not None for score in scores]
    assert reached == sorted(reached, reverse=True)
    assert 10 <= sum(reached) <= 40
    assert model.now <= 0.4 + 0.16


def test_one_slow_call_does_not_stop_reranking_for_good():
    model = Slow()
    patient = anytime(model)
    for _ in range(20):
        patient.pace.learn(1, 60.0)
    reached = [sum(score is not None for score in patient.score("q", TEXTS, model.now + 0.4)) for _ in range(60)]
    assert reached[0] == 0
    assert reached[-1] > 10


def test_a_stalled_call_costs_the_next_search_little():
    model = Slow()
    patient = anytime(model)
    patient.score("q", TEXTS[:50], None)
    usual = patient.pace.estimate(100)
    patient.pace.learn(100, 3600.0)
    assert usual < patient.pace.estimate(100) < 2 * usual


def test_no_time_left_scores_nothing():
    model = Slow(now=5.0)
    assert anytime(model).score("q", TEXTS, 4.9) == [None] * 100
    assert model.calls == []


def test_what_was_scored_once_is_not_scored_again():
    model = Slow()
    patient = anytime(model)
    first = patient.score("q", TEXTS, 0.4)
    known = sum(score is not None for score in first)
    patient.score("q", TEXTS, None)
    assert sum(model.calls) == 100
    assert patient.score("q", TEXTS, model.now - 1)[:known] == first[:known]


def test_another_query_or_model_shares_nothing():
    cache = ScoreCache()
    cache.put("model", "query", "text", 1.0)
    assert cache.get("model", "query", "text") == 1.0
    assert (
        cache.get("model", "query", "texts")
        is cache.get("other", "query", "text")
        is cache.get("model", "q", "text")
        is None
    )


def test_the_cache_forgets_the_least_recently_used():
    cache = ScoreCache(entries=2)
    for text in "abc":
        cache.put("m", "q", text, 1.0)
        cache.get("m", "q", "a")
    assert [cache.get("m", "q", text) for text in "abc"] == [1.0, None, 1.0]
