"""Texts without a heading teach a discourse model their entity alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")

from encoders.discourse.encoder import DiscourseEncoder  # noqa: E402
from encoders.training.discourse.document import robust_loss  # noqa: E402
from encoders.training.runs.discourse import train_discourse  # noqa: E402
from tests.training.discourse_corpora import ASPECTS, ENTITIES, RECIPE, write_articles, write_words  # noqa: E402

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


@pytest.mark.slow
def test_a_model_that_also_reads_explanations_tells_aspects_as_before(tmp_path: Path) -> None:
    write_articles(tmp_path)
    write_words(tmp_path / "words.npz")
    documents = ("health", "definitions")
    recipe = replace(RECIPE, words=str(tmp_path / "words.npz"), documents=documents, headless=True)
    report = train_discourse(recipe, tmp_path, tmp_path / "run")
    assert report["held_out"]["queries"] % len(ASPECTS) == 0  # explanations have no heading to be asked by
    encoder = DiscourseEncoder.open(tmp_path / "run" / "model")
    read = encoder.encode_documents([[text.format(word) for text in ASPECTS.values()] for word in ENTITIES.values()])
    vectors = np.concatenate([item.passage_vectors(len(ASPECTS)) for item in read])
    assert np.isfinite(vectors).all()
    keys = [(name, aspect) for name in ENTITIES for aspect in ASPECTS]
    first = [keys[int(np.argmax(vectors @ encoder.encode_query(*key)))][1] == key[1] for key in keys]
    assert np.mean(first) >= 0.8
