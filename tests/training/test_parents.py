"""`medley train` follows a model's whole ancestry, and refuses one that is unknown or saw what evaluation judges."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")
pytest.importorskip("onnx", reason="the train extra is not installed")

from tiny_models import BI, CROSS, train_model, write_home  # noqa: E402

from encoders.ancestry.record import Ancestry, KnownOverlap, read_ancestry  # noqa: E402
from encoders.ancestry.seen import SeenTexts, text_hash  # noqa: E402
from encoders.artifact import SHIPPED, Artifact  # noqa: E402
from encoders.labels.augment import NEIGHBOURS  # noqa: E402
from encoders.labels.pairs import read_pairs, write_lines  # noqa: E402
from encoders.training.export.service import export_model  # noqa: E402
from encoders.training.recipe import Recipe  # noqa: E402
from encoders.training.runs.parents import find_parents, make_ancestry, read_source_ancestry  # noqa: E402
from encoders.training.runs.train import train  # noqa: E402
from mappings.errors import InvalidInput, ModelError  # noqa: E402
from web.cli.commands.training import train as train_command  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
JUDGED = "Statin one lowers appetite in mice."  # a development claim of the invented SciFact


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, pairs that hold an evaluated claim, a model trained on them when nothing guarded it, and one of its own."""
    home = write_home(tmp_path_factory.mktemp("home"))
    found = list(read_pairs(home / "pairs/claim.jsonl"))
    write_lines(home / "pairs/claim.jsonl", [replace(found[0], query=JUDGED.upper()), *found[1:]])
    train_model(home, CROSS, "first")
    write_lines(home / "clean/claim.jsonl", found)
    train(child(home, home / "first"), home / "clean", home / "second-run")
    export_model(str(home / "second-run"), home / "clean", home / "second")
    return home


def child(home: Path, base: Path) -> Recipe:
    return replace(CROSS, base=str(base), steps=1, threads=1)


def test_a_chain_is_complete_to_its_base(home: Path) -> None:
    first, second = (Artifact.open(home / name) for name in ("first", "second"))
    found = read_ancestry(second.folder, second.fingerprint)
    assert found.is_known
    assert [root.partition(" ")[0] for root in found.roots] == ["bert"]
    assert len(found.runs) == 2
    (parent,) = found.runs[1]["parents"]
    assert (parent["role"], parent["fingerprint"]) == ("base", first.fingerprint)
    assert parent["ancestry"] == read_ancestry(first.folder).digest()
    assert found.texts is not None
    assert found.texts.count([text_hash(JUDGED)]) == 1  # its parent's, not its own
    assert found.runs[1]["checked"] is False
    assert str(home) not in (second.folder / "ancestry.json").read_text()


@pytest.mark.parametrize("name", ["first", "second", "second-run/checkpoint"])
def test_a_parent_that_saw_what_is_judged_is_refused_generations_later(
    home: Path, data: Path, tmp_path: Path, name: str
) -> None:
    for allowed in (False, True):
        with pytest.raises(
            InvalidInput, match=r"or a model that it comes from, was trained on .*scifact: saw 1 query"
        ) as bad:
            train(child(home, home / name), home / "clean", tmp_path / "run", evaluated=data, unknown_ancestry=allowed)
        assert bad.value.field == "base"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("role", ["teacher", "prior"])
def test_a_teacher_and_a_prior_are_parents(home: Path, data: Path, role: str) -> None:
    recipe = replace(BI, base=str(home / "bert"), distillation="kl", negatives=3, teacher=str(home / "first"))
    if role == "prior":
        recipe = replace(CROSS, base=str(home / "bert"), prior=str(home / "first"))
    with pytest.raises(InvalidInput, match="was trained on evaluation data") as bad:
        find_parents(recipe, data, unknown_allowed=False)
    assert bad.value.field == role
    assert [parent.role for parent in find_parents(recipe, None, unknown_allowed=False)] == ["base", role]


