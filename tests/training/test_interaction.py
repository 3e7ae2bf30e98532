"""The interaction head against its formula, spelled out token by token."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from encoders.training.architectures.interaction import InteractionHead  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
WIDTH = 6


def trained(seed: int = 0) -> InteractionHead:
    """A head whose every parameter counts, in float64."""
    head = InteractionHead(WIDTH).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return head


def batch(seed: int = 1) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Three inputs of nine places: [CLS] query [SEP] passage [SEP], the last two padded."""
    hidden = torch.randn(3, 9, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    query, passage = torch.zeros(3, 9, dtype=torch.bool), torch.zeros(3, 9, dtype=torch.bool)
    query[:, 1:3] = True
    for row, end in enumerate((8, 6, 5)):
        passage[row, 4:end] = True
    return hidden, query, passage


def by_hand(head: InteractionHead, hidden: np.ndarray, query: Sequence[int], passage: Sequence[int]) -> float:
    def cosine(left: np.ndarray, right: np.ndarray) -> float:
        return float(left @ right / math.sqrt(left @ left) / math.sqrt(right @ right))

    importance, scale = head.importance.detach().numpy(), float(head.scale.detach())
    weights = [math.exp(importance @ hidden[i]) for i in query]
    best = [max(cosine(hidden[i], hidden[j]) for j in passage) for i in query]
    linear = head.linear.weight.detach().numpy()[0] @ hidden[0] + head.linear.bias.item()
    return scale * sum(a * m for a, m in zip(weights, best, strict=True)) / sum(weights) + float(linear)


def test_the_head_is_its_formula() -> None:
    head, (hidden, query, passage) = trained(), batch()
    expected = [
        by_hand(head, hidden[row].numpy(), np.flatnonzero(query[row]), np.flatnonzero(passage[row])) for row in range(3)
    ]
    assert head(hidden, query, passage).tolist() == pytest.approx(expected, abs=1e-9)


def test_untrained_it_is_twenty_times_the_mean_of_the_best_cosines() -> None:
    hidden, query, passage = batch()
    unit = torch.nn.functional.normalize(hidden, dim=-1)
    best = (unit[:1, 1:3] @ unit[:1, 4:8].transpose(1, 2)).amax(dim=-1)
    assert InteractionHead(WIDTH).double()(hidden, query, passage)[0].item() == pytest.approx(20 * best.mean().item())


def test_neither_padding_nor_special_tokens_count() -> None:
    head, (hidden, query, passage) = trained(), batch()
    other = hidden.clone()
    other[~(query | passage)] = 1e3
    other[:, 0] = hidden[:, 0]
    assert torch.allclose(head(hidden, query, passage), head(other, query, passage))
    assert torch.allclose(head(hidden, query.long(), passage.long()), head(hidden, query, passage))


def test_another_place_of_the_cls_token_counts_in_the_linear_part_alone() -> None:
    head, (hidden, query, passage) = trained(), batch()
    moved = head(hidden, query, passage, cls=hidden[:, 8]) - head(hidden, query, passage)
    assert torch.allclose(moved, head.linear(hidden[:, 8] - hidden[:, 0]).squeeze(-1) - head.linear.bias)


def test_an_empty_query_or_passage_has_a_finite_score_that_padding_does_not_change() -> None:
    head, (hidden, query, passage) = trained(), batch()
    none = torch.zeros_like(query)
    assert torch.allclose(head(hidden, none, passage), head.linear(hidden[:, 0]).squeeze(-1))
    assert torch.allclose(head(hidden, query, none), -head.scale + head.linear(hidden[:, 0]).squeeze(-1))


def test_every_parameter_learns() -> None:
    head, (hidden, query, passage) = InteractionHead(WIDTH).double(), batch()
    head(hidden, query, passage).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in head.parameters())
