"""Distillation: a teacher is asked once for every example, and what it said survives a kill."""

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
from encoders.runtime import CrossEncoder  # noqa: E402
from encoders.training.data.batches import load_pairs, plan_batches  # noqa: E402
from encoders.training.data.frozen_models import TEACHER  # noqa: E402
from encoders.training.data.frozen_scores import RECORD  # noqa: E402
from encoders.training.objectives import formulas, losses  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import ModelError  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STUDENTS = {
    "bi-encoder": replace(BI, distillation="kl", negatives=3, teacher="a folder"),
    "poly-encoder": replace(
        BI, kind="poly-encoder", distillation="margin-mse", negatives=2, temperature=0.5, teacher="a folder"
    ),
    "cross-encoder": replace(CROSS, distillation="kl", layers=(0,), teacher_share=0.5, teacher="a folder"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, pairs, and a teacher trained on them."""
    return train_model(write_home(tmp_path_factory.mktemp("home")), CROSS, "teacher")


def student(home: Path, recipe: Recipe) -> Recipe:
    tasks = {"claim": Share(repeat=3)}
    return replace(recipe, base=str(home / "bert"), teacher=str(home / "teacher"), threads=1, tasks=tasks, dropout=0.0)


@pytest.mark.parametrize("kind", STUDENTS)
def test_a_student_comes_nearer_to_its_teacher(kind: str, home: Path, tmp_path: Path) -> None:
    recipe = student(home, STUDENTS[kind])
    report = train(recipe, home / "pairs", tmp_path)
    assert report["recipe"]["teacher"] == recipe.teacher
    (batch, *_) = batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    teacher = TEACHER.score(recipe, batches, tmp_path, lambda entry: None)
    found = []
    for base in (recipe.base, str(tmp_path / "checkpoint")):
        torch.manual_seed(recipe.seed)
        ready = load_initial(replace(recipe, base=base, layers=recipe.layers if base == recipe.base else ()))
        with torch.inference_mode():
            objective = losses.Objective(ready.model.eval(), ready.tokenizer, recipe, teacher)
            found.append(objective.loss(batch).item())
    assert found[1] < found[0]


def test_every_example_is_asked_once_and_a_cut_file_is_mended(home: Path, tmp_path: Path) -> None:
    recipe = student(home, STUDENTS["cross-encoder"])
    batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    log: list[dict[str, object]] = []
    teacher = TEACHER.score(recipe, batches, tmp_path, log.append)
    pairs = {(item.query, text) for batch in batches for item in batch for text in item.texts}
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert len(whole) == len(pairs) * RECORD.itemsize
    assert log[-1]["queries"] == log[-1]["of"] == len({query for query, _ in pairs})

    judge = CrossEncoder(Artifact.open(home / "teacher"), form="fp32")
    item = batches[0][0]
    assert np.allclose(teacher.scores(batches[0])[0].numpy(), judge.score(item.query, item.texts), atol=1e-5)

    path.write_bytes(whole[:-7])
    log.clear()
    again = TEACHER.score(recipe, batches, tmp_path, log.append)
    assert [entry["of"] for entry in log] == [1]
    assert path.stat().st_size == len(whole)
    assert all(torch.equal(teacher.scores(batch), again.scores(batch)) for batch in batches)
    log.clear()
    TEACHER.score(recipe, batches, tmp_path, log.append)
    assert log == []


def test_a_checkpoint_teaches_as_its_export_does(home: Path, tmp_path: Path) -> None:
    recipe = student(home, STUDENTS["cross-encoder"])
    (batch, *_) = batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    found = []
    for number, name in enumerate((home / "teacher", home / "teacher-run/checkpoint")):
        (run := tmp_path / str(number)).mkdir()
        scores = TEACHER.score(replace(recipe, teacher=str(name)), batches, run, lambda entry: None)
        assert scores is not None
        found.append(scores.scores(batch).numpy())
    exported, checkpoint = (item - item.mean() for item in found)
    assert np.corrcoef(exported.ravel(), checkpoint.ravel())[0, 1] > 0.95  # the export rounds its weights
    assert np.abs(exported - checkpoint).max() < np.ptp(exported)


def test_the_teachers_share_of_the_loss(home: Path, tmp_path: Path) -> None:
    recipe = student(home, STUDENTS["cross-encoder"])
    (batch, *_) = batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    teacher = TEACHER.score(recipe, batches, tmp_path, lambda entry: None)
    torch.manual_seed(0)
    ready = load_initial(recipe)
    ready.model.eval()

    def loss(**changes: float) -> float:
        with torch.inference_mode():
            changed = replace(recipe, **changes)
            return losses.Objective(ready.model, ready.tokenizer, changed, teacher).loss(batch).item()

    own, taught = loss(teacher_share=0.0), loss(teacher_share=1.0)
    assert loss(teacher_share=0.25) == pytest.approx(0.25 * taught + 0.75 * own, abs=1e-5)
    with torch.inference_mode():
        plain = losses.Objective(ready.model, ready.tokenizer, recipe).loss(batch)
    assert own == pytest.approx(plain.item(), abs=1e-6)
    assert loss(teacher_share=1.0, teacher_temperature=1e9) == pytest.approx(
        formulas.kl(score_candidates(ready, batch, recipe), torch.zeros(len(batch), 4)).item(), abs=1e-5
    )


def test_a_teacher_that_cannot_teach_is_named(home: Path, tmp_path: Path) -> None:
    recipe = student(home, STUDENTS["bi-encoder"])
    for teacher, message in (
        (str(home / "bert"), "is not a model directory; export it first"),
        ("medley-biencoder", "'medley-biencoder' is a bi-encoder; it must be a cross-encoder"),
    ):
        with pytest.raises(ModelError, match=message) as caught:
            train(replace(recipe, teacher=teacher), home / "pairs", tmp_path)
        assert caught.value.field == "teacher"
    assert list(tmp_path.iterdir()) == []  # told before a record says that the run goes on
