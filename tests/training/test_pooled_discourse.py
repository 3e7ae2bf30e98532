"""CDV whose sentences a transformer reads: both steps from articles to a directory that serves, kills, and damaged directories."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import write_base  # noqa: E402

from encoders.ancestry.record import read_ancestry  # noqa: E402
from encoders.artifact import Artifact  # noqa: E402
from encoders.discourse.artifact import DiscourseArtifact  # noqa: E402
from encoders.discourse.encoder import DiscourseEncoder  # noqa: E402
from encoders.runtime import BiEncoder  # noqa: E402
from encoders.training.discourse.recipe import DiscourseRecipe  # noqa: E402
from encoders.training.discourse.sentences import SentenceTower  # noqa: E402
from encoders.training.runs.discourse import train_discourse  # noqa: E402
from encoders.training.runs.initial import load_initial  # noqa: E402
from evaluation.baselines.discourse import rank_discourse  # noqa: E402
from evaluation.bench import discourse as bench  # noqa: E402
from mappings.errors import Conflict, ModelError  # noqa: E402
from search.settings import Settings  # noqa: E402
from tests.evaluation.test_discourse_rows import some_task  # noqa: E402
from tests.training.discourse_corpora import ASPECTS, ENTITIES, RECIPE, WIDTH, used_words, write_articles, write_words  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ARTICLES = [[text.format(word) for text in ASPECTS.values()] for word in ENTITIES.values()]


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    write_articles(folder)
    write_words(folder / "words.npz")
    # With the usual spread of random weights, the means of two sentences would hardly differ.
    write_base(folder / "bert", layers=1, words=used_words(), initializer_range=0.2)
    return folder


@pytest.fixture(scope="module")
def recipe(labels: Path) -> DiscourseRecipe:
    return replace(
        RECIPE,
        words=str(labels / "words.npz"),
        sentences="pooled",
        base=str(labels / "bert"),
        entities="words",
        dimension=WIDTH,
        sentence_length=20,
        epochs=100,
        chunk=5,
    )


@pytest.fixture(scope="module")
def tuned(recipe: DiscourseRecipe) -> DiscourseRecipe:
    return replace(recipe, fine_tune_epochs=60, fine_tune_rate=1e-3, save_every=10)


@pytest.fixture(scope="module")
def frozen_run(labels: Path, recipe: DiscourseRecipe) -> Path:
    """A finished run of the first step."""
    train_discourse(recipe, labels, labels / "runs" / "cdv-pooled")
    return labels / "runs" / "cdv-pooled"


@pytest.fixture(scope="module")
def tuned_run(labels: Path, tuned: DiscourseRecipe, frozen_run: Path) -> Path:
    """A run of both steps, the first of which was finished before."""
    folder = labels / "runs" / "cdv-finetuned"
    shutil.copytree(frozen_run, folder)
    entries: list[dict[str, Any]] = []
    train_discourse(tuned, labels, folder, watch=entries.append)
    assert {entry["part"] for entry in entries if "loss" in entry} == {"fine-tuned"}  # nothing was trained twice
    return folder


@pytest.fixture
def copied(tmp_path: Path, frozen_run: Path) -> Path:
    """A copy of a served directory, to be damaged."""
    shutil.copytree(frozen_run / "model", tmp_path / "model")
    return tmp_path / "model"


def share_found(folder: Path) -> float:
    """Of the passages, those found first by their entity and aspect."""
    encoder = DiscourseEncoder.open(folder)
    read = encoder.encode_documents(ARTICLES)
    vectors = np.concatenate([item.passage_vectors(len(ASPECTS)) for item in read])
    keys = [(name, aspect) for name in ENTITIES for aspect in ASPECTS]
    return float(np.mean([keys[int(np.argmax(vectors @ encoder.encode_query(*key)))] == key for key in keys]))


def test_sentences_of_a_frozen_base_are_the_means_of_its_states(frozen_run: Path, recipe: DiscourseRecipe) -> None:
    artifact = DiscourseArtifact.open(frozen_run / "model")
    assert artifact.sentences is not None
    reading = artifact.sentences.reading
    assert (reading.pooling, reading.normalise, reading.passage_tokens) == ("mean", False, 20)
    tower = SentenceTower(load_initial(recipe.of_sentences("mean")), 20)
    tower.model.eval()
    wanted = tower.read(tower.tokenize(ARTICLES[0])).detach().numpy()
    found = BiEncoder(artifact.sentences, 1, "fp32").encode_passages(ARTICLES[0])
    cosines = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.min() > 0.999
    assert "fp32" in artifact.sentences.forms
    assert not read_ancestry(artifact.sentences.folder, artifact.sentences.fingerprint).runs  # the base as it was
    assert len(read_ancestry(frozen_run / "model").roots) == 2  # the base and the vectors of words


def test_the_first_step_finds_passages_by_entity_and_aspect(frozen_run: Path) -> None:
    assert share_found(frozen_run / "model") >= 0.8
    report = json.loads((frozen_run / "report.json").read_text())
    assert report["base"].endswith("bert")
    manifest = json.loads((frozen_run / "model" / "discourse.json").read_text())
    assert manifest["format"] == 2
    assert manifest["sentences"] == Artifact.open(frozen_run / "model" / "sentences").fingerprint


@pytest.mark.parametrize("name", ["cdv-pooled", "cdv-finetuned"])
def test_a_passage_has_the_mean_cosine_of_its_sentences(tuned_run: Path, name: str) -> None:
    """Equations 13 and 14, by one inner product; what else is in the batch changes nothing."""
    encoder = DiscourseEncoder.open(tuned_run.parent / name / "model")
    (read,) = encoder.encode_documents(ARTICLES[:1])
    query = encoder.encode_query("Bluefoot fever", "symptoms")
    numbers = np.asarray(read.read.passages)
    by_sentence = [float(np.mean(read.vectors[numbers == passage] @ query)) for passage in range(3)]
    np.testing.assert_allclose(read.passage_vectors(3) @ query, by_sentence, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(read.vectors, axis=1), 1, atol=1e-5)
    together = encoder.encode_documents([*ARTICLES[1:], *ARTICLES[:1]])[-1]
    np.testing.assert_allclose(together.vectors, read.vectors, atol=1e-4)
    assert [len(item.vectors) for item in encoder.encode_documents([[], [""], ["One."]])] == [0, 0, 1]
    assert encoder.encode_documents([]) == []


def test_the_second_step_trains_the_base_by_its_cls_token(
    tuned_run: Path, frozen_run: Path, recipe: DiscourseRecipe
) -> None:
    assert share_found(tuned_run / "model") >= 0.8
    artifact = DiscourseArtifact.open(tuned_run / "model")
    assert artifact.sentences is not None
    assert (artifact.sentences.reading.pooling, artifact.sentences.reading.passage_tokens) == ("cls", 20)
    assert len(read_ancestry(artifact.sentences.folder, artifact.sentences.fingerprint).runs) == 1
    tower = SentenceTower(load_initial(recipe.of_sentences("cls")), 20)
    tower.model.eval()
    before = tower.read(tower.tokenize(ARTICLES[0])).detach().numpy()
    after = BiEncoder(artifact.sentences, 1, "fp32").encode_passages(ARTICLES[0])
    assert np.linalg.norm(after - before, axis=1).min() > 0.05
    files = [json.loads((run / "model" / "discourse.json").read_text())["files"] for run in (frozen_run, tuned_run)]
    assert {name for name in files[0] if files[0][name] != files[1][name]} == {"documents.onnx"}
    report = json.loads((tuned_run / "report.json").read_text())
    assert report["steps"] == 60 * math.ceil(report["pairs"]["documents"] / 2)


def test_the_document_encoder_goes_on_at_its_own_rate(
    labels: Path, tuned: DiscourseRecipe, frozen_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(frozen_run, tmp_path / "run")
    train_discourse(replace(tuned, fine_tune_rate=1e-12, fine_tune_steps=5), labels, tmp_path / "run")
    states = [torch.load(place, weights_only=True)["model"] for place in (
        tmp_path / "run" / "documents" / "state.pt", tmp_path / "run" / "fine-tuned" / "state.pt",
    )]  # fmt: skip
    first, second = states
    base = load_initial(tuned.of_sentences("cls")).model.state_dict()
    for name, weight in base.items():
        torch.testing.assert_close(second[f"sentences.{name}"], weight, atol=1e-8, rtol=0)
    moved = (second["documents.discourse.weight"] - first["discourse.weight"]).abs().max().item()
    assert tuned.learning_rate <= moved <= 6 * tuned.learning_rate  # five steps of Adam, the first ones of the warm-up
    assert json.loads((tmp_path / "run" / "report.json").read_text())["steps"] == 5


def test_a_kill_in_the_second_step_changes_nothing_of_what_comes_out(
    labels: Path, tuned: DiscourseRecipe, frozen_run: Path, tmp_path: Path
) -> None:
    short = replace(tuned, fine_tune_steps=24)

    def stop(entry: dict[str, Any]) -> None:
        if entry.get("part") == "fine-tuned" and entry["step"] == 20:
            raise KeyboardInterrupt

    for name in ("whole", "killed"):
        shutil.copytree(frozen_run, tmp_path / name)
    train_discourse(short, labels, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_discourse(short, labels, tmp_path / "killed", watch=stop)
    assert torch.load(tmp_path / "killed" / "fine-tuned" / "state.pt", weights_only=True)["step"] == 19
    train_discourse(short, labels, tmp_path / "killed")
    prints = [DiscourseArtifact.open(tmp_path / name / "model").fingerprint for name in ("whole", "killed")]
    assert prints[0] == prints[1]
    with pytest.raises(Conflict, match=r"'fine_tune_rate' was 0\.001 and is now 0\.002"):
        train_discourse(replace(short, fine_tune_rate=2e-3), labels, tmp_path / "killed")
    with pytest.raises(Conflict, match="'sentence_length' was 20 and is now 21"):
        train_discourse(replace(short, sentence_length=21), labels, tmp_path / "killed")


def test_a_missing_or_altered_encoder_of_sentences_is_refused_by_name(copied: Path, tuned_run: Path) -> None:
    folder = copied / "sentences"
    whole = (folder / "weights.bin").read_bytes()
    (folder / "weights.bin").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelError, match=r"sentences/weights\.bin was altered"):
        DiscourseEncoder.open(copied)
    (folder / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"sentences/weights\.bin is missing"):
        DiscourseEncoder.open(copied)
    shutil.rmtree(folder)
    with pytest.raises(ModelError, match=r"sentences/model\.json is missing"):
        DiscourseEncoder.open(copied)
    shutil.copytree(tuned_run / "model" / "sentences", folder)
    with pytest.raises(ModelError, match=r"sentences is not the encoder that .*discourse\.json names"):
        DiscourseEncoder.open(copied)


def test_a_manifest_that_hides_or_swaps_its_encoder_is_refused(copied: Path, tuned_run: Path) -> None:
    path = copied / "discourse.json"
    manifest = json.loads(path.read_text())
    other = json.loads((tuned_run / "model" / "discourse.json").read_text())["sentences"]
    without = {name: value for name, value in manifest.items() if name != "sentences"}
    for changed, message in (
        (manifest | {"sentences": other}, "fingerprint"),
        (without | {"format": 1}, "fingerprint"),
        (without, r"can't be read as a discourse model: KeyError\('sentences'\)"),
        (manifest | {"format": 3}, "format 3; this version reads formats up to 2"),
        (manifest | {"format": 0}, "format 0"),
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(ModelError, match=message):
            DiscourseEncoder.open(copied)
    path.write_text(json.dumps(manifest))
    artifact = DiscourseArtifact.open(copied)
    with pytest.raises(ModelError, match="reads sentences of 32 dimensions; theirs have 12"):
        DiscourseEncoder(replace(artifact, sentences=None))


def test_both_rank_the_candidates_of_a_suite_and_are_timed(tuned_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = some_task()
    chosen = {item.id: sorted({*task.judgements[item.id], "glass-1", "salt-2"}) for item in task.questions}
    runs = dict(rank_discourse(task, tuned_run.parent, chosen))
    assert sorted(runs) == ["cdv-finetuned", "cdv-pooled"]
    for run in runs.values():
        right = [run[question][0] in answers for question, answers in task.judgements.items()]
        assert sum(right) >= 0.8 * len(right)
    for name, small in (("DOCUMENTS", 2), ("INDEXED", 61), ("SEARCHES", 3)):
        monkeypatch.setattr(bench, name, small)
    report = bench.bench_discourse(Settings(discourse=str(tuned_run / "model"), threads=1))
    assert report["figures"]["sentences_per_second"] > 0
    assert report["machine"]["model"] == "small"
