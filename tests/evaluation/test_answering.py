"""Claims asked with their answers and without: the figures by hand, the fit, and the product's own answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from claims_home import claims_settings
from tiny import write_artifact

from evaluation.answering import AskedTwice, ask_twice, auroc, calibration_error, reliability
from evaluation.models import open_session
from evaluation.suites.nothing_here.suite import rows
from evaluation.task import Corpus, Question, Task
from evaluation.tuning.answers import describe, fit, fitted, toml
from mappings.collection import load
from mappings.documents import Passage
from mappings.errors import InvalidInput
from mappings.stages import AnswerWeights
from mappings.stances import StanceReading
from search.bootstrap import Medley
from search.pipeline.reading import with_probabilities
from search.pipeline.results import Hit, HitStance
from search.ranking.answers import AnswerSigns, hit_probability, page_probability, page_signs, signs_of
from search.ranking.candidates import NO_CONTRIBUTIONS, ONE_LEVEL, Candidate, RerankScore
from search.settings import Settings


def test_auroc_counts_pairs_and_ties_by_half() -> None:
    assert auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == pytest.approx(3.5 / 4)
    assert auroc(np.ones(3), np.ones(4)) == 0.5


def test_the_calibration_error_is_the_mean_distance_by_count() -> None:
    told, happened = np.array([0.05, 0.05, 0.95, 0.95]), np.array([0.0, 0.0, 1.0, 0.0])
    assert [(round(item.mean, 2), item.share, item.count) for item in reliability(told, happened)] == [
        (0.05, 0.0, 2),
        (0.95, 0.5, 2),
    ]
    assert calibration_error(told, happened) == pytest.approx((2 * 0.05 + 2 * 0.45) / 4)
    assert calibration_error(np.array([1.0]), np.array([1.0])) == 0.0


def test_a_fit_tells_what_was_so() -> None:
    draw = np.random.default_rng(3)
    signs = draw.normal(size=4_000)
    happened = draw.random(4_000) < 1 / (1 + np.exp(-(0.5 + 2 * signs)))
    found = fit([({"logit": float(sign)}, bool(was)) for sign, was in zip(signs, happened, strict=True)])
    assert found == pytest.approx({"bias": 0.5, "logit": 2.0}, abs=0.15)
    assert fit([]) == {}


def test_a_sign_that_never_changes_has_no_say() -> None:
    found = fit([({"logit": float(n), "cosine": 0.5}, n > 4) for n in range(10)])
    assert abs(found["cosine"]) < 1e-6


def test_signs_compare_a_hit_with_the_best_others() -> None:
    ranked = [candidate(str(n), logit) for n, logit in enumerate((4.0, 2.0, 1.0, 0.0))] + [candidate("9", None)]
    passages = [Passage(item.passage, 1, 0, "", "", "Aspirin lowers pain.") for item in ranked]
    reading = StanceReading((0.6, 0.2, 0.2), (0.0,))
    found = signs_of(ranked, passages, [reading, None, None, None, None], ranked, "aspirin lowers fever")
    assert found[0] == AnswerSigns(4.0, pytest.approx(3.0), 0.0, pytest.approx(2 / 3), pytest.approx(np.log(4)))
    assert (found[1].lead if found[1] else None) == pytest.approx(2 - 5 / 3)
    assert found[1] is not None
    assert found[1].decided is None
    assert found[4] is None  # no reranker read it


def candidate(name: str, logit: float | None) -> Candidate:
    read = None if logit is None else RerankScore(0.5, logit, 0.5, 0.5, "last")
    return Candidate(name, name, 0.5, legs=NO_CONTRIBUTIONS)._replace(reranking=read, level=ONE_LEVEL)


def test_probabilities_are_logistic_and_need_signs() -> None:
    weights = AnswerWeights({"bias": 0.0, "decided": 1.0}, {"bias": -1.0}, {"best": 1.0, "next": -1.0})
    read, unread = AnswerSigns(0, 0, 0, 0, 0.0), AnswerSigns(0, 0, 0, 0, None)
    assert hit_probability(read, weights) == 0.5
    assert hit_probability(unread, weights) == pytest.approx(1 / (1 + np.e))
    assert hit_probability(None, weights) is None
    assert page_probability([0.5, None, 0.5], weights) == 0.5
    assert page_probability([], weights) is None
    assert page_signs([0.5]) == {"best": 0.0, "next": 0.0}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[AskedTwice]:
    """Two claims over the portal's abstracts, with tiny models."""
    folder = tmp_path_factory.mktemp("asked")
    settings = replace(claims_settings(folder), reranker="tiny-cross")
    write_artifact(folder / "models/tiny-cross", "cross-encoder")
    questions = (Question("1", "does aspirin reduce strokes in adults?"), Question("2", "do statins lower mortality?"))
    judgements = {"1": {"pm/2": 1}, "2": {"pm/1": 1, "pm/4": 0}}
    task = Task("asked", Corpus("abstracts", "abstracts", lambda: ()), questions, judgements, ("RR",))
    return list(ask_twice(open_session(Medley.open(settings), task, rerank=True)))


