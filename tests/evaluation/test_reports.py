"""Reports: the table, the Markdown and the page, whole."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from evaluation.published.choices import choices_section, read_choices
from evaluation.published.notes import footnotes
from evaluation.reporting import page, reports
from mappings.errors import InvalidInput, NotFound


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.05, "high": value + 0.05}


REPORT = {
    "suite": "medquad",
    "collection": "articles",
    "queries": 500,
    "sample": {"queries": 500, "of": 3293, "fixed": True},
    "rows": [
        {"system": "fused", "measures": {"Success@1": estimate(0.6)}},
        {"system": "reranked", "measures": {"Success@1": estimate(0.71), "AP": estimate(0.8)}},
    ],
    "tests": [
        {
            "system": "reranked",
            "against": "fused",
            "measure": "Success@1",
            "difference": {"value": 0.11, "low": 0.08, "high": 0.14},
            "p": 0.0001,
        }
    ],
    "published": [
        {"system": "HAR", "source": "CAPR", "measures": {"Success@1": 0.5565, "Success@5": 0.8545}, "note": ""}
    ],
    "notes": ["test split"],
    "command": "medley evaluate medquad --queries 500",
    "models": {
        "encoders": {"dense": {"name": "medley-biencoder", "fingerprint": "0123456789abcdef"}},
        "reranker": "medley-crossencoder",
        "fusion": {"method": "weighted", "normalisation": "minmax", "weights": {"bm25": 0.4, "dense": 0.6}},
        "rerank_weight": 0.7,
        "candidates": 50,
    },
}
SECTION = """## medquad --queries 500: 500 queries (fixed sample of 3,293)

`medley evaluate medquad --queries 500`

| system | Success@1 | AP | Success@5 |
|---|---|---|---|
| fused | 0.600 (0.550–0.650) |  |  |
| reranked | 0.710 (0.660–0.760) | 0.800 (0.750–0.850) |  |
| HAR [CAPR] | 0.5565 |  | 0.8545 |

