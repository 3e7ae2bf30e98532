from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluation.suites import findings
from evaluation.task import Task
from mappings.clinical.reading import shipped_reader
from mappings.datasets.indiana_cxr import read_reports
from search.settings import Settings

READS = shipped_reader()


def write_reports(root: Path, rows: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Reports by id and headings."""
    (root / "indiana_cxr").mkdir()
    records = [
        {"uid": uid, "findings": "Invented text.", "impression": "", "indication": "Cough.", "MeSH": mesh}
        for uid, mesh in rows
    ]
    (root / "indiana_cxr/reports.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return records


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """Twelve invented reports each of a round opacity and of crowded markings, and nine of a nodule."""
    rows = [
        *((f"round-{number}", "Opacity/lung/apex/round;Cardiac Shadow/enlarged") for number in range(12)),
        *((f"crowded-{number}", "Markings/bronchovascular/mild") for number in range(12)),
        *((f"nodule-{number}", "Nodule/lung ; Mass") for number in range(9)),
    ]
    records = write_reports(tmp_path, rows)
    records.append({"uid": "empty", "findings": "", "impression": "", "indication": "Cough.", "MeSH": "Nodule"})
    records.append(records[0] | {"uid": "unjudged", "MeSH": "No Indexing"})
    (tmp_path / "indiana_cxr/reports.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return findings.task(Settings(data=tmp_path))


def test_headings_are_told_alone_and_with_what_is_behind_them(tmp_path: Path, task: Task) -> None:
    reports = {report.id: report.headings for report in read_reports(tmp_path)}
    assert reports["round-0"] == {
        "Opacity",
        "Opacity/lung",
        "Opacity/apex",
        "Opacity/round",
        "Cardiac Shadow",
        "Cardiac Shadow/enlarged",
    }


def test_reports_answer_by_their_headings_and_qualifiers(task: Task) -> None:
    rounded, nodules = (
        {f"{kind}-{number}" for number in range(count)} for kind, count in (("round", 12), ("nodule", 9))
    )
    assert set(task.judgements["nodule"]) == rounded | nodules
    assert set(task.judgements["cardiomegaly"]) == rounded
    assert set(task.judgements["opacity"]) == rounded


def test_too_rare_findings_are_no_questions(task: Task) -> None:
    assert {question.id for question in task.questions} == {"nodule", "cardiomegaly", "opacity"}
    assert set(task.judgements) == {"nodule", "cardiomegaly", "opacity"}
    assert [question.having for question in task.questions if question.id == "nodule"] == [("nodule",)]


def test_documents_have_what_a_report_has(task: Task) -> None:
    documents = {document.id: document for document in task.corpus.documents()}
    assert len(documents) == 33  # neither the empty one, nor the one that no indexer was given
    assert "unjudged" not in documents
    assert [section.heading for section in documents["nodule-0"].sections] == ["Indication", "Findings"]


def test_two_findings_are_asked_for_together_and_one_without_the_other(tmp_path: Path) -> None:
    rows = [
        *((f"both-{number}", "Cardiomegaly;Pleural Effusion/left") for number in range(10)),
        *((f"heart-{number}", "Cardiomegaly/mild") for number in range(10)),
        *((f"fluid-{number}", "Pleural Effusion;Mass") for number in range(9)),
        *((f"round-{number}", "Opacity/round") for number in range(20)),
    ]
    write_reports(tmp_path, rows)
    main, together, without = findings.tasks(Settings(data=tmp_path))
    assert main.questions == findings.task(Settings(data=tmp_path)).questions
    assert main.notes[-1].startswith("1 texts 'A and B' and 1 texts 'A without B'")
    # A round opacity is a nodule, and no second finding; nine effusions without cardiomegaly are too few.
    assert [(item.id, item.text) for item in together.questions] == [
        ("cardiomegaly-and-pleural-effusion", "cardiomegaly and pleural effusion")
    ]
    assert set(together.judgements["cardiomegaly-and-pleural-effusion"]) == {f"both-{number}" for number in range(10)}
    assert [item.text for item in without.questions] == ["cardiomegaly without pleural effusion"]
    assert set(without.judgements["cardiomegaly-without-pleural-effusion"]) == {
        f"heart-{number}" for number in range(10)
    }
    assert [item.variant for item in (together, without)] == ["A and B", "A without B"]


def test_reports_without_two_findings_give_the_main_task_alone(tmp_path: Path) -> None:
    write_reports(tmp_path, [(f"curved-{number}", "Scoliosis") for number in range(10)])
    (alone,) = findings.tasks(Settings(data=tmp_path))
    main = findings.task(Settings(data=tmp_path))
    assert (alone.variant, alone.questions, alone.notes) == ("", main.questions, main.notes)


@pytest.mark.parametrize("finding", findings.HEADINGS)
def test_the_lexicon_knows_every_finding_that_is_asked_for(finding: str) -> None:
    assert len(READS.read_alone(finding)) == 1
