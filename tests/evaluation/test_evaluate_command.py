"""`medley evaluate` keeps its reports, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_suites import folder

from evaluation.suite import SuiteOptions
from mappings.errors import InvalidInput
from web.cli.commands import evaluate

pytest.importorskip("ir_measures")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("HOME", str(tmp_path / "home")), ("ENCODER", "hashing-256"), ("RERANKER", "none")):
        monkeypatch.setenv(f"MEDLEY_{name}", value)
    return folder(tmp_path / "mine")


def test_what_the_folder_holds_is_not_measured_again(mine: Path, tmp_path: Path) -> None:
    options, kept = SuiteOptions(folder=mine), tmp_path / "results"
    first = evaluate._evaluated("beir", options, kept, resume=True)
    file = kept / "beir-mine.json"
    assert json.loads(file.read_text()) == first
    assert (tmp_path / "results.md").read_text().count("## beir") == 1
    file.write_text(json.dumps(first | {"seconds": -1}))
    assert evaluate._evaluated("beir", options, kept, resume=True)["seconds"] == -1
    assert evaluate._evaluated("beir", options, kept, resume=False)["seconds"] >= 0
    (mine / "qrels" / "test.tsv").write_text("q0\td1\t1\n")
    file.write_text(json.dumps(first | {"seconds": -1}))
    again = evaluate._evaluated("beir", options, kept, resume=True)
    assert (again["queries"], again["seconds"] >= 0) == (1, True)


@pytest.mark.parametrize("flag", ["--quick", "--again"])
def test_flags_of_all_are_refused_elsewhere(mine: Path, flag: str) -> None:
    found = CliRunner().invoke(evaluate.evaluate, ["beir", str(mine), flag])
    assert isinstance(found.exception, InvalidInput)
    assert found.exception.field == flag.removeprefix("--")