- reranked against fused, Success@1: +0.110 (+0.080 to +0.140), p = 0.0001
- test split
- made with medley-biencoder (0123456789ab); fusion weighted, minmax (bm25 0.4, dense 0.6); medley-crossencoder with weight 0.7 on 50 candidates
"""


def test_markdown_whole() -> None:
    assert reports.markdown(REPORT) == SECTION


def test_the_first_of_two_stages_is_named() -> None:
    first = {"name": "medley-crossencoder-small", "keep": 10, "weight": 0.15}
    told = reports.markdown({**REPORT, "models": {**REPORT["models"], "first_stage": first}})
    assert told == SECTION.rstrip() + ", of which medley-crossencoder-small with weight 0.15 passes on 10\n"


def test_what_is_read_of_a_passage_is_told() -> None:
    told = reports.markdown({**REPORT, "models": {**REPORT["models"], "parts": {"words": 60, "best": 2}}})
    read = "; of each passage the 2 parts of 60 words nearest to the query are read\n"
    assert told == SECTION.rstrip() + read


def test_what_is_closed_of_the_distance_is_said() -> None:
    closes = {"value": 0.345, "low": 0.2, "high": 0.481}
    test = REPORT["tests"][0] | {"closes": closes}  # type: ignore[index]
    assert reports.sentences(REPORT | {"tests": [test]})[0] == (
        "reranked against fused, Success@1: +0.110 (+0.080 to +0.140), p = 0.0001"
        "; closes 34.5% (20.0% to 48.1%) of the distance to a perfect one"
    )


def published(system: str, note: str) -> dict[str, object]:
    return {"system": system, "source": "CAPR", "measures": {"Success@1": 0.5}, "note": note}


def test_how_the_set_up_of_published_rows_differs_is_not_dropped() -> None:
    rows = [published("HAR", "zero-shot"), published("Poly", "zero-shot"), published("BM25", "asked by slots")]
    report = REPORT | {"published": rows}
    told = reports.markdown(report)
    for part in (
        "| HAR [CAPR]¹ |",
        "| Poly [CAPR]¹ |",
        "| BM25 [CAPR]² |",
        "\n\n- ¹ zero-shot\n- ² asked by slots\n- reranked",
    ):
        assert part in told
    stream = io.StringIO()
    reports.show(report, Console(file=stream, width=160))
    for part in ("HAR [CAPR]¹", "BM25 [CAPR]²", "  ¹ zero-shot\n  ² asked by slots\n"):
        assert part in stream.getvalue()


def test_a_note_of_our_own_row_is_numbered_before_those_of_published_ones() -> None:
    rows = [*REPORT["rows"][:1], REPORT["rows"][1] | {"note": "trained on other documents"}]  # type: ignore[index]
    report = REPORT | {"rows": rows, "published": [published("HAR", "zero-shot")]}
    assert [row[0] for row in reports.cells(report)] == ["fused", "reranked¹", "HAR [CAPR]²"]
    assert reports.sentences(report)[:2] == ["¹ trained on other documents", "² zero-shot"]


def test_the_row_that_is_most_alike_stands_beside_the_best_published_one_and_says_where_it_is_behind() -> None:
    better = {"system": "Cross", "source": "CAPR", "measures": {"Success@1": 0.6, "AP": 0.85}, "note": "zero-shot"}
    report = REPORT | {"published": [published("HAR", "zero-shot"), better], "alike": "reranked"}
    told = "beside the best published row, reranked: Success@1 0.710 against 0.600 (Cross); AP 0.800 against 0.850 (Cross), behind"
    assert reports.sentences(report)[1] == told
    for other in ({"alike": "nobody"}, {"published": []}):
        assert not any("beside the best" in sentence for sentence in reports.sentences(report | other))


def test_a_tenth_note_has_a_number_of_two_digits() -> None:
    report = REPORT | {"published": [published(f"row {number}", f"note {number}") for number in range(10)]}
    assert footnotes(report)[-1] == "¹⁰ note 9"


def test_a_baseline_is_named_with_its_fingerprint() -> None:
    baseline = {"name": "minilm", "fingerprint": "fedcba9876543210"}
    told = reports.markdown({**REPORT, "models": {**REPORT["models"], "baseline": baseline}})  # type: ignore[dict-item]
    assert told == SECTION.rstrip() + "; baseline: minilm (fedcba987654) with the same fusion\n"


def test_the_terminal_shows_rows_published_rows_tests_and_notes() -> None:
    stream = io.StringIO()
    reports.show(REPORT, Console(file=stream, width=160))
    shown = stream.getvalue()
    for part in (
        "500 queries (fixed sample of 3,293)",
        "0.710 (0.660–0.760)",
        "HAR [CAPR]",
        "p = 0.0001",
        "test split",
    ):
        assert part in shown


def test_the_page_is_written_from_the_kept_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(REPORT))
    assert page.write_page(tmp_path, tmp_path / "results.md") == 1
    ledger = read_choices()
    report = reports.markdown(REPORT, ledger.of_suite("medquad"))
    contents = "- [medquad --queries 500: 500 queries (fixed sample of 3,293)](#medquad---queries-500-500-queries-fixed-sample-of-3293)"
    written = (tmp_path / "results.md").read_text()
    assert written == "\n".join([page.INTRODUCTION, contents, "", report, choices_section(ledger)])


def test_published_rows_stand_under_the_first_report_of_a_suite(tmp_path: Path) -> None:
    again = REPORT | {"command": "medley evaluate medquad --systems ours"}
    for name, report in (("a", REPORT), ("b", again), ("c", again | {"published": [published("Poly", "")]})):
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    page.write_page(tmp_path, tmp_path / "results.md")
    first, second, third = (tmp_path / "results.md").read_text().split("\n## ")[1:4]
    assert "| HAR [CAPR] | 0.5565 |" in first
    assert "published rows stand" not in first + third
    assert "HAR" not in second
    assert (
        "\n- published rows stand under [medquad --queries 500: 500 queries (fixed sample of 3,293)]"
        "(#medquad---queries-500-500-queries-fixed-sample-of-3293)\n" in second
    )
    assert "Poly [CAPR]" in third  # other rows than the first one's


@pytest.mark.parametrize("content", ["{nope", "[]", '{"suite": "x"}'])
def test_a_file_that_is_no_report_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"bad\.json is no"):
        page.write_page(tmp_path, tmp_path / "results.md")


def test_no_reports_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="contains no report"):
        page.write_page(tmp_path, tmp_path / "results.md")


def test_a_pipe_gets_long_lines_and_a_narrow_terminal_keeps_the_systems() -> None:
    piped, narrow = io.StringIO(), io.StringIO()
    reports.show(REPORT, Console(file=piped, width=40))
    reports.show(REPORT, Console(file=narrow, width=60, force_terminal=True, color_system=None))
    assert any("reranked" in line and "0.710 (0.660–0.760)" in line for line in piped.getvalue().splitlines())
    assert any("reranked" in line and "0.710" in line for line in narrow.getvalue().splitlines())
    assert max(map(len, narrow.getvalue().splitlines())) <= 60


def test_benches_and_tunings_have_sections_of_their_own(tmp_path: Path) -> None:
    bench = {"bench": "search", "machine": {"cores": 2}, "figures": {"p50_ms": 12.5, "p50_ratio": 9.1}}
    fusion = {"method": "weighted", "normalisation": "minmax", "weights": {"bm25": 0.4, "dense": 0.6}}
    tuned = {
        "tune": "abstracts",
        "measure": "nDCG@10",
        "queries": 147,
        "grid": [fusion | {"nDCG@10": estimate(0.7)}],
        "rerank": [{"weight": 0.2, "nDCG@10": estimate(0.72)}],
        "chosen": {"fusion": fusion, "rerank": 0.2},
        "notes": ["held-out claims"],
        "command": "medley tune abstracts",
    }
    for name, report in (("b", bench), ("t", tuned), ("z", REPORT)):
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    assert page.write_page(tmp_path, tmp_path / "page.md") == 3
    written = (tmp_path / "page.md").read_text()
    assert (
        written.index(f"## {REPORT['suite']}") < written.index("## tune abstracts") < written.index("## bench search")
    )
    assert (
        "## bench search\n\n`medley bench search` on cores 2\n\n| figure | value |\n|---|---|\n| p50_ms | 12.5 |\n"
        in written
    )
    assert "| weighted minmax (bm25 0.4, dense 0.6) | 0.700 (0.650–0.750) |\n| reranker's share 0.2 | 0.720" in written
    assert "- chosen: weighted minmax (bm25 0.4, dense 0.6), reranker's share 0.2\n- held-out claims\n" in written
