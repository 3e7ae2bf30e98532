"""Tuning on judgements of one's own: the grid, the choice, the file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evaluation.reporting.reports import tune_section
from evaluation.suites import beir
from evaluation.tuning import left_out
from evaluation.tuning import weights as tune
from mappings.errors import InvalidInput, ModelError, NotFound
from search.bootstrap import Medley
from search.engines.embedded.catalog import EmbeddedCatalog
from search.settings import Settings
from web.cli.main import cli

pytest.importorskip("ir_measures")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Answers share no word with their query but the stem, so that BM25 alone is right; the hashing encoder is not."""
    (tmp_path / "own" / "qrels").mkdir(parents=True)
    organs = ["heart", "lung", "kidney", "liver", "brain", "spleen"]
    corpus = [{"_id": organ, "text": f"{organ}s fail in old age after long years of illness"} for organ in organs]
    queries = [{"_id": organ, "text": f"failing {organ}"} for organ in organs]
    (tmp_path / "own" / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (tmp_path / "own" / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "own" / "qrels" / "train.tsv").write_text("".join(f"{organ}\t{organ}\t1\n" for organ in organs))
    return tmp_path / "own"


def test_the_grid_is_printed_and_the_best_is_written(own: Path, tmp_path: Path) -> None:
    settings = replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none")
    report = tune.run("abstracts", settings, tune.TuningOptions(folder=own))
    assert len(report["grid"]) == 84
    best = max(row["nDCG@10"]["value"] for row in report["grid"])
    chosen = [
        row
        for row in report["grid"]
        if {key: row[key] for key in report["chosen"]["fusion"]} == report["chosen"]["fusion"]
    ]
    assert [row["nDCG@10"]["value"] for row in chosen] == [best] == [1.0]
    assert report["chosen"]["rerank"] is None
    assert report["queries"] == 6
    written = tune.toml(report)
    assert tomllib.loads(written) == {"fusion": report["chosen"]["fusion"]}
    assert written.startswith("# medley tune abstracts --folder own --split train: nDCG@10 over 6 questions")


def test_the_rerankers_weight_is_written_when_it_was_tuned() -> None:
    fusion = {"method": "weighted", "normalisation": "minmax", "weights": {"bm25": 0.3, "dense": 0.7}}
    report = {
        "chosen": {"fusion": fusion, "rerank": 0.8},
        "command": "medley tune notes",
        "measure": "nDCG@10",
        "queries": 9,
    }
    assert tomllib.loads(tune.toml(report)) == {"fusion": fusion, "rerank": {"weight": 0.8}}


def test_a_wrong_kind_is_named(own: Path, tmp_path: Path) -> None:
    settings = replace(Settings(), home=tmp_path)
    with pytest.raises(
        InvalidInput, match="no training judgements for 'reports', only for abstracts, articles, notes"
    ) as untaught:
        tune.run("reports", settings)
    with pytest.raises(NotFound, match="there is no collection kind 'nope'; the known kinds are abstracts") as unknown:
        tune.run("nope", settings, tune.TuningOptions(folder=own))
    assert (untaught.value.field, unknown.value.field) == ("kind", "kind")


def test_a_reranker_that_is_not_there_is_named_before_anything_is_indexed(own: Path, tmp_path: Path) -> None:
    settings = replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="nope")
    with pytest.raises(ModelError, match="there is no model 'nope'"):
        tune.run("abstracts", settings, tune.TuningOptions(folder=own))
    assert not (tmp_path / "home").exists()
    assert tune.run("abstracts", settings, tune.TuningOptions(folder=own, rerank=False))["rerank"] == []


@pytest.fixture
def data_sets(own: Path, tmp_path: Path) -> dict[str, left_out.DataSet]:
    """The own judgements as two data sets: all six questions, and four of them."""
    settings = replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none")
    whole = beir.task(own, "train", "abstracts", settings.collections)
    found = {"six": whole, "four": whole.sampled(4)}
    options = tune.TuningOptions()
    return {
        name: left_out.DataSet(tune.prepare(task, settings, options, None), np.full(len(task.questions), 0.25))
        for name, task in found.items()
    }


def test_data_sets_that_a_model_saw_are_named(data_sets: dict[str, left_out.DataSet]) -> None:
    told = left_out.describe_choice(data_sets, tune.TuningOptions(), seen=["scifact", "press"])["notes"]
    assert told[-1] == "left out, because a model has seen some of it: scifact, press"
    assert not any("seen" in note for note in left_out.describe_choice(data_sets, tune.TuningOptions())["notes"])


