"""One stage or two: the order, the levels, the time, and an explanation that adds up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access, Passage
from mappings.errors import Unavailable
from mappings.stages import FirstStage, PassageParts, Reranking
from search.pipeline.explanation import explain
from search.pipeline.results import Explanation, RerankContribution
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.candidates import ONE_LEVEL, Candidate, LegContribution, LegContributions, Level
from search.ranking.cascade import FIRST_SHARE, RerankStages, StageScores, combine, completed_share, score_window
from search.ranking.wording import Wording

EVERYBODY = Access("root", frozenset({"*"}))
ONE = Reranking("large", 50, 500, 0.6)
TWO = replace(ONE, first=FirstStage("small", 3, 0.5))


def in_words(scores):
    """The fused order of one leg alone, whose scores are normalised already."""
    names = [f"d{number:02}@1#0" for number in range(len(scores))]
    given = LegContributions({"bm25": (names, scores, scores, 1.0)})
    return [Candidate(name, name[:3], score, given) for name, score in zip(names, scores, strict=True)]


fused_lists = st.lists(st.floats(0, 1), min_size=1, max_size=15).map(
    lambda scores: in_words(sorted(scores, reverse=True))
)


@given(fused_lists, st.integers(0, 15), st.floats(0, 1), st.randoms(use_true_random=False))
def test_scored_stand_above_unscored_and_every_score_adds_up(fused, count, weight, random):
    scores = {item.passage: random.uniform(-9, 9) for item in fused[:count]}
    ranked = combine(fused, StageScores(scores), replace(ONE, weight=weight))
    assert sorted(item.passage for item in ranked) == sorted(item.passage for item in fused)
    assert [(-item.score, item.passage) for item in ranked] == sorted((-item.score, item.passage) for item in ranked)
    places = {item.passage: place for place, item in enumerate(ranked)}
    scored, rest = [places[name] for name in scores], [places[item.passage] for item in fused[count:]]
    assert not scored or not rest or max(scored) < min(rest)
    for item in ranked:
        why = explain(item, [], EVERYBODY)
        assert sum(why.final.values()) == pytest.approx(why.score)
        assert sum(leg.contribution for leg in why.legs.values()) == pytest.approx(why.fused)


def test_the_whole_explanation_of_a_reranked_hit():
    given = LegContributions({"bm25": (("a@1#0", "b@1#0", "d@1#0"), (9.0, 8.0, 7.5), (1.0, 0.7, 0.5), 1.0)})
    item = Candidate("d@1#0", "d", 0.5, given)
    (ranked,) = combine([item], StageScores({"d@1#0": 2.0}), ONE)
    assert explain(ranked, ["aspirin"], EVERYBODY) == Explanation(
        legs={"bm25": LegContribution(rank=3, score=7.5, normalised=0.5, weight=1.0)},
        fused=0.5,
        reranker=RerankContribution(logit=2.0, normalised=1.0, weight=0.6, contribution=0.6, stage="last"),
        final={"fused": pytest.approx(0.2), "reranker": 0.6},
        score=0.8,
        matched_terms=("aspirin",),
    )


@dataclass
class Model:
    """A reranker that scores by a number in the text, and whose time is a number we advance."""

    sign: float = 1.0
    now: float = 0.0
    seconds_each: float = 0.0
    read: list[str] = field(default_factory=list)
    fingerprint: str = "model"

    def score(self, query, passages):
        self.read += passages
        self.now += self.seconds_each * len(passages)
        return np.asarray([self.sign * float(text) for text in passages], dtype=np.float32)


def stage(model: Model) -> AnytimeReranker:
    return AnytimeReranker(model, ScoreCache(), Pace(), clock=lambda: model.now)


def texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def passages(read: list[str]) -> list[Passage]:
    return [Passage(f"d{number:02}", 1, 0, "", "", text) for number, text in enumerate(read)]


def test_the_last_stage_reads_the_best_of_the_first():
    window, small, large = in_words([0.5] * 8), Model(), Model(-1.0)
    scores = score_window(RerankStages(stage(large), stage(small)), TWO, Wording("q"), window, passages(texts(8)), None)
    assert sorted(small.read) == texts(8)
    assert large.read == ["7", "6", "5"]
    ranked = combine(window, scores, TWO)
    assert [item.document for item in ranked] == ["d05", "d06", "d07", "d04", "d03", "d02", "d01", "d00"]
    assert [item.level for item in ranked] == [Level(0, 2)] * 3 + [Level(1, 2)] * 5


def test_what_the_fused_order_puts_first_counts_for_the_first_stage_too():
    window, large = in_words([1.0, 0.0, 0.0, 0.0, 0.0]), Model()
    score_window(
        RerankStages(stage(large), stage(Model(-0.1))),
        TWO,
        Wording("q"),
        window,
        passages(["3", "0", "1", "2", "4"]),
        None,
    )
    assert "3" in large.read


def test_few_candidates_need_no_first_stage():
    small, large = Model(), Model()
    scores = score_window(
        RerankStages(stage(large), stage(small)), TWO, Wording("q"), in_words([0.3, 0.2]), passages(["1", "2"]), None
    )
    assert (small.read, large.read, scores.first) == ([], ["1", "2"], {})


class Counting(Model):
    """A reranker whose score is the number that ends a text."""

    def score(self, query, passages):
        self.read += passages
        self.now += self.seconds_each * len(passages)
        return np.asarray([float(text.split()[-1].rstrip(".")) for text in passages], dtype=np.float32)


IN_PARTS = replace(ONE, parts=PassageParts(4, 2))
PARTED = Passage("d00", 1, 0, "", "", "Aspirin was given 1. Nobody asked why 9. Aspirin helped them 5.", "Title")


def test_a_passage_is_worth_its_best_part_and_only_what_is_asked_for_is_read():
    large = Counting()
    scores = score_window(
        RerankStages(stage(large)), IN_PARTS, Wording("did aspirin help"), in_words([0.5]), [PARTED], None
    )
    assert large.read == ["Title Aspirin was given 1.", "Title Aspirin helped them 5."]
    assert scores.last == {"d00@1#0": 5.0}


def test_the_first_stage_reads_whole_passages():
    small, large = Counting(), Counting()
    reranking = replace(IN_PARTS, first=FirstStage("small", 1, 0.5))
    window = in_words([0.6, 0.5])
    score_window(
        RerankStages(stage(large), stage(small)),
        reranking,
        Wording("aspirin"),
        window,
        [PARTED, *passages(["x 0"])],
        None,
    )
    assert small.read == [PARTED.model_text, "x 0"]
    assert large.read == ["Title Aspirin was given 1.", "Title Aspirin helped them 5."]


def test_a_passage_of_which_a_part_was_not_reached_has_no_score():
    clock = Counting(seconds_each=1.0)
    window = in_words([0.6, 0.5])
    late = replace(PARTED, document="d01", text=PARTED.text.replace("Nobody", "Somebody"))
    anytime = stage(clock)
    anytime.pace.learn(1, 1.0 / len("aspirin Title Aspirin helped them 5."))
    scores = score_window(RerankStages(anytime), IN_PARTS, Wording("aspirin"), window, [PARTED, late], 3.5)
    assert len(clock.read) == 3
    assert set(scores.last) == {"d00@1#0"}


@pytest.mark.parametrize(
    ("text", "context", "score"),
    [
        ("Aspirin helped again 1. Aspirin helped them 5.", "Title", 5.0),
        ("Aspirin helped again 1. Aspirin helped them 5. Who knows?", "Title", 5.0),
        ("Aspirin helped again 1. No Aspirin helped them 5. Aspirin helped them 5.", "Title", 5.0),
        ("Aspirin helped again 1. Aspirin helped them 5.", "Another title", 1.0),
        ("Aspirin helped again 1. No Aspirin helped them 5.", "Title", 1.0),
        ("Aspirin helped again 1. Aspirin helped them 5.5 times.", "Title", 1.0),
    ],
)
def test_the_same_sentences_have_the_same_score_wherever_they_were_read(text: str, context: str, score: float) -> None:
    first, overlapping = replace(PARTED, text="Aspirin helped them 5."), replace(PARTED, document="d01", text=text)
    large, window = Counting(), in_words([0.6, 0.5])
    given = [first, replace(overlapping, context=context)]
    one_part = replace(ONE, parts=PassageParts(4, 1))
    found = score_window(RerankStages(stage(large)), one_part, Wording("aspirin helped"), window, given, None)
    assert large.read == ["Title Aspirin helped them 5.", f"{context} Aspirin helped again 1."]
    assert found.last == {"d00@1#0": 5.0, "d01@1#0": score}


def test_a_passage_of_a_title_alone_gives_no_other_its_score() -> None:
    titled = replace(PARTED, text="", context="Title 9")
    given, window = [titled, replace(titled, document="d01", text="Aspirin hurts 1.")], in_words([0.6, 0.5])
    found = score_window(RerankStages(stage(Counting())), IN_PARTS, Wording("aspirin"), window, given, None)
    assert found.last == {"d00@1#0": 9.0, "d01@1#0": 1.0}


class Broken:
    """A model server that is away."""

    fingerprint = "broken"

    def score(self, query, passages):
        raise Unavailable("no model server answers", field="inference")


def test_without_its_first_stage_the_last_one_reads_alone():
    large = Model()
    broken = AnytimeReranker(Broken(), ScoreCache(), Pace())
    scores = score_window(
        RerankStages(stage(large), broken), TWO, Wording("q"), in_words([0.5] * 8), passages(texts(8)), None
    )
    assert (sorted(large.read), scores.first, scores.missing) == (texts(8), {}, "no model server answers")
    with pytest.raises(Unavailable):
        score_window(
            RerankStages(broken, stage(Model())), TWO, Wording("q"), in_words([0.5] * 8), passages(texts(8)), None
        )


def test_the_first_stage_leaves_time_to_the_last():
    clock = Model(seconds_each=1e-4)
    small, large = stage(clock), AnytimeReranker(Model(), ScoreCache(), Pace(), clock=lambda: clock.now)
    window = in_words([1 - number / 1e4 for number in range(2000)])
    scores = score_window(RerankStages(large, small), TWO, Wording("q"), window, passages(texts(2000)), 0.1)
    assert 0 < len(scores.first) < 2000
    assert clock.now <= 0.1 * FIRST_SHARE + 0.01
    assert len(scores.last) == 3


@given(fused_lists, st.integers(0, 15), st.integers(0, 15), st.floats(0, 1), st.randoms(use_true_random=False))
def test_each_stage_stands_above_the_one_before_and_every_score_adds_up(fused, some, few, weight, random):
    first = {item.passage: random.uniform(-9, 9) for item in fused[:some]}
    last = {item.passage: random.uniform(-9, 9) for item in fused[: min(few, some)]}
    reranking = replace(ONE, weight=weight, first=FirstStage("small", 5, weight))
    ranked = combine(fused, StageScores(last, first), reranking)
    assert sorted(item.passage for item in ranked) == sorted(item.passage for item in fused)
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    for lower, higher in zip(ranked[1:], ranked, strict=False):
        assert lower.level.number >= higher.level.number
    for item in ranked:
        why = explain(item, [], EVERYBODY)
        assert sum(why.final.values()) == pytest.approx(why.score)


def test_a_first_stage_alone_is_named():
    given = LegContributions({"bm25": (("a@1#0",), (9.0,), (1.0,), 1.0)})
    (ranked,) = combine([Candidate("a@1#0", "a", 1.0, given)], StageScores(first={"a@1#0": 2.0}), TWO)
    assert (ranked.stage, ranked.level) == ("first", ONE_LEVEL)
    assert explain(ranked, [], EVERYBODY).reranker.stage == "first"


def test_a_stage_that_was_cut_short_counts_less():
    assert (
        completed_share(50, 50)
        == completed_share(3, 3)
        == completed_share(1, 1)
        == completed_share(0, 50)
        == completed_share(3, 0)
        == 1
    )
    assert completed_share(1, 50) == pytest.approx(0, abs=1e-9)
    assert completed_share(2, 50) == pytest.approx(0.26, abs=0.01)  # expected ranges of normal scores: 1.13 and 4.50
    assert [completed_share(count, 50) for count in range(1, 51)] == sorted(
        completed_share(count, 50) for count in range(1, 51)
    )
    window = in_words([1.0, 0.9, 0.8, 0.7])
    logits = {"d00@1#0": -1.0, "d01@1#0": 4.0}
    whole = combine(window, StageScores(logits, wanted=(2, 0)), ONE)
    cut = combine(window, StageScores(logits, wanted=(50, 0)), ONE)
    assert [item.document for item in whole] == ["d01", "d00", "d02", "d03"]
    assert cut[0].reranking.weight == pytest.approx(0.6 * completed_share(2, 50))
    alone = combine(window, StageScores({"d00@1#0": -9.0}, wanted=(50, 0)), ONE)
    assert [item.score for item in alone] == pytest.approx([1.0] + [(0.01 + 0.99 * own) / 2 for own in (0.9, 0.8, 0.7)])


def test_a_score_from_before_lifts_nothing_past_what_was_not_reached():
    window, model = in_words([1.0, 0.9, 0.8, 0.7, 0.6]), Model(seconds_each=1.0)
    stages = RerankStages(stage(model))
    score_window(
        stages, ONE, Wording("q"), window[3:], passages(texts(5))[3:], None
    )  # another search, which is remembered
    scores = score_window(stages, ONE, Wording("q"), window, passages(texts(5)), model.now)
    assert scores.last == {}
    scores = score_window(stages, ONE, Wording("q"), window, passages(texts(5)), model.now + 2.5)
    assert list(scores.last) == [item.passage for item in window[: len(scores.last)]]


def test_what_was_wanted_is_told_with_the_scores():
    window, small, large = in_words([0.5] * 8), Model(seconds_each=1.0), Model(-1.0, seconds_each=1.0)
    scores = score_window(RerankStages(stage(large), stage(small)), TWO, Wording("q"), window, passages(texts(8)), None)
    assert scores.wanted == (3, 8)
    scores = score_window(RerankStages(stage(large)), ONE, Wording("q"), window, passages(texts(8)), None)
    assert scores.wanted == (8, 8)


def test_the_whole_explanation_of_a_hit_that_was_not_passed_on():
    given = LegContributions({"bm25": (("a@1#0", "b@1#0"), (9.0, 8.0), (1.0, 0.5), 1.0)})
    window = [Candidate("a@1#0", "a", 1.0, given), Candidate("b@1#0", "b", 0.5, given)]
    _, ranked = combine(window, StageScores({"a@1#0": 3.0}, {"a@1#0": 2.0, "b@1#0": 1.0}), TWO)
    assert explain(ranked, [], EVERYBODY) == Explanation(
        legs={"bm25": LegContribution(rank=2, score=8.0, normalised=0.5, weight=1.0)},
        fused=0.5,
        reranker=RerankContribution(logit=1.0, normalised=0.0, weight=0.495 * 0.5, contribution=0.0, stage="first"),
        final={"fused": pytest.approx(0.25 * 0.495), "reranker": 0.0, "level": 0.005},
        score=pytest.approx(0.005 + 0.25 * 0.495),
        matched_terms=(),
    )
