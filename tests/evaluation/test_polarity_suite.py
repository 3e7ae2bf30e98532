"""Pairs that differ only in polarity, and what ranks the right one first."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluation.plan import identity
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.suites.polarity.pairs import INVENTED, NUMBER, REPORTS, PolarityPair, load_invented, turn, turn_reports
from evaluation.suites.polarity.suite import questions, score_pairs
from evaluation.suites.polarity.systems import PairSystem, score_words
from mappings.datasets.indiana_cxr import ChestReport
from mappings.errors import InvalidInput, MedleyError, NotFound
from search.settings import Settings
from web.cli.main import cli


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    data = tmp_path / "data"
    (data / "indiana_cxr").mkdir(parents=True)
    with gzip.open(data / "indiana_cxr" / "reports.jsonl.gz", "wt") as file:
        for number, finding in enumerate(("effusion", "pneumothorax", "nodule", "hiatal hernia", "scoliosis")):
            findings = f"There is a {finding}. No {finding} at the apex."
            file.write(json.dumps({"uid": str(number), "findings": findings, "impression": ""}) + "\n")
    return replace(Settings(), home=tmp_path / "home", encoder="hashing-256", reranker="none", data=data)


def test_the_invented_pairs_are_two_hundred_different_ones() -> None:
    pairs = load_invented()
    assert len(pairs) == len({(pair.present, pair.absent) for pair in pairs}) == NUMBER
    assert {pair.origin for pair in pairs} == {INVENTED}
    assert len({pair.finding for pair in pairs}) > 150


@pytest.mark.parametrize(
    ("row", "message"),
    [("a\tb", "pairs.tsv:1: a row has 3 columns"), ("a\tb\t", "none empty"), ("a\tb\tb", "another text without it")],
)
def test_a_malformed_pair_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(NotFound, match="no file"):
        load_invented(tmp_path)
    (tmp_path / "pairs.tsv").write_text(row, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        load_invented(tmp_path)


@pytest.mark.parametrize(
    ("sentence", "turned"),
    [
        ("There is a small pleural effusion.", "There is no small pleural effusion."),
        ("There is no pneumothorax.", "There is pneumothorax."),
        ("No acute fracture.", "Acute fracture."),
        ("Low lung volumes.", "No low lung volumes."),
        ("A nodule is again seen in the apex.", "A nodule is not seen in the apex."),
        ("Free air is not identified.", "Free air is identified."),
        ("Negative for fracture.", "Positive for fracture."),
        ("No effusion, small nodule.", None),
        ("No change in the effusion.", None),
        ("Possible pneumonia.", None),
        ("The heart appears enlarged.", None),
        ("No fracture is not seen.", None),
        ("1. Nodule.", None),
        ("", None),
        (" . ", None),
    ],
)
def test_a_sentence_is_turned_where_its_shape_says_how(sentence: str, turned: str | None) -> None:
    assert turn(sentence) == turned


@given(st.sampled_from(["There is {}.", "{}."]), st.sampled_from(["effusion", "free air", "rib fracture"]))
def test_turning_twice_gives_the_sentence_back(frame: str, name: str) -> None:
    sentence = frame.format(name)
    once = turn(sentence[0].upper() + sentence[1:])
    assert once is not None
    assert turn(once) == sentence[0].upper() + sentence[1:]


def test_reports_give_both_halves_and_keep_neighbors_that_do_not_name_the_finding() -> None:
    reports = [
        ChestReport(str(number), f"Clear bases. There is a {word} pleural effusion. Large pleural effusion.", "No pneumonia.")
        for number, word in enumerate(("small", "large", "tiny", "huge", "mild", "wide", "vast", "thin", "trace", "new"))
    ]  # fmt: skip
    pairs = turn_reports(reports)
    assert pairs == turn_reports(reports[::-1])
    assert {pair.origin for pair in pairs} == {REPORTS}
    assert PolarityPair(REPORTS, "pneumonia", "Pneumonia.", "No pneumonia.") in pairs
    effusions = [pair for pair in pairs if pair.finding == "pleural effusion"]
    assert len(effusions) == 8
    for pair in effusions:
        present, absent = pair.present.removeprefix("Clear bases. "), pair.absent.removeprefix("Clear bases. ")
        assert (turn(present), turn(absent)) in [(absent, present), (absent, present.replace(" a ", " "))]
    assert any(pair.present.startswith("Clear bases. There is a ") for pair in effusions)
    assert len(turn_reports(reports, 4)) == 3  # two affirmed, and the one that was ruled out


def pairs_of(number: int) -> list[PolarityPair]:
    return [PolarityPair(INVENTED, "fever", "with", "without")] * number


def test_a_pair_counts_only_if_both_questions_are_right() -> None:
    def scoring(scores: dict[tuple[str, str], float]) -> PairSystem:
        return PairSystem("x", lambda asked, texts: np.array([scores[pair] for pair in zip(asked, texts, strict=True)]))

    right = {("with fever", "with"): 1.0, ("with fever", "without"): 0.5}
    right |= {("no fever", "with"): 0.1, ("no fever", "without"): 0.2}
    assert score_pairs(pairs_of(1), scoring(right)).tolist() == [1]
    assert score_pairs(pairs_of(1), scoring(right | {("no fever", "with"): 0.3})).tolist() == [0]
    assert score_pairs(pairs_of(1), scoring(right | {("with fever", "without"): 1.0})).tolist() == [0]
    assert score_pairs(pairs_of(1), scoring(right | {("with fever", "without"): 1.0 - 1e-9})).tolist() == [0]


def test_questions_say_no_and_without_by_turns() -> None:
    asked = [questions(number, pair) for number, pair in enumerate(pairs_of(2))]
    assert asked == [("with fever", "no fever"), ("with fever", "without fever")]


def test_words_score_each_text_for_its_own_question() -> None:
    scores = score_words(["fever", "fever", "gout"], ["Fever today.", "Walks.", "Gout."])
    assert scores[0] > 0
    assert scores[1] == 0
    assert scores[2] > 0


def test_the_suite_reports_in_the_stable_form(settings: Settings) -> None:
    report = run_suite("polarity", SuiteOptions(baseline="hashing-256"), settings)
    assert json.loads(json.dumps(report)) == report
    assert [row["system"] for row in report["rows"]] == [
        f"{system}{part}"
        for system in ("fields", "bm25", "dense, unmarked", "dense", "dense of notes", "baseline")
        for part in ("", ", invented", ", reports")
    ]
    found = {row["system"]: row["measures"]["pairs"] for row in report["rows"]}
    assert all(item["low"] <= item["value"] <= item["high"] for item in found.values())
    assert found["dense"]["value"] > 0.9 > 0.6 > found["dense, unmarked"]["value"] == found["baseline"]["value"]
    (test,) = report["tests"]
    assert (test["system"], test["against"], test["measure"]) == ("dense", "dense, unmarked", "pairs")
    assert test["difference"]["low"] > 0.2
    assert report["command"] == "medley evaluate polarity --baseline hashing-256"
    assert report["queries"] == NUMBER + 10


def test_a_sample_is_fixed_and_the_identity_names_what_decides(settings: Settings) -> None:
    options = SuiteOptions(queries=20, variants=False)
    report = run_suite("polarity", options, settings)
    assert [row["system"] for row in report["rows"]] == ["fields", "bm25", "dense, unmarked", "dense", "dense of notes"]
    assert report["sample"]["queries"] == 20
    assert report["command"] == "medley evaluate polarity --queries 20 --no-variants"
    assert report | {"seconds": 0} == run_suite("polarity", options, settings) | {"seconds": 0}
    assert identity("polarity", options, settings) != identity("polarity", SuiteOptions(queries=21), settings)


def test_wrong_input_is_named(settings: Settings) -> None:
    with pytest.raises(MedleyError, match="there is no model 'nope'"):
        run_suite("polarity", SuiteOptions(baseline="nope"), settings)
    with pytest.raises(MedleyError, match="set MEDLEY_DATA"):
        run_suite("polarity", SuiteOptions(), replace(settings, data=None))


def test_the_command_prints_the_table(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "data", "encoder", "reranker"):
        monkeypatch.setenv(f"MEDLEY_{name.upper()}", str(getattr(settings, name)))
    result = CliRunner().invoke(cli, ["evaluate", "polarity", "--queries", "10", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["suite"] == "polarity"
