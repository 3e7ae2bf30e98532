import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.errors import InvalidInput
from mappings.stages import Fusion
from search.query import Ranking, Scored, in_order
from search.ranking.fusion import from_floor, fuse, min_max, z_score

WEIGHTED = Fusion("weighted", "minmax", {"bm25": 0.25, "dense": 0.75})

rankings = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.floats(-1e6, 1e6, allow_nan=False), max_size=12
).map(lambda scores: Ranking(Scored(f"{name}@1#0", name, score) for name, score in scores.items()))


def ranking(**scores: float) -> Ranking:
    return Ranking(Scored(f"{name}@1#0", name, score) for name, score in scores.items())


def test_a_weighted_sum_of_min_max_scores():
    fused = fuse({"bm25": ranking(a=12.0, b=7.0, c=2.0), "dense": ranking(b=0.9, c=0.8, d=0.7)}, WEIGHTED)
    assert [(item.document, round(item.score, 6)) for item in fused] == [
        ("b", 0.875),
        ("c", 0.375),
        ("a", 0.25),
        ("d", 0.0),
    ]
    part = fused[0].contributions["bm25"]
    assert (part.rank, part.score, part.normalised, part.weight, part.contribution) == (2, 7.0, 0.5, 0.25, 0.125)
    assert [set(item.contributions) for item in fused] == [{"bm25", "dense"}, {"bm25", "dense"}, {"bm25"}, {"dense"}]


def test_counted_from_a_floor_a_score_is_its_share_of_the_best():
    counted = Fusion("weighted", "floor", {"bm25": 0.25, "dense": 0.75})
    fused = fuse({"bm25": ranking(a=12.0, b=9.0), "dense": ranking(b=0.8, a=0.6, c=-0.1)}, counted)
    assert [(item.document, round(item.score, 6)) for item in fused] == [("b", 0.9375), ("a", 0.8125), ("c", 0.0)]


def test_reciprocal_ranks_forget_scores():
    fused = fuse(
        {"bm25": ranking(a=900.0, b=1.0), "dense": ranking(b=0.9, a=0.1)},
        Fusion("rrf", "minmax", {"bm25": 1, "dense": 1}),
    )
    assert [item.document for item in fused] == ["a", "b"]
    assert fused[0].score == fused[1].score == pytest.approx((1 + 61 / 62) / 2)


def test_a_missing_leg_leaves_scores_between_0_and_1():
    fused = fuse({"bm25": ranking(a=3.0, b=1.0)}, WEIGHTED)
    assert [(item.document, item.score) for item in fused] == [("a", 1.0), ("b", 0.0)]


def test_a_leg_without_weight_is_left_out_unless_it_is_all_there_is():
    only_dense = Fusion("weighted", "minmax", {"bm25": 0.0, "dense": 1.0})
    both = fuse({"bm25": ranking(a=3.0), "dense": ranking(b=0.9)}, only_dense)
    assert [item.document for item in both] == ["b"]
    assert [item.document for item in fuse({"bm25": ranking(a=3.0)}, only_dense)] == ["a"]


def test_an_unknown_normalisation_is_named():
    with pytest.raises(InvalidInput, match="unknown normalisation 'softmax'; known are floor, minmax, zscore"):
        fuse({"bm25": ranking(a=1.0)}, Fusion("weighted", "softmax", {"bm25": 1.0}))


def test_no_legs_no_hits():
    assert fuse({}, WEIGHTED) == []
    assert fuse({"bm25": ranking(), "dense": ranking()}, WEIGHTED) == []


@given(rankings, rankings, st.sampled_from(["floor", "minmax", "zscore", "rrf"]), st.floats(0.01, 0.99))
def test_every_passage_once_in_the_one_order_and_it_adds_up(bm25, dense, how, weight):
    method = Fusion(
        "rrf" if how == "rrf" else "weighted", "minmax" if how == "rrf" else how, {"bm25": weight, "dense": 1 - weight}
    )
    fused = fuse({"bm25": bm25, "dense": dense}, method)
    assert {item.passage for item in fused} == {item.passage for item in (*bm25, *dense)}
    assert len({item.passage for item in fused}) == len(fused)
    assert [(-item.score, item.passage) for item in fused] == sorted((-item.score, item.passage) for item in fused)
    for item in fused:
        assert item.score == pytest.approx(sum(part.contribution for part in item.contributions.values()))
        assert -1e-9 <= item.score <= 1 + 1e-9


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.just(""), st.sampled_from([0.5, 0.25, 1.0, -1.0])), max_size=12)
)
def test_the_one_order_is_score_then_passage(items):
    assert in_order(items) == sorted(items, key=lambda item: (-item[2], item[0]))


@given(rankings.map(lambda leg: Ranking(Scored(item.passage, item.document, round(item.score)) for item in leg)))
def test_one_leg_alone_keeps_its_order(leg):
    fused = fuse({"bm25": leg}, Fusion("weighted", "minmax", {"bm25": 1.0}))
    assert [item.passage for item in fused] == [item.passage for item in leg]


@given(st.lists(st.floats(-1e300, 1e300, allow_nan=False), max_size=20))
def test_normalised_scores_lie_between_0_and_1_and_keep_order(scores):
    for normalised in (min_max(scores), from_floor(scores), z_score([score / 1e200 for score in scores])):
        assert all(0 <= value <= 1 for value in normalised)
        by_score = [value for _, value in sorted(zip(scores, normalised, strict=True))]
        assert by_score == sorted(by_score)
