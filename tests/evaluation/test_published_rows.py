"""Rows beside those of others: every published one says how it differs, and what is most alike comes first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_tasks import write

from evaluation.plan import renew
from evaluation.run import run_suite
from evaluation.suite import SuiteOptions
from evaluation.suites import claims, medquad, scifact
from evaluation.suites.radiology import judgements
from evaluation.task import Published
from mappings.errors import InvalidInput, ModelError
from search.settings import Settings

pytest.importorskip("ir_measures")
pytest.importorskip("rank_bm25")

NAMES = ("gout", "mumps", "rickets", "blue fever")
TEMPLATES = {"information": "What is (are) {} ?", "treatment": "What are the treatments for {} ?"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Articles on four invented test entities and one other, which is left for training."""

    def passage(name: str, kind: str) -> dict[str, str]:
        text = f"{kind} of {name}: {len(name)} things to know"
        return {"id": f"{name}-{kind}", "question": TEMPLATES[kind].format(name), "question_type": kind, "text": text}

    articles = [{"id": name, "title": name, "passages": [passage(name, kind) for kind in TEMPLATES]} for name in NAMES]
    other = {"id": "scurvy", "title": "Scurvy", "passages": [passage("Scurvy", "information")]}
    write(tmp_path, "medquad/documents.jsonl.gz", [*articles, other])
    judged = [(f"{name}-{kind}", name, kind) for name in NAMES for kind in TEMPLATES]
    rows = [{"passage": key, "document": name, "entity": name} for key, name, _ in judged]
    write(tmp_path, "medquad/cdv_test_passages.jsonl.gz", rows)
    queries = [
        {
            "id": f"q-{key}",
            "question": TEMPLATES[kind].format(name),
            "entity": name,
            "aspect": kind,
            "aspect_heading": kind,
            "relevant": [key],
        }
        for key, name, kind in judged
    ]
    write(tmp_path, "medquad/cdv_test_queries.jsonl.gz", queries)
    return replace(Settings(), data=tmp_path, home=tmp_path / "home", encoder="hashing-256", reranker="none")


def test_every_published_row_says_how_its_set_up_differs() -> None:
    rows = [*medquad.PUBLISHED, *claims.PUBLISHED, *scifact.PUBLISHED, *judgements.PUBLISHED]
    assert all(row.note for row in rows)
    trained = [row for row in medquad.PUBLISHED if row.system not in {"BM25", "TF-IDF"}]
    assert all("and on nothing of MedQuAD" in row.note for row in trained)
    assert all(("clinical notes" in row.note) == ("MIMIC-III" in row.system) for row in trained)
    assert all("by entity and aspect" in row.note for row in medquad.PUBLISHED)


@pytest.mark.parametrize("note", ["", "  "])
def test_a_published_row_without_a_note_is_refused(note: str) -> None:
    with pytest.raises(InvalidInput, match="'HAR' does not say how its set-up differs"):
        Published("HAR", "CAPR", {"Success@1": 0.5}, note)


def test_published_rows_beside_a_harder_task_say_so(settings: Settings) -> None:
    full = medquad.tasks(settings, full=True)[0]
    assert all("an easier task than this table's" in row.note for row in full.published)
    assert not any("easier" in row.note for row in medquad.tasks(settings)[0].published)


def test_the_rows_with_the_set_up_of_the_published_ones_come_first(settings: Settings) -> None:
    report = run_suite("medquad", SuiteOptions(), settings)
    systems = [row["system"] for row in report["rows"]]
    assert systems[:7] == [
        *(f"{name}, entity + aspect" for name in ("TF-IDF", "BM25", "BM25+", "BM25+†", "bm25", "dense", "fused"))
    ]
    assert systems[7:11] == ["TF-IDF", "BM25", "BM25+", "BM25+†"]
    assert report["tests"][0]["system"] == "fused, entity + aspect"


def test_the_untrained_base_is_measured_in_the_same_set_up(settings: Settings) -> None:
    report = run_suite("medquad", SuiteOptions(baseline="hashing-256"), settings)
    rows = {row["system"]: row for row in report["rows"]}
    assert [*rows][4:9] == [
        *("bm25, entity + aspect", "dense, entity + aspect", "fused, entity + aspect"),
        *("baseline dense, entity + aspect", "baseline fused, entity + aspect"),
    ]
    assert [*rows][-2:] == ["baseline dense", "baseline fused"]
    for suffix in ("", ", entity + aspect"):  # the collection's encoder is the baseline here: so are its figures
        assert rows[f"baseline dense{suffix}"]["measures"] == rows[f"dense{suffix}"]["measures"]
    assert report["models"]["baseline"]["name"] == "hashing-256"
    assert report["command"] == "medley evaluate medquad --baseline hashing-256"


def test_a_baseline_that_is_not_there_is_named_before_anything_is_measured(settings: Settings) -> None:
    with pytest.raises(ModelError, match="there is no model 'nope'"):
        run_suite("medquad", SuiteOptions(baseline="nope"), settings)
    assert not (settings.home / "evaluation").exists()


def test_rows_of_models_say_what_these_were_trained_on(settings: Settings) -> None:
    rows = {row["system"]: row for row in run_suite("medquad", SuiteOptions(), settings)["rows"]}
    known = "trained on MedQuAD's other documents; 50.0% of the test questions use a template"
    assert rows["dense"]["note"].startswith(known)
    assert rows["fused, with document title"]["note"].startswith(known)
    assert "not zero-shot" in rows["dense, entity + aspect"]["note"]
    assert not any("note" in rows[name] for name in ("bm25", "BM25+†", "bm25, entity + aspect"))


def test_a_kept_report_says_what_its_suite_says_today(settings: Settings) -> None:
    options = SuiteOptions(baseline="hashing-256")
    report = run_suite("medquad", options, settings)
    worded = report["rows"][-1:] + report["rows"][:-1]
    old = report | {
        "rows": [{"system": row["system"], "measures": row["measures"], "note": "of before"} for row in worded],
        "published": [],
        "notes": ["of before"],
    }
    renewed = renew(old, "medquad", options, settings)
    assert [row["system"] for row in renewed["rows"][:5]] == [row["system"] for row in report["rows"][:5]]
    assert "of before" not in str(renewed)
    assert (renewed["published"], renewed["notes"]) == (report["published"], report["notes"])
    assert {row["system"]: row for row in renewed["rows"]} == {row["system"]: row for row in report["rows"]}
    assert {key: renewed[key] for key in ("seconds", "models")} == {key: report[key] for key in ("seconds", "models")}
