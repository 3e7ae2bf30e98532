"""The figures that README and the limitations tell are those of the reports in `docs/results`, and its page is theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaluation.reporting.page import write_page

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs/results"
STAGES = ("bm25", "dense", "fused", "reranked")
MEDQUAD = "medquad-baseline-minilm"
SAMPLE, TOWERS = "medquad-queries-100", "medquad-systems-capr-towers-no-rerank"
TABLE: Mapping[str, tuple[str, str]] = {
    "`medley evaluate scifact`": ("scifact", ""),
    "`medley evaluate scifact --distractors`": ("scifact-distractors", ""),
    "`medley evaluate medquad --queries 100`, by entity and aspect ¹": (SAMPLE, ", entity + aspect"),
    "the same by question ¹": (SAMPLE, ""),
    "by question, with the document's title ¹": (SAMPLE, ", with document title"),
    "`medley evaluate medquad --full --queries 500`, by question, with the title": (
        "medquad-queries-500-full",
        ", with document title",
    ),
    "`medley evaluate check-covid`": ("check-covid", ""),
    "`medley evaluate check-covid --distractors`": ("check-covid-distractors", ""),
    "`medley evaluate cystic-fibrosis`": ("cystic-fibrosis", ""),
    "`medley evaluate notes`": ("notes", ""),
    "`medley evaluate press`": ("press", ""),
    "`medley evaluate evidence --queries 500`": ("evidence-queries-500", ""),
}
"""First cell of a row of README's table → the report that holds its figures, and what marks its rows there."""
LIMITS = (
    ("evidence-queries-500", "RR", "reranked", "bm25"),
    ("citations-simple", "nDCG@10", "reranked", "fused"),
)
"""The rows of the limitations' table on our own stages: report, measure, all stages, the better one."""
FOLDS = "radiology-folds-folds-baseline-minilm"
LIKES: Sequence[tuple[str, str, str, str]] = (
    ("README.md", MEDQUAD, "Success@1", r"until 25 November had (\.\d+) and|reranked, entity + aspect"),
    ("README.md", MEDQUAD, "Success@5", r"until 25 November had \.\d+ and (\.\d+)|reranked, entity + aspect"),
    ("README.md", MEDQUAD, "Success@1", r"64 candidates had (\.\d+) by entity|reranked, entity + aspect"),
    ("README.md", MEDQUAD, "Success@1", r"aspect, (\.\d+) by question and|reranked"),
    ("README.md", MEDQUAD, "Success@1", r"by question and (\.\d+) with the title|reranked, with document title"),
    ("README.md", SAMPLE, "Success@1", r"today's have (\.\d+) and|reranked, entity + aspect"),
    ("README.md", SAMPLE, "Success@5", r"today's have \.\d+ and (\.\d+)|reranked, entity + aspect"),
    ("README.md", MEDQUAD, "Success@1", r"MiniLM, has (\.\d+) and|baseline dense, entity + aspect"),
    ("README.md", MEDQUAD, "Success@5", r"MiniLM, has \.\d+ and (\.\d+)|baseline dense, entity + aspect"),
    ("README.md", MEDQUAD, "Success@1", r"encoder shipped until then (\.\d+) and|dense, entity + aspect"),
    ("README.md", TOWERS, "Success@1", r"and today's (\.\d+) and|dense, entity + aspect"),
    ("README.md", TOWERS, "Success@5", r"and today's \.\d+ and (\.\d+)|dense, entity + aspect"),
    ("README.md", MEDQUAD, "Success@1", r"untrained base, too \((\.\d+) by|baseline dense"),
    ("README.md", FOLDS, "AP", r"\(mAP\) of (\.\d+) on the other half|2-fold + bm25, feedback"),
    ("README.md", FOLDS, "AP", r"untrained MiniLM reaches (\.\d+)|baseline + bm25, feedback"),
    ("README.md", "radiology", "AP", r"and today's encoder (\.\d+)|dense, unmarked + bm25, feedback"),
    ("README.md", FOLDS, "AP", r"the three have (\.\d+)|2-fold"),
    ("README.md", FOLDS, "AP", r"the three have \.\d+, (\.\d+)|baseline"),
    ("README.md", "radiology", "AP", r"the three have \.\d+, \.\d+ and (\.\d+)|dense, unmarked"),
    ("README.md", FOLDS, "AP", r"and BM25 alone has (\.\d+)|bm25"),
    ("README.md", "findings", "AP", r"3,734 reports has an mAP of (\.\d+)|reranked, A without B"),
    ("README.md", "findings", "AP", r"and of (\.\d+) for \"A and B\"|reranked, A and B"),
    ("docs/user/limitations.md", "radiology", "AP", r"reaches (\.\d+) beside BM25|dense, unmarked + bm25"),
    ("docs/ml/models.md", TOWERS, "Success@1", r"today's bi-encoder has Success@1 (\.\d+)|dense, entity + aspect"),
    ("docs/user/limitations.md", "check-covid-distractors", "Success@1", r"Success@1 (\.\d+)\)|reranked"),
    ("docs/ml/models.md", MEDQUAD, "Success@1", r"untrained base has (\.\d+)|baseline dense, entity + aspect"),
)
"""Page, report, measure, and pattern|system: the figure that the pattern finds in the page is that system's."""


