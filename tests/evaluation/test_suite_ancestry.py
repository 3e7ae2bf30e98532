"""`medley evaluate` says beside a suite whether its models, or models that they come from, were trained on it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from test_suites import folder
from tiny import write_artifact

from encoders.ancestry.record import Ancestry, KnownOverlap
from encoders.ancestry.seen import SeenTexts, text_hash
from encoders.artifact import Artifact
from evaluation.plan import renew
from evaluation.reporting import reports
from evaluation.run import run_suite
from evaluation.suite import Report, SuiteOptions
from mappings.errors import ModelError
from search.settings import Settings

pytest.importorskip("ir_measures")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return folder(tmp_path / "mine")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(
        Settings(), home=tmp_path / "home", encoder="tiny-bi", reranker="tiny-cross", models=tmp_path / "models"
    )


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Artifact]:
    kinds = {"tiny-bi": "bi-encoder", "tiny-cross": "cross-encoder"}
    return {name: write_artifact(tmp_path / "models" / name, kind) for name, kind in kinds.items()}  # type: ignore[arg-type]


def saw(*texts: str) -> Ancestry:
    return Ancestry.of_root("tiny").with_run({"name": "run"}, SeenTexts.of(map(text_hash, texts)))


def measured(mine: Path, settings: Settings) -> tuple[Report, str]:
    """The report, and what the terminal shows of it."""
    report = run_suite("beir", SuiteOptions(folder=mine), settings)
    shown = io.StringIO()
    reports.show(report, Console(file=shown, width=250))
    return report, shown.getvalue()


def test_models_are_clean_overlapping_or_unknown(mine: Path, settings: Settings, models: dict[str, Artifact]) -> None:
    report, shown = measured(mine, settings)
    assert [(row["model"], row["state"]) for row in report["ancestry"]] == [
        ("tiny-bi", "unknown"),
        ("tiny-cross", "unknown"),
    ]
    assert "tiny-bi and this suite: unknown (unknown: tiny-bi has no ancestry.json)" in shown
    lines = (mine / "queries.jsonl").read_text().splitlines()
    saw("Another text").write(models["tiny-bi"].folder, models["tiny-bi"].fingerprint)
    saw(*(line.split('"text": "')[1].rstrip('"}') for line in lines[:3])).write(
        models["tiny-cross"].folder, models["tiny-cross"].fingerprint
    )
    report, shown = measured(mine, settings)
    assert [(row["state"], row["queries"]) for row in report["ancestry"]] == [("clean", 0), ("overlap", 3)]
    assert "tiny-bi and this suite: clean (saw nothing of this suite)" in shown
    assert "tiny-cross and this suite: overlap (saw 3 queries of this suite)" in shown
    assert "overlap (saw 3 queries of this suite)" in reports.markdown(report)


def test_a_kept_report_says_what_is_recorded_today(mine: Path, settings: Settings, models: dict[str, Artifact]) -> None:
    options = SuiteOptions(folder=mine)
    report = {key: value for key, value in run_suite("beir", options, settings).items() if key != "ancestry"}
    saw("Another text").write(models["tiny-bi"].folder, models["tiny-bi"].fingerprint)
    found = renew(report, "beir", options, settings)["ancestry"]
    assert [(row["model"], row["state"]) for row in found] == [("tiny-bi", "clean"), ("tiny-cross", "unknown")]


def test_what_a_person_recorded_is_printed(mine: Path, settings: Settings, models: dict[str, Artifact]) -> None:
    known = Ancestry(unknown=("lost",), overlaps=(KnownOverlap("beir", "an old run saw 59 passages"),))
    known.write(models["tiny-cross"].folder, models["tiny-cross"].fingerprint)
    _, shown = measured(mine, settings)
    assert "tiny-cross and this suite: overlap (an old run saw 59 passages; unknown: lost)" in shown


def test_a_model_that_is_not_used_or_not_trained_is_not_named(
    mine: Path, settings: Settings, models: dict[str, Artifact]
) -> None:
    report = run_suite("beir", SuiteOptions(folder=mine, rerank=False), replace(settings, encoder="hashing-256"))
    assert report["ancestry"] == []
    assert reports.sentences(report) == reports.sentences({key: report[key] for key in report if key != "ancestry"})


def test_a_damaged_record_is_an_error(mine: Path, settings: Settings, models: dict[str, Artifact]) -> None:
    (models["tiny-bi"].folder / "ancestry.json").write_text("{")
    with pytest.raises(ModelError, match="is not a record of ancestry"):
        run_suite("beir", SuiteOptions(folder=mine), settings)