def test_an_unknown_ancestry_is_refused_or_recorded(home: Path, tmp_path: Path) -> None:
    export_model(str(home / "second-run"), home / "clean", tmp_path / "model")
    (tmp_path / "model/ancestry.json").unlink()
    recipe = child(home, tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"has no ancestry\.json.*--unknown-ancestry") as bad:
        train(recipe, home / "clean", tmp_path / "run")
    assert (bad.value.field, (tmp_path / "run").exists()) == ("base", False)
    train(recipe, home / "clean", tmp_path / "run", unknown_ancestry=True)
    assert read_ancestry(tmp_path / "run/checkpoint").unknown == ("model has no ancestry.json",)
    export_model(str(tmp_path / "run"), home / "clean", tmp_path / "child")
    with pytest.raises(InvalidInput, match="is not known"):
        find_parents(child(home, tmp_path / "child"), None, unknown_allowed=False)


def test_the_command_refuses_an_unknown_ancestry_and_its_option_allows_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEDLEY_DATA", raising=False)
    export_model(str(home / "second-run"), home / "clean", tmp_path / "model")
    (tmp_path / "model/ancestry.json").unlink()
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        f'kind = "cross-encoder"\nobjective = "listwise"\nbase = "{tmp_path / "model"}"\nsteps = 1\nthreads = 1\n'
        "max_length = 78\n[tasks]\nclaim = { repeat = 4 }\n"
    )
    arguments = [str(recipe), str(home / "clean"), str(tmp_path / "run"), "--json"]
    refused = CliRunner().invoke(train_command, arguments)
    assert isinstance(refused.exception, InvalidInput)
    assert "--unknown-ancestry" in refused.exception.message
    assert CliRunner().invoke(train_command, [*arguments, "--unknown-ancestry"]).exit_code == 0
    assert not read_ancestry(tmp_path / "run/checkpoint").is_known


def test_what_is_known_of_a_shipped_model_goes_on_to_its_children() -> None:
    recipe = replace(CROSS, base="medley-crossencoder")
    (parent,) = find_parents(recipe, None, unknown_allowed=False)
    assert parent.as_json()["fingerprint"] == Artifact.open(SHIPPED / "medley-crossencoder").fingerprint
    made = make_ancestry([parent], recipe, {}, SeenTexts(), checked=True)
    assert (made.is_known, made.overlaps, made.roots) == (True, (), parent.ancestry.roots)
    assert [run["name"] for run in made.runs] == ["medley-crossencoder", recipe.name]
    assert len(made.texts) == len(parent.ancestry.texts) > 100_000


def test_what_a_person_recorded_is_refused_where_all_else_is_known(data: Path, tmp_path: Path) -> None:
    (tmp_path / "architecture.json").write_text("{}")
    known = (KnownOverlap("notes", "an old run saw 19 passages"),)
    replace(Ancestry.of_root("tiny"), overlaps=known).write(tmp_path)
    recipe = child(tmp_path, tmp_path)
    with pytest.raises(InvalidInput, match=r"notes: an old run saw 19 passages"):
        find_parents(recipe, data, unknown_allowed=False)
    assert len(find_parents(recipe, None, unknown_allowed=False)) == 1


def test_a_checkpoint_of_ours_without_a_record_is_unknown_and_a_foreign_one_ends_a_chain(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "architecture.json").write_text("{}")
    assert not read_source_ancestry(str(folder)).is_known
    assert read_source_ancestry(str(home / "bert")).is_known
    (folder / "ancestry.json").write_text("{}")
    with pytest.raises(ModelError, match="is not a record of ancestry"):
        read_source_ancestry(str(folder))


def test_a_plain_checkpoint_is_exported_with_its_root(home: Path, tmp_path: Path) -> None:
    pairs = shutil.copytree(home / "clean", tmp_path / "pairs")
    (pairs / NEIGHBOURS).write_text('{"word": "aspirin", "near": ["warfarin"]}\n')  # as mined for CLAIMS' cross-encoder
    artifact = export_model(str(home / "bert"), pairs, tmp_path / "plain", "bi-encoder")
    found = read_ancestry(artifact.folder, artifact.fingerprint)
    assert (found.is_known, found.runs, len(found.roots)) == (True, (), 1)
    assert "ancestry.json" not in json.loads((artifact.folder / "model.json").read_text())["files"]
