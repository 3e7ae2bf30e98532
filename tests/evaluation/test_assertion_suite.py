from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluation.bench import analyse
from evaluation.suite import SuiteOptions, command
from evaluation.suites.assertion import NAME, AssertionSuite
from evaluation.suites.registry import SUITES
from mappings.errors import InvalidInput, NotFound
from search.settings import Settings
from web.cli.main import cli

ROWS = (
    "# invented for these tests",
    "open\truled-out\t\tNo [[fever]].",
    "open\tpresent\t\tNo [[fever]] or chills.",
    "open\tfamily\tFamily History\t[[Diabetes]].",
    "kept\tpresent\t\tShe has [[asthma]].",
    "kept\thistorical\t\tNo secret [[rash]].",
)


def suite(folder: Path, *rows: str) -> AssertionSuite:
    (folder / "some.tsv").write_text("\n".join(rows or ROWS), encoding="utf-8")
    return AssertionSuite(folder)


def rows_of(report: dict) -> dict[str, dict]:
    return {row["system"]: {name: item["value"] for name, item in row["measures"].items()} for row in report["rows"]}


def test_the_suite_reports_in_the_stable_form(tmp_path: Path) -> None:
    report = suite(tmp_path).run(Settings(), SuiteOptions())
    assert json.loads(json.dumps(report)) == report
    found = rows_of(report)
    assert found["rules"] == {"accuracy": 0.6, "F1 of ruled-out": 0.5}
    assert found["rules, open"]["accuracy"] == pytest.approx(2 / 3, abs=1e-5)
    assert found["rules, kept"]["accuracy"] == 0.5
    assert found["rules: ruled-out"] == {"accuracy": 1.0}
    assert found["rules: historical"] == {"accuracy": 0.0}
    assert [row["system"] for row in suite(tmp_path).run(Settings(), SuiteOptions(variants=False))["rows"]] == ["rules"]


def test_sentences_by_further_hands_have_rows_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "further").mkdir()
    further = ("open\truled-out\t\tNo [[cough]].", "open\tfamily\t\tNo [[cough]].", "kept\tpresent\t\tA [[cough]].")
    (tmp_path / "further" / "other.tsv").write_text("\n".join(further), encoding="utf-8")
    found = rows_of(suite(tmp_path).run(Settings(), SuiteOptions()))
    assert found["rules"]["accuracy"] == 0.6
    assert found["rules, further, open"]["accuracy"] == 0.5
    assert found["rules, further, kept"]["accuracy"] == 1.0
    kept = rows_of(suite(tmp_path).run(Settings(), SuiteOptions(half="kept")))
    assert "rules, further, kept" in kept
    assert "rules, further, open" not in kept


@pytest.mark.parametrize("options", [SuiteOptions(mistakes=True), SuiteOptions(mistakes=True, half="open")])
def test_mistakes_are_printed_of_the_open_half_only(tmp_path: Path, options: SuiteOptions) -> None:
    printed = json.dumps(suite(tmp_path).run(Settings(), options))
    assert "ruled-out, not present: No [[fever]] or chills." in printed
    assert "secret" not in printed


def test_no_sentence_is_printed_unasked(tmp_path: Path) -> None:
    printed = json.dumps(suite(tmp_path).run(Settings(), SuiteOptions()))
    assert "chills" not in printed
    assert "secret" not in printed


def test_a_half_alone_can_be_measured(tmp_path: Path) -> None:
    report = suite(tmp_path).run(Settings(), SuiteOptions(half="kept"))
    assert report["queries"] == 2
    assert report["command"] == "medley evaluate assertion --half kept"
    assert "rules, kept" not in rows_of(report)


def test_a_sample_is_fixed(tmp_path: Path) -> None:
    first, second = (suite(tmp_path, *rows).run(Settings(), SuiteOptions(queries=3)) for rows in (ROWS, ROWS[::-1]))
    assert first["rows"] == second["rows"]
    assert first["sample"] == {"queries": 3, "of": 5, "fixed": True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SuiteOptions(half="other"), "half is 'other'; it is one of open, kept"),
        (SuiteOptions(half="kept", mistakes=True), "mistakes are printed for the half 'open' only"),
    ],
)
def test_unknown_options_are_refused(tmp_path: Path, options: SuiteOptions, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        suite(tmp_path).run(Settings(), options)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("open\tpresent\tNo [[fever]].", "some.tsv:1: a row has 4 columns"),
        ("shut\tpresent\t\tNo [[fever]].", "the half 'shut' is not one of"),
        ("open\tabsent\t\tNo [[fever]].", "'absent' is not one of present"),
        ("open\tpresent\t\tNo fever.", r"the text needs one mention in \[\[ \]\]"),
    ],
)
def test_a_malformed_sentence_is_named_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        suite(tmp_path, row).run(Settings(), SuiteOptions())


def test_without_sentences_there_is_nothing_to_measure(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there are no sentences"):
        AssertionSuite(tmp_path).run(Settings(), SuiteOptions())


def test_what_decides_a_report_is_in_its_identity(tmp_path: Path) -> None:
    before = suite(tmp_path).identify(Settings(), SuiteOptions())
    assert suite(tmp_path).identify(Settings(), SuiteOptions()) == before
    assert suite(tmp_path, *ROWS[:-1]).identify(Settings(), SuiteOptions()) != before
    assert before[0] == command(NAME, SuiteOptions())


def test_the_suite_is_registered_and_its_options_are_its_own() -> None:
    assert SUITES[NAME].standalone is not None
    ran = CliRunner().invoke(cli, ["evaluate", "notes", "--half", "open"])
    assert "--half is for assertion, not for notes" in str(ran.exception)


def test_the_bench_reports_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyse, "REPORTS", 50)
    report = analyse.bench_analyse(Settings())
    assert report["figures"]["reports"] == 50
    assert report["figures"]["reports_per_second"] > 0
    assert "speed_ratio" in report["figures"] or "not installed" in report["machine"]["medspacy"]
