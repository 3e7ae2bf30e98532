"""Each objective against its formula, rendered in numpy sum by sum."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")

from encoders.training.architectures.cross_encoder import to_logit  # noqa: E402
from encoders.training.architectures.poly_encoder import PolyScorer, TokenScorer  # noqa: E402
from encoders.training.objectives import formulas  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
DRAW = np.random.default_rng(3)
SCORES = DRAW.normal(size=(5, 8)) * 3
KNOWN = (DRAW.random((5, 8)) < 0.3) & ~np.eye(5, 8, dtype=bool)
CANDIDATES, TEACHER = DRAW.normal(size=(4, 6)) * 2, DRAW.normal(size=(4, 6)) * 4
LOGITS = DRAW.normal(size=(4, 6, 2))
COSINES = np.tanh(SCORES)


def softmax(values: np.ndarray) -> np.ndarray:
    return np.exp(values) / np.exp(values).sum()


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values)


def close(found: torch.Tensor, expected: float) -> None:
    assert found.dtype == torch.float64
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_whole_batch() -> None:
    close(formulas.whole_batch(tensor(SCORES)), np.mean([-math.log(softmax(SCORES[i])[i]) for i in range(5)]))


def test_contrastive_leaves_other_known_answers_out_of_the_sum() -> None:
    terms = []
    for i in range(5):
        total = sum(math.exp(SCORES[i, j]) for j in range(8) if not KNOWN[i, j])
        terms.append(-math.log(math.exp(SCORES[i, i]) / total))
    close(formulas.contrastive(tensor(SCORES), tensor(KNOWN)), np.mean(terms))


@pytest.mark.parametrize("margin", [0.1, 0.5])
def test_triplet_takes_the_hardest_unmatched_of_the_mega_batch(margin: float) -> None:
    terms = []
    for i in range(5):
        hardest = max(COSINES[i, j] for j in range(8) if j != i and not KNOWN[i, j])
        terms.append(max((1 - COSINES[i, i]) - (1 - hardest) + margin, 0))
    close(formulas.triplet(tensor(COSINES), tensor(KNOWN), margin), np.mean(terms))


def test_a_query_that_everything_matches_costs_nothing() -> None:
    known = ~np.eye(5, 8, dtype=bool)
    scores = tensor(COSINES).requires_grad_()
    loss = formulas.triplet(scores, tensor(known), 0.5)
    close(loss, 0.0)
    loss.backward()
    assert torch.equal(scores.grad, torch.zeros_like(scores))


def test_triplets_from_both_sides_and_a_share_of_softmax() -> None:
    margin, temperature, share = 0.5, 0.1, 0.3
    count = len(COSINES)
    hard, soft = [], []
    for i in range(count):
        passage = max(COSINES[i, j] for j in range(8) if j != i and not KNOWN[i, j])
        query = max(COSINES[j, i] for j in range(count) if j != i and not KNOWN[j, i])
        hard.append(sum(max(wrong - COSINES[i, i] + margin, 0) for wrong in (passage, query)))
        rows = [COSINES[i, j] / temperature for j in range(8) if j == i or not KNOWN[i, j]]
        columns = [COSINES[j, i] / temperature for j in range(count) if j == i or not KNOWN[j, i]]
        own = COSINES[i, i] / temperature
        soft.append(sum(np.log(np.exp(values).sum()) - own for values in (rows, columns)))
    found = formulas.triplet_both(tensor(COSINES), tensor(KNOWN), margin, temperature, share)
    close(found, np.mean(hard) + share * np.mean(soft))


def test_listwise() -> None:
    close(formulas.listwise(tensor(CANDIDATES)), np.mean([-math.log(softmax(row)[0]) for row in CANDIDATES]))


def test_pointwise() -> None:
    terms = []
    for row in CANDIDATES:
        for place, score in enumerate(row):
            probability = 1 / (1 + math.exp(-score))
            terms.append(-math.log(probability if place == 0 else 1 - probability))
    close(formulas.pointwise(tensor(CANDIDATES)), np.mean(terms))


def test_two_class() -> None:
    terms = [-math.log(softmax(LOGITS[i, place])[1 if place == 0 else 0]) for i in range(4) for place in range(6)]
    close(formulas.two_class(tensor(LOGITS)), np.mean(terms))


def test_two_class_pairs() -> None:
    flat, right = LOGITS.reshape(-1, 2), np.arange(24) % 5 == 0
    terms = [-math.log(softmax(row)[int(answer)]) for row, answer in zip(flat, right, strict=True)]
    close(formulas.two_class_pairs(tensor(flat), torch.tensor(right)), np.mean(terms))


def test_the_one_logit_of_two_classes_orders_as_their_softmax_probability_does() -> None:
    flat = LOGITS.reshape(-1, 2)
    probabilities = np.array([softmax(row)[1] for row in flat])
    found = to_logit(tensor(flat)).numpy()
    assert found == pytest.approx(np.log(probabilities / (1 - probabilities)))
    close(formulas.two_class(tensor(LOGITS)), formulas.pointwise(tensor(found.reshape(4, 6))).item())


def test_kl() -> None:
    terms = []
    for student, teacher in zip(CANDIDATES, TEACHER, strict=True):
        wanted, got = softmax(teacher), softmax(student)
        terms.append(sum(p * math.log(p / q) for p, q in zip(wanted, got, strict=True)))
    close(formulas.kl(tensor(CANDIDATES), tensor(TEACHER)), np.mean(terms))
    close(formulas.kl(tensor(TEACHER), tensor(TEACHER + 7)), 0.0)


def test_margin_mse() -> None:
    terms = [
        ((student[0] - student[place]) - (teacher[0] - teacher[place])) ** 2
        for student, teacher in zip(CANDIDATES, TEACHER, strict=True)
        for place in range(1, 6)
    ]
    close(formulas.margin_mse(tensor(CANDIDATES), tensor(TEACHER)), np.mean(terms))


@pytest.mark.parametrize("sharpness", [1.0, 20.0])
def test_the_poly_encoders_score(sharpness: float) -> None:
    queries, tokens, weight = DRAW.normal(size=(2, 4)), DRAW.normal(size=(3, 5, 4)), DRAW.normal(size=(4, 4))
    lengths = (5, 3, 1)
    expected = np.empty((2, 3))
    for i, query in enumerate(queries):
        for m, length in enumerate(lengths):
            own = tokens[m, :length]
            y = softmax(own @ query * sharpness) @ own
            expected[i, m] = np.maximum(weight @ y, 0) @ query
    scorer = PolyScorer(4, sharpness).double()
    scorer.weight.data.copy_(tensor(weight))
    mask = torch.tensor([[int(place < length) for place in range(5)] for length in lengths])
    assert np.abs(scorer(tensor(queries), tensor(tokens), mask).detach().numpy() - expected).max() < 1e-6


@pytest.mark.parametrize("sharpness", [1.0, 20.0])
def test_the_score_of_tokens_that_attend(sharpness: float) -> None:
    queries, tokens, weight = DRAW.normal(size=(2, 3, 4)), DRAW.normal(size=(3, 5, 4)), DRAW.normal(size=(4, 4))
    importance, asked, lengths = DRAW.normal(size=4), (3, 2), (5, 3, 1)
    expected = np.empty((2, 3))
    for i, query in enumerate(queries):
        shares = softmax(query[: asked[i]] @ importance)
        for m, length in enumerate(lengths):
            own = tokens[m, :length]
            ys = [softmax(own @ token * sharpness) @ own for token in query[: asked[i]]]
            expected[i, m] = sum(
                share * token @ weight @ y for share, token, y in zip(shares, query[: asked[i]], ys, strict=True)
            )
    scorer = TokenScorer(4, sharpness).double()
    scorer.weight.data.copy_(tensor(weight))
    scorer.importance.data.copy_(tensor(importance))
    masks = [
        torch.tensor([[int(place < length) for place in range(most)] for length in found])
        for found, most in ((asked, 3), (lengths, 5))
    ]
    found = scorer(tensor(queries), masks[0], tensor(tokens), masks[1]).detach().numpy()
    assert np.abs(found - expected).max() < 1e-6


def test_an_untrained_token_scorer_is_a_soft_maxsim() -> None:
    unit = torch.nn.functional.normalize(tensor(DRAW.normal(size=(2, 6, 4))), dim=-1)
    mask = torch.ones(1, 6)
    found = TokenScorer(4, 1e4).double()(unit[:1], mask, unit[1:], mask)
    assert found.item() == pytest.approx((unit[0] @ unit[1].T).amax(dim=1).mean().item(), abs=1e-6)