@cache
def report(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def figure(name: str, system: str, measure: str) -> str:
    row = next(row for row in report(name)["rows"] if row["system"] == system)
    return f"{row['measures'][measure]['value']:.3f}".removeprefix("0")


def table_rows(page: str) -> list[list[str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        [cell.strip().strip("*") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"
    ]


def test_every_row_of_readmes_table_is_that_of_its_report() -> None:
    rows = {row[0]: row[1:] for row in table_rows("README.md") if len(row) == 6 and row[0] not in {"command", "---"}}
    assert rows.keys() == TABLE.keys()
    for name, (measure, *figures) in rows.items():
        file, suffix = TABLE[name]
        assert figures == [figure(file, f"{stage}{suffix}", measure) for stage in STAGES], name


def test_the_limitations_name_the_stage_that_is_better() -> None:
    rows = [row for row in table_rows("docs/user/limitations.md") if len(row) == 4]
    told = {(row[1], row[2], row[3].rpartition(": ")[2]) for row in rows}
    for name, measure, all_stages, better in LIMITS:
        assert (measure, figure(name, all_stages, measure), figure(name, better, measure)) in told, name


@pytest.mark.parametrize(("page", "name", "measure", "found"), LIKES)
def test_a_figure_in_a_sentence_is_that_of_its_report(page: str, name: str, measure: str, found: str) -> None:
    pattern, system = found.rsplit("|", 1)
    told = re.search(pattern, (ROOT / page).read_text(encoding="utf-8"))
    assert told is not None, f"{page} says nothing like {pattern}"
    assert told[1] == figure(name, system, measure)


def test_the_share_of_known_templates_is_told_as_it_was_counted() -> None:
    notes = {row["note"] for row in report(MEDQUAD)["rows"] if "template" in row.get("note", "")}
    shares = {match[1] for note in notes if (match := re.search(r"; (\d+\.\d)% of the test questions", note))}
    for page in ("README.md", "docs/user/limitations.md", "docs/ml/models.md"):
        assert set(re.findall(r"(\d+\.\d) % of", (ROOT / page).read_text(encoding="utf-8"))) == shares, page


def test_the_pages_of_results_are_what_the_reports_render(tmp_path: Path) -> None:
    """`medley evaluate SUITE --report docs/results` writes it; a report or a choice that changes needs it written again."""
    write_page(RESULTS, tmp_path / "results.md")
    for name in ("results.md", "papers.md"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (ROOT / "docs" / name).read_text(encoding="utf-8"), name