def test_weights_for_all_are_judged_on_each_data_set_left_out(data_sets: dict[str, left_out.DataSet]) -> None:
    report = left_out.describe_choice(data_sets, tune.TuningOptions())
    assert set(report) == {
        *("tune", "measure", "queries", "grid", "rerank", "chosen", "left_out", "gain_left_out", "notes", "command")
    }
    assert (report["tune"], report["measure"], report["queries"], len(report["grid"])) == ("transfer", "gain", 10, 84)
    best = max(row["gain"]["value"] for row in report["grid"])
    assert best == 0.75  # every answer first, and the simple system has .25
    chosen = next(
        row
        for row in report["grid"]
        if {key: row[key] for key in report["chosen"]["fusion"]} == report["chosen"]["fusion"]
    )
    assert (chosen["gain"]["value"], chosen["loses"], report["chosen"]["rerank"]) == (best, [], None)
    assert [row["data_set"] for row in report["left_out"]] == ["six", "four"]
    assert report["gain_left_out"]["value"] == pytest.approx(
        np.mean([row["gain"]["value"] for row in report["left_out"]])
    )
    assert report["command"] == "medley tune transfer"
    section = tune_section(report)
    assert section.startswith("## tune transfer: 10 questions of data sets left out of training\n")
    assert "| six, by what all others choose | 0.750 (0.750–0.750) |" in section
    assert tomllib.loads(tune.toml(report)) == {"fusion": report["chosen"]["fusion"]}


def test_the_data_sets_left_out_are_not_of_a_folder(own: Path) -> None:
    with pytest.raises(InvalidInput, match="has its own data sets; leave out --folder"):
        left_out.run(Settings(), tune.TuningOptions(folder=own))


@pytest.mark.parametrize("queries", [0, -1])
def test_a_sample_has_a_question(queries: int) -> None:
    with pytest.raises(InvalidInput, match=f"queries is {queries}; a sample has 1 or more"):
        tune.TuningOptions(queries=queries)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("HOME", str(tmp_path / "home")), ("ENCODER", "hashing-256"), ("RERANKER", "none")):
        monkeypatch.setenv(f"MEDLEY_{name}", value)
    return tmp_path / "home"


def test_a_collection_that_is_not_there_is_named_before_anything_is_tuned(own: Path, home: Path) -> None:
    Medley.open(replace(Settings(), home=home)).collections.create("mine", "abstracts")
    found = CliRunner().invoke(cli, ["tune", "abstracts", "--folder", str(own), "-c", "nope"])
    assert isinstance(found.exception, NotFound)
    assert found.exception.message == "there is no collection 'nope'; there are: mine"
    assert not (home / "evaluation").exists()


def test_weights_of_one_kind_are_not_written_into_a_collection_of_another(own: Path, home: Path) -> None:
    Medley.open(replace(Settings(), home=home)).collections.create("mine", "notes")
    found = CliRunner().invoke(cli, ["tune", "abstracts", "--folder", str(own), "-c", "mine"])
    assert isinstance(found.exception, InvalidInput)
    assert (
        found.exception.message
        == "the collection 'mine' is of the kind notes; weights tuned for abstracts do not apply to it"
    )
    assert not (home / "evaluation").exists()
    assert not (home / "collections/mine/tuned.toml").exists()


def tuned(home: Path) -> str:
    """The weights of the collection `mine`."""
    entry = EmbeddedCatalog(home).read("mine")
    assert entry is not None
    return entry.tuned


def test_weights_of_notes_are_for_reports_too(own: Path, home: Path) -> None:
    Medley.open(replace(Settings(), home=home)).collections.create("mine", "reports")
    found = CliRunner().invoke(cli, ["tune", "notes", "--folder", str(own), "-c", "mine"])
    assert found.exception is None
    assert tuned(home) in found.stdout


def test_weights_are_printed_before_they_are_written(own: Path, home: Path) -> None:
    medley = Medley.open(replace(Settings(), home=home))
    medley.collections.create("mine", "abstracts")
    command = ["tune", "abstracts", "--folder", str(own), "-c", "mine"]
    written = CliRunner().invoke(cli, command)
    weights = tuned(home)
    assert weights in written.stdout
    assert dict(medley.collections.get("mine").fusion.weights) == tomllib.loads(weights)["fusion"]["weights"]
    (home / "collections/mine/tuned.toml").unlink()
    (home / "collections/mine/tuned.toml").mkdir()  # nothing can be written there
    failed = CliRunner().invoke(cli, command)
    assert failed.exception is not None
    assert failed.stdout == written.stdout
