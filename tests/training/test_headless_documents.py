"""Texts without a heading teach a discourse model their entity alone."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")

from encoders.training.discourse.document import robust_loss  # noqa: E402

pytestmark = pytest.mark.torch


def test_a_sentence_without_a_heading_is_trained_on_its_entity_alone() -> None:
    entity, aspect = (torch.zeros(1, 2, 2, requires_grad=True) for _ in range(2))
    entities = torch.tensor([[[3.0, 4.0], [0.0, 6.0]]])
    aspects = torch.tensor([[[math.nan, math.nan], [0.0, 2.0]]])
    loss = robust_loss((entity, aspect), (entities, aspects), torch.tensor([2]))
    by_hand = [math.sqrt(1 + (5 / 4) ** 2) - 1, math.sqrt(1 + ((6 + 2) / 4) ** 2) - 1]
    assert loss.item() == pytest.approx(sum(by_hand) / 2, rel=1e-5)
    loss.backward()
    assert aspect.grad is not None
    assert aspect.grad[0, 0].tolist() == [0, 0]
    assert aspect.grad[0, 1, 1] < 0
    assert entity.grad is not None
    assert entity.grad.isfinite().all()
