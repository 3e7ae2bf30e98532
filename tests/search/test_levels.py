"""Scores over tiers and stages: never negative, never above 1, in one order over every page, and each a sum of its parts."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.errors import InvalidInput
from mappings.stages import FirstStage, Reranking
from search.pipeline.explanation import explain
from search.pipeline.paging import cursor as cursors
from search.pipeline.search import search
from search.query import Query
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.candidates import NO_CONTRIBUTIONS, ONE_LEVEL, Candidate, Level, RerankScore
from search.ranking.cascade import RerankStages, StageScores, combine
from search.ranking.levels import rank_by_level

EVERYTHING = Access("root", frozenset({"*"}))
STAGES = ("last", "first", "")
TWO = Reranking("large", 50, 500, 0.6, FirstStage("small", 3, 0.5))


def candidate(number, score, tier=0, stage=""):
    name = f"d{number:02}@1#0"
    reranking = RerankScore(score, 1.0, score, 0.5, stage) if stage else None
    return Candidate(name, name[:3], score, NO_CONTRIBUTIONS, reranking, tier)


drawn = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(STAGES)), max_size=20).map(
    lambda rows: [candidate(number, *row) for number, row in enumerate(rows)]
)


@given(drawn)
def test_no_score_is_negative_and_the_order_is_by_tier_then_stage_then_score(given_candidates):
    ranked = rank_by_level(given_candidates)
    before = {item.passage: item for item in given_candidates}
    wanted = sorted(given_candidates, key=lambda item: (item.tier, STAGES.index(item.stage), -item.score, item.passage))
    assert [(item.tier, item.stage) for item in ranked] == [(item.tier, item.stage) for item in wanted]
    # Two scores that differ by less than a float can tell within a level count as equal there.
    assert [before[item.passage].score for item in ranked] == pytest.approx([item.score for item in wanted], abs=1e-12)
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for higher, lower in pairwise(ranked):
        assert (higher.level == lower.level) or higher.score > lower.score
    for item in ranked:
        why = explain(item, [], EVERYTHING)
        assert sum(why.final.values()) == pytest.approx(item.score)
        assert min(why.final.values()) >= 0
        assert why.fused == before[item.passage].score


def test_scores_of_one_level_stay_as_they_are():
    ranked = rank_by_level([candidate(0, 0.25), candidate(1, 1.0), candidate(2, 0.0)])
    assert [(item.score, item.level) for item in ranked] == [(1.0, ONE_LEVEL), (0.25, ONE_LEVEL), (0.0, ONE_LEVEL)]
    assert [item.reranking for item in ranked] == [None] * 3
    assert rank_by_level([]) == []


def test_a_score_that_left_its_range_by_rounding_is_put_back():
    ranked = rank_by_level([candidate(0, 1.0000000000000002), candidate(1, -1e-17)])
    assert [item.score for item in ranked] == [1.0, 0.0]


def test_levels_share_the_range_and_do_not_touch():
    levels = [Level(number, 3) for number in range(3)]
    assert [level.place(1.0) for level in levels] == pytest.approx([1, 2 / 3, 1 / 3])
    assert [level.place(0.0) for level in levels] == pytest.approx([2.01 / 3, 1.01 / 3, 0.01 / 3])
    assert [level.within(level.place(0.3)) for level in levels] == pytest.approx([0.3] * 3)


tiers = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2)), min_size=1, max_size=15).map(
    lambda rows: rank_by_level(candidate(number, *row) for number, row in enumerate(rows))
)


@given(tiers, st.integers(0, 15), st.integers(0, 15), st.randoms(use_true_random=False))
def test_reranking_keeps_the_tiers_apart(fused, some, few, random):
    first = {item.passage: random.uniform(-9, 9) for item in fused[:some]}
    last = {item.passage: random.uniform(-9, 9) for item in fused[: min(few, some)]}
    ranked = combine(fused, StageScores(last, first), TWO)
    places = [(item.tier, STAGES.index(item.stage)) for item in ranked]
    assert places == sorted(places)
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    fused_scores = {item.passage: item.fused for item in fused}
    for item in ranked:
        why = explain(item, [], EVERYTHING)
        assert sum(why.final.values()) == pytest.approx(item.score)
        assert why.fused == fused_scores[item.passage]


class Shortest:
    """A reranker whose logits are negative: the shorter a text, the better."""

    fingerprint = "shortest"

    def score(self, query, passages):
        return np.asarray([-len(text) for text in passages], dtype=np.float32)


def all_pages(asked, services):
    cursor, found = None, []
    while cursor or not found:
        found.append(search(dataclasses.replace(asked, cursor=cursor), services))
        cursor = found[-1].cursor
    return found


@pytest.mark.parametrize("rerank", [True, False])
def test_the_scores_of_later_pages_go_on_below_those_that_were_shown(many, rerank):
    medley = many(60)
    stages = RerankStages(AnytimeReranker(Shortest(), ScoreCache(), Pace()))
    settings = dataclasses.replace(medley.settings, candidates=12)
    services = dataclasses.replace(medley.services, settings=settings, reranker=lambda _: stages)
    asked = Query("abstracts", EVERYTHING, "aspirin", size=7, explain=True, rerank=rerank, deadline_ms=0)
    found = all_pages(asked, services)
    assert found[-1].beyond_window
    hits = [hit for page in found for hit in page.hits]
    assert len(hits) == 60
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1
    for hit in hits:
        assert sum(hit.explain.final.values()) == pytest.approx(hit.score, abs=1e-5)
        assert min(hit.explain.final.values()) >= 0


def test_the_last_stage_reads_all_that_a_page_shows(many):
    """With a page of 20, not only what the first stage passes on by its kind."""
    medley = many(40)
    collection = medley.collections.get("abstracts")
    reranking = dataclasses.replace(collection.reranking, first=FirstStage("small", 3, 0.5))
    two = dataclasses.replace(collection, reranking=reranking)
    stages = RerankStages(*(AnytimeReranker(Shortest(), ScoreCache(), Pace()) for _ in range(2)))
    settings = dataclasses.replace(medley.settings, candidates=30)
    services = dataclasses.replace(
        medley.services, settings=settings, reranker=lambda _: stages, collection=lambda _: two
    )
    for size in (1, 3, 20):
        asked = Query("abstracts", EVERYTHING, "aspirin", size=size, explain=True, deadline_ms=0)
        results = search(asked, services)
        assert {hit.explain.reranker.stage for hit in results.hits} == {"last"}
        assert results.reranked.closely == max(3, size)


def test_a_cursor_of_an_earlier_release_says_what_to_do(many):
    medley = many(30)
    asked = Query("abstracts", EVERYTHING, "aspirin", size=5)
    text = medley.search(asked).cursor
    known = cursors.verify(text, asked, medley.services.key, 60)
    old = cursors._encode(known, medley.services.key)
    assert cursors.verify(old, asked, medley.services.key, 60) == known
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cursors, "_FIELDS", 8)
        with pytest.raises(InvalidInput, match="search again from the first page"):
            cursors.verify(old, asked, medley.services.key, 60)
