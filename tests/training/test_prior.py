"""A prior: the first stage's cosines stand in a cross-encoder's loss, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")
pytest.importorskip("onnx", reason="the train extra is not installed")

from tiny_models import BI, CROSS, score_candidates, train_model, write_home  # noqa: E402

from encoders.artifact import Artifact  # noqa: E402
from encoders.runtime import BiEncoder  # noqa: E402
from encoders.training.data.batches import load_pairs, plan_batches  # noqa: E402
from encoders.training.data.frozen_models import PRIOR, WINDOW_WORDS  # noqa: E402
from encoders.training.objectives import formulas, losses  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.analysis.passages import windows  # noqa: E402
from mappings.documents import Passage  # noqa: E402
from mappings.errors import Conflict, InvalidInput, ModelError  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, pairs, and a bi-encoder trained on them."""
    return train_model(write_home(tmp_path_factory.mktemp("home")), replace(BI, max_length=72), "prior")


def of(home: Path, recipe: Recipe = CROSS) -> Recipe:
    return replace(recipe, base=str(home / "bert"), prior=str(home / "prior"), threads=1, dropout=0.0, steps=2)


def test_a_candidate_is_as_near_as_the_nearest_of_its_windows(home: Path, tmp_path: Path) -> None:
    recipe = of(home)
    batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    sentences = [f"Part {number} of this text has words enough to fill a window." for number in range(12)]
    first = batches[0][0]
    batches[0][0] = replace(first, texts=(" ".join(sentences), *first.texts[1:]))
    prior = PRIOR.score(recipe, batches, tmp_path, lambda entry: None)
    model = BiEncoder(Artifact.open(home / "prior"))
    for item, found in zip(batches[0], prior.scores(batches[0]).numpy(), strict=True):
        (query,) = model.encode_queries([item.query])
        whole = np.array([model.encode_passages([text])[0] @ query for text in item.texts])
        assert np.allclose(found[1:], whole[1:], atol=1e-5)
        if item is not batches[0][0]:
            assert np.allclose(found, whole, atol=1e-5)
    cut = windows(Passage("", 0, 0, "", "", " ".join(sentences)), WINDOW_WORDS)
    nearest = (model.encode_passages(cut) @ model.encode_queries([first.query])[0]).max()
    assert len(cut) > 1
    assert prior.scores(batches[0])[0, 0].item() == pytest.approx(nearest, abs=1e-5)


@pytest.mark.parametrize("objective", ["listwise", "pointwise"])
def test_the_objective_judges_the_sum(objective: str, home: Path, tmp_path: Path) -> None:
    recipe = replace(of(home), objective=objective, prior_scale=7.0)
    (batch, *_) = batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    prior = PRIOR.score(recipe, batches, tmp_path, lambda entry: None)
    torch.manual_seed(0)
    ready = load_initial(recipe)
    ready.model.eval()
    with torch.inference_mode():
        found = losses.Objective(ready.model, ready.tokenizer, recipe, None, prior).loss(batch).item()
        alone = losses.Objective(ready.model, ready.tokenizer, recipe).loss(batch).item()
    own, formula = score_candidates(ready, batch, recipe), getattr(formulas, objective)
    assert found == pytest.approx(formula(own + 7.0 * prior.scores(batch)).item(), abs=1e-5)
    assert alone == pytest.approx(formula(own).item(), abs=1e-5)
    assert found != pytest.approx(alone, abs=1e-4)


def test_a_run_with_a_prior_trains_and_goes_on_with_that_prior_alone(home: Path, tmp_path: Path) -> None:
    recipe = of(home)
    train(recipe, home / "pairs", tmp_path / "with")
    train(replace(recipe, prior=""), home / "pairs", tmp_path / "without")
    weights = [
        torch.load(tmp_path / name / "state.pt", weights_only=False, map_location="cpu")["model"]
        for name in ("with", "without")
    ]
    assert any(not torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    assert [path.name.startswith("prior-") for path in (tmp_path / "with").glob("*.bin")] == [True]
    with pytest.raises(Conflict, match="prior"):
        train(replace(recipe, prior=""), home / "pairs", tmp_path / "with")


def test_a_prior_that_cannot_rank_is_named(home: Path, tmp_path: Path) -> None:
    for prior, message in (
        (str(home / "bert"), "is not a model directory; export it first"),
        ("medley-crossencoder", "'medley-crossencoder' is a cross-encoder; it must be a bi-encoder"),
    ):
        with pytest.raises(ModelError, match=message) as caught:
            train(replace(of(home), prior=prior), home / "pairs", tmp_path)
        assert caught.value.field == "prior"


def test_a_prior_needs_one_score_a_candidate() -> None:
    for recipe in (replace(CROSS, head="cls"), BI):
        objective = "two-class" if recipe.kind == "cross-encoder" else recipe.objective
        with pytest.raises(InvalidInput, match="a prior is added to one score per candidate") as caught:
            replace(recipe, objective=objective, prior="medley-biencoder")
        assert caught.value.field == "prior"
