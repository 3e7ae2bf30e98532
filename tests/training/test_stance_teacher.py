"""A stance classifier that learns from another one: its readings, kept once, and pairs whose stance nobody told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from test_stance_training import DRUGS, STANCE, pair  # noqa: E402
from tiny_models import write_base  # noqa: E402

from encoders.labels.pairs import write_lines  # noqa: E402
from encoders.training.architectures.architecture import Architecture  # noqa: E402
from encoders.training.architectures.stance import StanceOutput  # noqa: E402
from encoders.training.data.batches import ClaimExample, load_pairs, plan_batches  # noqa: E402
from encoders.training.data.frozen_models import STANCE_TEACHER  # noqa: E402
from encoders.training.data.frozen_readings import TaughtReading  # noqa: E402
from encoders.training.export.service import export_run  # noqa: E402
from encoders.training.objectives.stances import stance_loss, taught_stance_loss  # noqa: E402
from encoders.training.recipe import Recipe, Share  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import Conflict, InvalidInput, ModelError  # noqa: E402
from mappings.stances import ClaimPassage  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, pairs with stances, the same pairs without, and a teacher trained on the first."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "pairs").mkdir()
    made = [
        pair(drug, verb, "held-out" if number > 3 else "train", number)
        for drug in DRUGS
        for verb in ("supports", "refutes", "neither")
        for number in range(6)
    ]
    write_lines(folder / "pairs" / "stance-x.jsonl", made)
    untold = [replace(item, task="claim", stance=None, evidence=None) for item in made if item.split == "train"]
    told = [replace(item, task="claim") for item in made if item.split == "held-out"]
    write_lines(folder / "pairs" / "claim.jsonl", [*untold, *told])
    base = str(write_base(folder / "base", max_position_embeddings=512))
    train(replace(STANCE, base=base), folder / "pairs", folder / "teacher")
    return folder


def student(home: Path, teacher: Path, **changes: object) -> Recipe:
    """A recipe that sees no stance: all it learns is what the teacher says."""
    return replace(
        STANCE, base=str(home / "base"), tasks={"claim": Share(repeat=40)}, teacher=str(teacher), distillation="kl", **changes
    )  # fmt: skip


def test_a_student_learns_stances_and_evidence_that_only_its_teacher_knows(home: Path, tmp_path: Path) -> None:
    report = train(student(home, home / "teacher/checkpoint"), home / "pairs", tmp_path)
    assert report["held_out"]["trained"]["claim"]["macro_F1"] > 0.9
    assert report["held_out"]["trained"]["claim"]["hit@2"] == 1.0
    names = [item.name for item in tmp_path.iterdir() if item.name.startswith("teacher-")]
    assert len(names) == 1


def test_a_checkpoint_and_its_export_teach_the_same(home: Path, tmp_path: Path) -> None:
    export_run(home / "teacher", home / "pairs", tmp_path / "model")
    recipe = student(home, home / "teacher/checkpoint")
    batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)[:3]
    found = []
    for number, name in enumerate((home / "teacher/checkpoint", tmp_path / "model")):
        (run := tmp_path / str(number)).mkdir()
        readings = STANCE_TEACHER.score(replace(recipe, teacher=str(name)), batches, run, lambda entry: None)
        assert readings is not None
        found.append([item for batch in batches for item in readings.readings(batch)])
    for one, two in zip(*found, strict=True):
        shares = (torch.tensor(item.stances).softmax(-1).numpy() for item in (one, two))
        assert next(shares) == pytest.approx(next(shares), abs=1e-3)
        assert one.evidence == pytest.approx(two.evidence, abs=1e-2)


def test_readings_are_kept_and_only_missing_ones_are_read_again(home: Path, tmp_path: Path) -> None:
    recipe = student(home, home / "teacher/checkpoint")
    batches = plan_batches(load_pairs(home / "pairs", recipe, "train"), recipe)
    log: list[dict[str, object]] = []
    first = STANCE_TEACHER.score(recipe, batches[:2], tmp_path, log.append)
    again = STANCE_TEACHER.score(recipe, batches[:2], tmp_path, lambda entry: pytest.fail("nothing is missing"))
    assert first is not None
    assert again is not None
    for one, two in zip(first.readings(batches[0]), again.readings(batches[0]), strict=True):
        assert np.array_equal(one.stances, two.stances)
        assert np.array_equal(one.evidence, two.evidence)
    distinct = {(item.query, item.texts) for batch in batches for item in batch}
    known = {(item.query, item.texts) for batch in batches[:2] for item in batch}
    log.clear()
    STANCE_TEACHER.score(recipe, batches, tmp_path, log.append)
    assert [entry["of"] for entry in log] == [len(distinct - known)]


def test_a_run_is_not_resumed_with_another_teacher_in_the_same_place(home: Path, tmp_path: Path) -> None:
    teacher = tmp_path / "teacher"
    shutil.copytree(home / "teacher/checkpoint", teacher)
    recipe = replace(student(home, teacher), tasks={"claim": Share()})
    train(recipe, home / "pairs", tmp_path / "run")
    head = load_file(teacher / "head.safetensors")
    save_file({name: value + 1 for name, value in head.items()}, teacher / "head.safetensors")
    with pytest.raises(Conflict, match="teacher"):
        train(recipe, home / "pairs", tmp_path / "run")


def test_the_taught_loss_is_the_divergence_of_stances_and_of_sentences() -> None:
    stances, evidence = torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.5, -2.0, 3.0]])
    found = StanceOutput(stances, evidence, torch.tensor([[True, True, False]]))
    teacher = TaughtReading(np.float32([2.0, 0.0, 0.0]), np.float32([1.0, -np.inf]))
    wanted, got = np.exp([2.0, 0.0, 0.0]), np.exp([1.0, 0.0, -1.0])
    wanted, got = wanted / wanted.sum(), got / got.sum()
    divergence = float((wanted * np.log(wanted / got)).sum())
    share = 1 / (1 + np.exp(-1.0))  # of the two sentences that the student reads, the teacher read the first
    sentence = -(share * np.log(1 / (1 + np.exp(-0.5))) + (1 - share) * np.log(1 - 1 / (1 + np.exp(-0.5))))
    assert taught_stance_loss(found, [teacher], 0.0, 1.0).item() == pytest.approx(divergence, abs=1e-6)
    assert taught_stance_loss(found, [teacher], 0.5, 1.0).item() == pytest.approx(divergence + 0.5 * sentence, abs=1e-6)


def test_a_passage_without_a_known_stance_adds_nothing_to_the_objective() -> None:
    found = StanceOutput(torch.randn(2, 3), torch.zeros(2, 1), torch.ones(2, 1, dtype=torch.bool))
    passage = ClaimPassage.of("Statins help.")
    told, untold = ClaimExample(passage, "supports", None), ClaimExample(passage, None, None)
    alone = StanceOutput(found.stances[:1], found.evidence[:1], found.known[:1])
    assert stance_loss(found, [told, untold], 0.5).item() == pytest.approx(stance_loss(alone, [told], 0.5).item())
    assert stance_loss(found, [untold, untold], 0.5).item() == 0.0


def test_a_teacher_of_another_kind_and_a_loss_that_does_not_fit_are_named(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="margin-mse") as caught:
        replace(student(home, home / "teacher/checkpoint"), distillation="margin-mse")
    assert caught.value.field == "distillation"
    wrong = student(home, Path("medley-crossencoder"))
    with pytest.raises(ModelError, match="is a cross-encoder; it must be a stance-classifier"):
        train(wrong, home / "pairs", tmp_path)
    for kind in ("cross-encoder", "bi-encoder"):
        plan = replace(Architecture.from_recipe(STANCE), kind=kind)
        (folder := tmp_path.parent / f"{tmp_path.name}-{kind}").mkdir()
        (folder / "architecture.json").write_text(json.dumps(plan.as_json()))
        with pytest.raises(ModelError, match=f"is a {kind}; it must be a stance-classifier"):
            train(student(home, folder), home / "pairs", tmp_path)
    assert list(tmp_path.iterdir()) == []