def test_answers_are_taken_out_and_nothing_else(asked: list[AskedTwice]) -> None:
    for item, answer in zip(asked, ("pm/2", "pm/1"), strict=True):
        held, taken_out = ([hit.document for hit in page.hits] for page in item.pages)
        assert item.answers == {answer}
        assert answer in held
        assert sorted([*taken_out, answer]) == sorted(held)
        assert all(hit.signs and hit.signs.decided is not None for page in item.pages for hit in page.hits)
        assert item.held.probability is None  # the kind has no weights


def test_weights_are_fitted_and_written_as_a_table(asked: list[AskedTwice]) -> None:
    weights = fitted(asked)
    assert list(weights.hit) == ["bias", "logit", "lead", "cosine", "coverage", "decided"]
    assert list(weights.unread) == ["bias", "logit", "lead", "cosine", "coverage"]
    assert list(weights.page) == ["bias", "best", "next"]
    report = describe(asked * 5, [])
    assert report["queries"] == 10
    assert 0 <= report["AUROC"]["low"] <= report["AUROC"]["value"] <= report["AUROC"]["high"] <= 1
    assert toml(report).splitlines()[1].startswith("hit = { bias = ")


def test_the_rows_need_probabilities(asked: list[AskedTwice]) -> None:
    with pytest.raises(InvalidInput, match="medley tune answers"):
        rows({"asked": asked}, variants=True)
    told = [
        replace(item, held=replace(item.held, probability=0.9), taken_out=replace(item.taken_out, probability=0.2))
        for item in asked
    ]
    found = {row["system"]: row["measures"] for row in rows({"asked": told}, variants=True)}
    assert list(found) == ["reranked", "reranked, asked", "logit", "coverage"]
    assert found["reranked"]["AUROC"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["reranked"]["ECE"]["value"] == pytest.approx(0.15)
    assert set(found["logit"]) == {"AUROC"}


def test_a_kind_has_numbers_for_known_signs_only() -> None:
    with pytest.raises(ValueError, match=r"a key of answers\.hit must be one of bias, logit"):
        AnswerWeights({"colour": 1.0}, {}, {})
    with pytest.raises(ValueError, match=r"answers\.page\.best must be a number"):
        AnswerWeights({}, {}, {"best": "much"})  # type: ignore[dict-item]


def test_a_hit_that_speaks_of_something_else_says_neither() -> None:
    hit = Hit("a", "a#0", 1.0, "", "", "Text.", stance=HitStance("refutes", 0.9), signs=AnswerSigns(0, 0, 0, 0, 2.0))
    weights = AnswerWeights({"bias": -4.0}, {}, {"best": 1.0})
    collection = replace(load("abstracts"), answers=weights)
    (weak,), _ = with_probabilities([hit], collection, Settings())
    assert (weak.probability, weak.stance) == (
        pytest.approx(0.018, abs=1e-3),
        HitStance("neither", pytest.approx(0.982, abs=1e-3), pytest.approx(0.018, abs=1e-3)),
    )
    (strong,), page = with_probabilities(
        [hit], replace(collection, answers=replace(weights, hit={"bias": -2.0})), Settings()
    )
    assert strong.stance == HitStance("refutes", 0.9, pytest.approx(0.119, abs=1e-3))
    assert not strong.stance.is_sure  # it is hardly about the query
    (surest,), _ = with_probabilities(
        [hit], replace(collection, answers=replace(weights, hit={"bias": -1.0})), Settings()
    )
    assert surest.stance is not None
    assert surest.stance.is_sure
    assert page == pytest.approx(strong.probability)
    assert with_probabilities([hit], collection, Settings(reranker="other")) == ((hit,), None)
