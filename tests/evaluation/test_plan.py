"""`evaluate all`: which suites in which forms, and what is not run again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_suites import folder

from evaluation import plan
from evaluation.plan import find_kept, identity
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions, command
from mappings.errors import InvalidInput
from search.settings import Settings

pytest.importorskip("ir_measures")


def commands(quick: bool = False, options: SuiteOptions | None = None) -> list[str]:
    return [command(name, form) for name, form in plan.plan(options or SuiteOptions(), quick)]


def test_all_runs_every_suite_in_every_form() -> None:
    found = commands()
    assert len(found) == len(set(found))
    assert {
        "medley evaluate scifact",
        "medley evaluate scifact --distractors",
        "medley evaluate check-covid",
        "medley evaluate check-covid --distractors",
        "medley evaluate claims",
        "medley evaluate medquad",
        "medley evaluate medquad --full",
        "medley evaluate lookups",
        "medley evaluate notes",
        "medley evaluate press",
        "medley evaluate cystic-fibrosis",
        "medley evaluate evidence",
        "medley evaluate citations",
        "medley evaluate lay",
        "medley evaluate lay --distractors",
        "medley evaluate answers",
        "medley evaluate experts",
        "medley evaluate radiology",
    } <= set(found)
    assert not any("beir" in line for line in found)


def test_the_quick_form_is_a_fixed_sample_and_leaves_the_pool_alone() -> None:
    found = commands(quick=True)
    assert all(line.endswith("--queries 50") for line in found)
    assert not any("--distractors" in line or "claims" in line or "--full" in line for line in found)
    assert commands(True, SuiteOptions(queries=7))[0] == "medley evaluate scifact --queries 7"


def test_options_that_some_suite_does_not_know_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="--reading is for scifact, check-covid, claims, one at a time, not for all"):
        commands(quick=False, options=SuiteOptions(reading="A"))
    with pytest.raises(InvalidInput, match="--full is for medquad, one at a time, not for all"):
        commands(quick=True, options=SuiteOptions(full=True))


def test_further_models_go_to_the_suites_that_know_them() -> None:
    found = commands(options=SuiteOptions(folds=Path("models"), baseline="minilm"))
    assert [line for line in found if "minilm" in line] == [
        "medley evaluate medquad --baseline minilm",
        "medley evaluate radiology --folds models --baseline minilm",
        "medley evaluate polarity --baseline minilm",
    ]
    assert len(found) == len(commands())
    found = commands(options=SuiteOptions(systems=Path("nets")))
    assert [line for line in found if "nets" in line] == ["medley evaluate medquad --systems nets"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none")


def test_a_report_is_used_again_while_nothing_that_decides_it_changed(tmp_path: Path, settings: Settings) -> None:
    mine = folder(tmp_path / "mine")
    options = SuiteOptions(folder=mine)
    command, first = identity("beir", options, settings)
    assert command == "medley evaluate beir mine"
    run_suite("beir", options, settings)
    assert identity("beir", options, settings) == (command, first)  # the built index changes nothing
    changed = [
        identity("beir", replace(options, queries=3), settings),
        identity("beir", options, replace(settings, form="fp32")),
        identity("beir", options, replace(settings, encoder="medley-biencoder")),
        identity("beir", options, replace(settings, window=50)),
    ]
    (mine / "qrels" / "test.tsv").write_text("q0\td1\t1\n")
    changed.append(identity("beir", options, settings))
    with (mine / "corpus.jsonl").open("a") as file:
        file.write('\n{"_id": "new", "text": "heart"}')
    changed.append(identity("beir", options, settings))
    assert len({first, *(value for _, value in changed)}) == 7


def test_only_a_whole_report_of_the_same_identity_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "scifact.json"
    assert find_kept(file, "x") is None
    for text in ("{half", "[]", json.dumps({"identity": "y"}), json.dumps({"suite": "scifact"})):
        file.write_text(text)
        assert find_kept(file, "x") is None
    file.write_text(json.dumps({"identity": "x", "suite": "scifact"}))
    assert find_kept(file, "x") == {"identity": "x", "suite": "scifact"}
