"""An anchor: a share of the loss keeps a bi-encoder's vectors near those of its base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import BI, write_home  # noqa: E402

from encoders.training.architectures import scoring  # noqa: E402
from encoders.training.data.batches import load_pairs, plan_batches  # noqa: E402
from encoders.training.objectives import losses  # noqa: E402
from encoders.training.objectives.anchor import Anchor, drift  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.analysis.window_text import place_window  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("home"))


def of(home: Path, keep: float, **more: object) -> Recipe:
    return replace(BI, base=str(home / "bert"), threads=1, dropout=0.0, steps=4, keep=keep, **more)


def test_no_anchor_where_nothing_is_kept(home: Path) -> None:
    assert Anchor.load(of(home, 0.0), "cpu") is None


def test_an_untrained_model_has_not_drifted_and_a_window_in_its_passage_has(home: Path) -> None:
    recipe = of(home, 0.5, windows="late")
    anchor, ready = Anchor.load(recipe, "cpu"), load_initial(recipe)
    text = "Aspirin in adults. It helped them. Nobody fell ill."
    for texts, same in ((["aspirin", "wheeze"], True), ([place_window("Asthma", text, 19, 34)], False)):
        vectors = scoring.encode_texts(ready.model.eval(), ready.tokenizer, texts, recipe, query=False)
        found = drift(vectors, anchor.vectors(texts, query=False))
        assert (found.item() == pytest.approx(0, abs=1e-5)) == same
        assert 0 <= found.item() + 1e-5 <= 2
        assert found.requires_grad  # the base has no gradient, the vectors have
    assert not any(parameter.requires_grad for parameter in anchor.model.parameters())


def test_the_loss_is_the_objective_and_the_drift_by_their_shares(home: Path) -> None:
    recipe = of(home, 0.25)
    (batch, *_) = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    anchor, ready = Anchor.load(recipe, "cpu"), load_initial(recipe)
    ready.model.eval()
    for parameter in ready.model.parameters():
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
    plain = losses.Objective(ready.model, ready.tokenizer, recipe).loss(batch)
    found = losses.Objective(ready.model, ready.tokenizer, recipe, anchor=anchor).loss(batch)
    drifts = []
    for query, texts in (
        (True, [item.query for item in batch]),
        (False, [text for _, text in losses.list_passages(batch)]),
    ):
        vectors = scoring.encode_texts(ready.model, ready.tokenizer, texts, recipe, query)
        drifts.append(drift(vectors, anchor.vectors(texts, query)).item())
    drifted = sum(drifts) / 2
    assert drifted > 0.001
    assert found.item() == pytest.approx(0.75 * plain.item() + 0.25 * drifted / recipe.temperature, abs=1e-4)


def test_a_model_that_keeps_moves_less(home: Path, tmp_path: Path) -> None:
    def drift_after(keep: float) -> float:
        recipe = of(home, keep)
        train(recipe, home / "pairs", tmp_path / str(keep))
        ready = load_initial(replace(recipe, base=str(tmp_path / str(keep) / "checkpoint")))
        texts = ["aspirin", "wheeze at night"]
        vectors = scoring.encode_texts(ready.model.eval(), ready.tokenizer, texts, recipe, query=True)
        return drift(vectors, Anchor.load(of(home, 0.5), "cpu").vectors(texts, query=True)).item()

    assert drift_after(0.9) < drift_after(0.0) / 2
