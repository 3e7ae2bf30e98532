"""`medley train` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from encoders.training.recipe import RECIPES, load_recipe
from mappings.errors import InvalidInput, NotFound
from web.commands.training import _progress, train


def test_a_recipe_alone_is_printed_whole() -> None:
    done = CliRunner().invoke(train, ["capr-poly", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(load_recipe("capr-poly").as_json()))
    text = CliRunner().invoke(train, ["capr-poly"]).stdout.splitlines()
    assert text[0].split() == ["setting", "value"]
    assert ["objective", "whole-batch"] in [line.split() for line in text]
    assert ["dropout", "0.1"] in [line.split() for line in text]


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
def test_a_run_through_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the train extra is not installed")
    pytest.importorskip("transformers", reason="the train extra is not installed")
    from tiny_models import write_base, write_pairs

    monkeypatch.delenv("MEDLEY_DATA", raising=False)
    write_base(tmp_path / "base", max_position_embeddings=200)
    write_pairs(tmp_path / "pairs")
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        f'kind = "cross-encoder"\nobjective = "two-class"\nbase = "{tmp_path / "base"}"\nsteps = 2\nepochs = 2\n'
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
