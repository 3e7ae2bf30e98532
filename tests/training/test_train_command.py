"""`medley train` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from encoders.training.recipe import load_recipe
from encoders.training.recipe_source import RECIPES
from mappings.errors import InvalidInput, MedleyError, NotFound
from web.cli.commands.training import _progress, export, train


def test_a_recipe_alone_is_printed_whole() -> None:
    done = CliRunner().invoke(train, ["capr-poly", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(load_recipe("capr-poly").as_json()))
    text = CliRunner().invoke(train, ["capr-poly"]).stdout.splitlines()
    assert text[0].split() == ["setting", "value"]
    assert ["objective", "whole-batch"] in [line.split() for line in text]
    assert ["dropout", "0.1"] in [line.split() for line in text]
    changed = CliRunner().invoke(train, ["capr-poly", "--set", "dropout=0.2", "--set", "batch=4"]).stdout.splitlines()
    assert ["dropout", "0.2"] in [line.split() for line in changed]
    assert ["batch", "4"] in [line.split() for line in changed]


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(train, ["capr-poly", str(tmp_path)])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.field == "OUT"
    assert isinstance(CliRunner().invoke(train, ["nothing"]).exception, NotFound)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"recipe": {}, "pairs": {"a": 3, "b": 4}, "batches": 2}, "2 batches of 7 pairs"),
        ({"scored": "teacher-0123-int8", "queries": 32, "of": 90}, "teacher-0123-int8: 32 of 90 queries"),
        ({"step": 10, "steps": 40, "loss": 0.5, "seconds_per_step": 4.0}, "step 10 of 40, loss 0.5, 2 minutes to go"),
        ({"step": 10, "dev": {"mean": {"RR": 0.75}}}, "step 10: RR 0.75 on held-out pairs"),
    ],
)
def test_progress_says_what_is_going_on(entry: dict[str, object], text: str) -> None:
    assert _progress(entry) == text


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_each_recipe_says_what_it_is(path: Path) -> None:
    assert path.read_text().startswith("# ")


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings", ['objective = "two-class"', 'objective = "two-class-pairs"\nvariants = 2\nnegatives = 1']
)
def test_a_run_through_the_command(settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the train extra is not installed")
    pytest.importorskip("transformers", reason="the train extra is not installed")
    from tiny_models import write_base, write_pairs

    monkeypatch.delenv("MEDLEY_DATA", raising=False)
    write_base(tmp_path / "base", max_position_embeddings=200)
    write_pairs(tmp_path / "pairs")
    (tmp_path / "pairs/neighbours.jsonl").write_text('{"word": "statins", "near": ["drugs"]}\n')
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        f'kind = "cross-encoder"\n{settings}\nbase = "{tmp_path / "base"}"\nsteps = 2\nepochs = 2\n'
        "threads = 1\n[tasks]\nclaim = { window = 5 }\n"
    )
    done = CliRunner().invoke(train, [str(recipe), str(tmp_path / "pairs"), str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.exception
    assert done.stderr == ""  # progress is for terminals
    report = json.loads(done.stdout)
    assert report == json.loads((tmp_path / "run/report.json").read_text())
    assert (report["steps"], report["recipe"]["tasks"]["claim"]["window"]) == (2, 5)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "checkpoint", "log.jsonl", "loss.svg", "record.json", "report.json", "state.pt",
    }  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"record.json": "{}"}, "report.json is missing: the run has not finished"),
        ({"report.json": '{"recipe"'}, "report.json is not valid JSON"),
        ({"report.json": "[]"}, "report.json must contain a JSON object"),
        ({"report.json": '{"recipe": {}, "pairs": {}}'}, "report.json has no held_out"),
        ({}, "is not a run of `medley train`: name the kind"),
    ],
)
def test_what_is_no_finished_run_is_told_apart(tmp_path: Path, files: dict[str, str], message: str) -> None:
    pytest.importorskip("onnx", reason="the train extra is not installed")
    (tmp_path / "run").mkdir()
    for name, text in files.items():
        (tmp_path / "run" / name).write_text(text)
    done = CliRunner().invoke(export, [str(tmp_path / "run"), str(tmp_path / "m"), "--pairs", str(tmp_path)])
    assert isinstance(done.exception, MedleyError)
    assert message in done.exception.message


@pytest.mark.torch
def test_a_log_must_be_there_and_may_hold_a_line_that_a_kill_cut(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the train extra is not installed")
    from encoders.training.export.service import make_card

    recipe = load_recipe("medley-biencoder")
    report = {"recipe": recipe.as_json(), "pairs": {}, "held_out": {}}
    with pytest.raises(NotFound, match=r"log\.jsonl is missing"):
        make_card(report, recipe, tmp_path)
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "lo\n{"step": 3, "loss": 0.4}\n')
    assert [entry["step"] for entry in make_card(report, recipe, tmp_path)["log"]] == [1, 3]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "card.json does not exist"),
        ("{broken", "card.json is not valid JSON"),
        ("[1]", "card.json must contain a JSON object"),
    ],
)
def test_a_bad_card_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    pytest.importorskip("onnx", reason="the train extra is not installed")
    if text is not None:
        (tmp_path / "card.json").write_text(text)
    options = ["--pairs", str(tmp_path), "--kind", "bi-encoder", "--card", str(tmp_path / "card.json")]
    done = CliRunner().invoke(export, [str(tmp_path / "hf"), str(tmp_path / "m"), *options])
    assert isinstance(done.exception, InvalidInput)
    assert (done.exception.field, message in done.exception.message) == ("card", True)
