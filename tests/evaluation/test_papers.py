"""The papers' tables: what is quoted of them, how it becomes rows of a suite, and the page beside our own rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from encoders.training.recipe_source import RECIPES as ALL_RECIPES
from evaluation.published.systems import (
    FOLDER,
    PAPERS,
    Paper,
    iterate_rows,
    published_rows,
    read_paper,
    read_papers,
    split_names,
)
from evaluation.published.tables import NOT_RUN, PAGE, find_own, papers_page, write_papers_page
from evaluation.task import SEPARATOR
from mappings.errors import InvalidInput, NotFound

ROOT = Path(__file__).parents[2]
INVENTED = """paper = "PAPER"
title = "On invented figures"

[ids]
V8 = "baselines"
P3 = "bi-encoder"

[[table]]
name = "questions"
source = "PAPER, table 1"
suite = "medquad"
variant = "entity + aspect"
measures = ["Success@1", "AP"]
percent = true
digits = 4
about = "Table 1: ten candidates."

[[table.part]]
note = "other words"
rows = [{ id = "V8", system = "BM25", figures = [31.98, 40], recipe = "BM25", shipped = "bm25" }]

[[table.part]]
data = "Wikipedia"
ways = ["zero-shot", ""]
note = "zero-shot"
rows = [
    { id = "P3", system = "Bi", base = "BERT", figures = [62.9, 70.1], recipe = "bi", shipped = "dense" },
    { id = "P3", system = "Bi, large", base = "BERT", figures = [63, 71], recipe = "large" },
    { id = "V8", system = "HAR", figures = [55, 56] },
]

[[table]]
name = "findings"
source = "PAPER, table 2"
suite = "radiology"
measures = ["AP, positive", "AP", "separation", "separation.deviation"]
digits = 2
about = "Table 2: folds."

[[table.part]]
marked = "of two"
note = "their labels"
rows = [{ id = "P3", system = "SBERT", figures = [0.4, 0.3, -0.04, 0.06], recipe = "2-fold" }]
"""
SECTION = """## PAPER: On invented figures

V8 baselines; P3 bi-encoder.

### PAPER: questions

Table 1: ten candidates.
Each cell has Success@1 / AP.

| id | system | trained on | base | published | ours by the paper's recipe | ours as shipped |
|---|---|---|---|---|---|---|
| V8 | BM25 | – | – | 0.3198 / 0.4000¹ | not run | 0.300 / 0.500² |
| P3 | Bi | Wikipedia | BERT | 0.6290 / 0.7010³ | 0.500 / 0.600⁴; 0.550 / –⁵ | 0.700 / 0.800⁶ |
| P3 | Bi, large | Wikipedia | BERT | 0.6300 / 0.7100³ | not run | – |
| V8 | HAR | Wikipedia | – | 0.5500 / 0.5600³ | not run | – |

- ¹ other words
- ² ours: row 'bm25, entity + aspect' of `medley evaluate medquad`, 1,000 queries
- ³ zero-shot
- ⁴ ours: row 'bi-zero-shot, entity + aspect' of `medley evaluate medquad --queries 10`, 10 queries (a fixed sample)
- ⁵ ours: row 'bi, entity + aspect' of `medley evaluate medquad`, 1,000 queries; trained on other documents
- ⁶ ours: row 'dense, entity + aspect' of `medley evaluate medquad`, 700 queries; made with medley-biencoder (0123456789ab)

### PAPER: findings

Table 2: folds.
Each cell has AP, positive / AP / separation / deviation of separation.

| id | system | trained on | base | published | ours by the paper's recipe | ours as shipped |
|---|---|---|---|---|---|---|
| P3 | SBERT | – | – | 0.40 / 0.30 / -0.04 / 0.06¹ | 0.710 / 0.700 / 0.420 / 0.260² | – |

- ¹ their labels
- ² ours: row '2-fold' of `medley evaluate radiology`, 4 queries
"""


def row(system: str, note: str = "", **measures: float) -> dict[str, Any]:
    found = {name.replace("_", "@"): {"value": value, "low": 0, "high": 1} for name, value in measures.items()}
    return {"system": system, "measures": found} | ({"note": note} if note else {})


MODELS = {"encoders": {"dense": {"name": "medley-biencoder", "fingerprint": "0123456789abcdef"}}, "reranker": None}
SEPARATED = {"system": "2-fold", "measures": {"AP": {"value": 0.7}, "separation": {"value": 0.42, "deviation": 0.26}}}
REPORTS = (
    {
        "suite": "medquad",
        "queries": 10,
        "sample": {"of": 1000},
        "command": "medley evaluate medquad --queries 10",
        "rows": [
            row("bm25, entity + aspect", Success_1=0.9, AP=0.9),
            row("bi-zero-shot, entity + aspect", Success_1=0.5, AP=0.6),
        ],
    },
    {
        "suite": "medquad",
        "queries": 1000,
        "sample": None,
        "command": "medley evaluate medquad",
        "models": MODELS,
        "rows": [
            row("bm25, entity + aspect", Success_1=0.3, AP=0.5),
            row("bm25", Success_1=0.1, AP=0.1),
            row("bi, entity + aspect", note="trained on other documents", Success_1=0.55),
            row("dense, entity + aspect", Success_1=0.7, AP=0.8) | {"queries": 700},
        ],
    },
    {
        "suite": "radiology",
        "queries": 4,
        "sample": None,
        "command": "medley evaluate radiology",
        "rows": [SEPARATED, row("2-fold, positive", AP=0.71)],
    },
    {"bench": "search", "machine": {}, "figures": {}},
)


@pytest.fixture
def invented(tmp_path: Path) -> Paper:
    (tmp_path / "invented.toml").write_text(INVENTED, encoding="utf-8")
    return read_paper(tmp_path / "invented.toml")


def test_the_page_has_each_table_in_the_papers_order_beside_our_rows(invented: Paper) -> None:
    page = papers_page(REPORTS, [invented], "results.md")
    assert page[page.index("## PAPER") :] == SECTION


def test_of_two_models_the_shipped_one_counts(invented: Paper) -> None:
    newer = {
        **REPORTS[1],
        "command": "medley evaluate medquad --systems mine",
        "models": {
            "encoders": {"dense": {"name": "medley-biencoder", "fingerprint": "fedcba9876543210+marking-1:3:3"}}
        },
        "rows": [row("dense, entity + aspect", Success_1=0.6, AP=0.7)],
    }
    for shipped, expected in (("fedcba9876543210", "0.600 / 0.700"), ("0123456789abcdef", "0.700 / 0.800")):
        page = papers_page((*REPORTS, newer), [invented], "results.md", {shipped})
        (line,) = [line for line in page.splitlines() if line.startswith("| P3 | Bi |")]
        assert line.split(" | ")[6].startswith(expected)


def test_without_reports_every_system_is_there_and_not_run(invented: Paper) -> None:
    lines = [
        line for line in papers_page((), [invented], "results.md").splitlines() if line.startswith(("| V8", "| P3"))
    ]
    assert len(lines) == 5
    assert all(line.split(" | ")[5] == NOT_RUN for line in lines)
    assert [line.split(" | ")[6].strip(" |") for line in lines] == [NOT_RUN, NOT_RUN, "–", "–", "–"]


def test_the_page_lies_beside_that_of_the_results_and_leads_to_it(tmp_path: Path) -> None:
    write_papers_page(REPORTS, tmp_path / "figures.md")
    assert "[results](figures.md)" in (tmp_path / PAGE).read_text(encoding="utf-8")


BROKEN = {
    "has the id 'P9', which no paper lists": (
        'id = "P6", system = "Longformer Bi',
        'id = "P9", system = "Longformer Bi',
    ),
    "has an unknown key, 'recipes'": ('recipe = "har"', 'recipes = "har"'),
    "lacks 'note'": ('note = "asked by', '# note = "asked by'),
    "'recipe' is empty": ('recipe = "har"', 'recipe = ""'),
    "has 1 figures, its table 2 measures": ("figures = [24.87, 72.18]", "figures = [24.87]"),
    "has 24.87, which is no share": ("figures = [24.87, 72.18]", "figures = [2487, 72.18]"),
    "has the system 'BM25' twice": ('system = "TF-IDF"', 'system = "BM25"'),
    "is not valid TOML": ("[ids]", "[ids"),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_wrong_in_a_paper_is_named(tmp_path: Path, message: str) -> None:
    shutil.copytree(FOLDER, tmp_path / "papers")
    file = tmp_path / "papers/capr.toml"
    text = file.read_text(encoding="utf-8")
    old, new = BROKEN[message]
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        read_papers(tmp_path / "papers")


def test_every_id_of_the_checklist_is_explained_once() -> None:
    ids = [key for paper in read_papers() for key in paper.ids]
    numbers = {"L": 5, "P": 8, "V": 8, "R": 6}
    assert sorted(ids) == sorted(f"{letter}{n}" for letter, last in numbers.items() for n in range(1, last + 1))


def test_the_tables_are_complete() -> None:
    rows = {(paper.paper, table.name): 0 for paper in read_papers() for table in paper.table}
    for paper in read_papers():
        for table, part, item in iterate_rows(paper):
            rows[paper.paper, table.name] += 1
            assert part.note, item.system
            assert all(-1 <= figure <= 1 for figure in item.figures)
            assert all(figure >= 0 for figure in item.figures) or table.measures[0] == "separation"
    assert list(rows.values()) == [9, 7, 28, 28, 17, 7, 6, 6, 5, 5]


QUOTED = (
    ("capr", "MedQuAD", "Longformer Poly-encoder", {"Success@1": 0.2530, "Success@5": 0.7863}),
    ("capr", "MedQuAD", "Bi-encoder, BERT-base", {"Success@1": 0.4674, "Success@5": 0.7682}),
    ("capr", "MedQuAD", "Cross-encoder, trained on MIMIC-III", {"Success@1": 0.5622, "Success@5": 0.8650}),
    ("capr", "clinical notes", "Poly-encoder, trained on MIMIC-III", {"Success@1": 0.6556, "Success@5": 0.8539}),
    ("cdv", "MedQuAD", "K-NRM", {"Success@1": 0.1686, "Success@10": 0.6135, "AP": 0.3135}),
    ("claims", "ranking", "XLNet (20,50)", {"Success@1": 0.543, "Success@3": 0.697, "Success@5": 0.735, "Success@20": 0.804, "RR": 0.628}),
    ("radiology", "across collections, measured on NIH", "BM25, on NIH, negative", {"AP": 0.32, "Rprec": 0.27}),
    ("radiology", "separation on NIH", "SBERT, trained on Indiana, on NIH", {"separation": 0.56}),
)  # fmt: skip


@pytest.mark.parametrize(("paper", "table", "system", "measures"), QUOTED)
def test_a_figure_is_the_papers(paper: str, table: str, system: str, measures: dict[str, float]) -> None:
    (found,) = [item for item in published_rows(paper, table) if item.system == system]
    assert found.measures == measures


def test_figures_of_a_variant_are_rows_of_their_own_and_a_deviation_is_none() -> None:
    found = published_rows("radiology", "two folds of Indiana's findings")
    assert [(item.system, item.measures) for item in found[:3]] == [
        ("BioClinicalBERT, 2-fold", {"AP": 0.224}),
        ("BioClinicalBERT, 2-fold, positive", {"AP": 0.213}),
        ("BioClinicalBERT, 2-fold, negative", {"AP": 0.254}),
    ]
    assert found[0].measures.keys() == {"AP"}


def test_a_table_that_a_paper_lacks_is_named() -> None:
    with pytest.raises(NotFound, match=r"capr\.toml has no table 'HealthQA'"):
        published_rows("capr", "HealthQA")


NOT_KEPT = {
    *("dense, reading B", "medley-crossencoder"),
}
"""Rows of options that no kept report has."""


def test_what_is_shipped_is_in_a_kept_report() -> None:
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "docs/results").glob("*.json"))]
    missing = set()
    for paper in read_papers():
        for table, _, item in iterate_rows(paper):
            same = [report for report in reports if report.get("suite") == table.suite]
            for shipped in split_names(item.shipped):
                name = SEPARATOR.join(filter(None, (shipped, table.variant)))
                if find_own(same, name, table.columns) is None:
                    missing.add(name)
    assert missing == NOT_KEPT


def test_a_paper_has_one_file() -> None:
    assert sorted(f"{name}.toml" for name in PAPERS) == sorted(file.name for file in FOLDER.iterdir())


RECIPES = {
    "claims": {
        *("BM25", "BM25+", "BM25+†", "minilm", "minilm, reading A", "minilm, reading B"),
        *("claims-cross-0-1", "claims-cross-4-10", "claims-cross-20-50"),
    },
    "capr": {
        *("TF-IDF", "BM25", "har", "cdv-fasttext", "cdv-pooled", "cdv-finetuned"),
        *("capr-bi", "capr-bi-shared", "capr-poly", "capr-cross", "capr-longformer-bi", "capr-longformer-poly"),
        *("capr-bi-slots", "capr-cross-slots", "capr-longformer-bi-slots", "capr-longformer-poly-slots"),
    },
    "cdv": {
        *("TF-IDF", "BM25", "arc-i", "arc-ii", "dssm", "c-dssm", "drmm", "matchpyramid", "anmm", "k-nrm", "conv-knrm"),
        *("duet", "mv-lstm", "har", "cdv-glove", "cdv-fasttext", "cdv-pooled"),
    },
    "radiology": {
        *("across", "baseline", "rank-bm25 BM25Okapi", "2-fold radiology-triplet"),
        *(f"2-fold radiology-triplet-{size}" for size in (32, 64, 256, 512)),
    },
}
"""Paper → the systems by its recipe, as the suites name their rows: a row by another name would stay "not run"."""


@pytest.mark.parametrize("paper", PAPERS)
def test_the_systems_by_a_papers_recipe_have_the_names_of_the_suites_rows(paper: str) -> None:
    rows = iterate_rows(read_paper(FOLDER / f"{paper}.toml"))
    assert {name for _, _, item in rows for name in split_names(item.recipe)} == RECIPES[paper]


LANDS = (
    ("CLAIMS", "ranking", "claims", "claims-cross-4-10", "Bio+Clinical BERT (4,10)", 5),
    ("CLAIMS", "ranking", "claims", "medley-crossencoder", "Bio+Clinical BERT (20,50)", 6),
    ("CLAIMS", "candidates", "claims", "minilm, reading B", "Bio+Clinical BERT, MED, reading B", 5),
    ("CAPR", "MedQuAD", "medquad", "capr-bi-shared, entity + aspect", "Bi-encoder, shared", 5),
    ("CAPR", "MedQuAD", "medquad", "capr-cross-zero-shot, entity + aspect", "Cross-encoder", 5),
    ("RADIOLOGY", "two folds of Indiana's findings", "radiology", "2-fold radiology-triplet", "SBERT, HS, MB (128), 2-fold", 5),
    ("RADIOLOGY", "two folds of Indiana's findings", "radiology", "2-fold radiology-triplet-512", "SBERT, HS, MB (512), 2-fold", 5),
    ("RADIOLOGY", "across collections, measured on Indiana", "radiology", "across", "SBERT, trained on NIH", 5),
    ("RADIOLOGY", "across collections, measured on NIH", "radiology", "across, on MTSamples", "SBERT, trained on Indiana, on NIH", 5),
    ("RADIOLOGY", "across collections, measured on NIH", "radiology", "dense, on MTSamples", "SBERT, trained on Indiana, on NIH", 6),
    ("RADIOLOGY", "across collections, measured on NIH", "radiology", "rank-bm25 BM25Okapi, on MTSamples", "BM25, on NIH", 5),
)  # fmt: skip
"""(paper, table, suite, our row, the published system beside it, the column of its line)."""


@pytest.mark.parametrize(("paper", "table", "suite", "ours", "theirs", "column"), LANDS)
def test_a_new_report_lands_in_one_line_of_its_table(
    paper: str, table: str, suite: str, ours: str, theirs: str, column: int
) -> None:
    (found,) = [item for item in read_papers() if item.paper == paper]
    figures = {name: {"value": 0.123} for name in ("RR", "AP", "Rprec", *(f"Success@{k}" for k in (1, 3, 5, 20)))}
    told = {"trained": {ours.partition(SEPARATOR)[0]: "from minilm, 3 batches of 24 pairs"}}
    rows = [{"system": f"{ours}{part}", "measures": figures} for part in ("", ", positive", ", negative")]
    report = {"suite": suite, "queries": 5, "command": "medley evaluate it", "rows": rows, "models": told}
    page = papers_page([report], [found], "results.md")
    section = page[page.index(f"### {paper}: {table}\n") :].partition("\n### ")[0]
    lines = [line.split(" | ") for line in section.splitlines() if "0.123" in line and line.startswith("| ")]
    assert [line[1] for line in lines] == [theirs]
    assert "0.123" in lines[0][column]
    assert f"row '{ours}' of `medley evaluate it`, 5 queries; from minilm, 3 batches of 24 pairs" in section


def test_a_paper_names_runs_by_shipped_recipes() -> None:
    named = {name.partition(SEPARATOR)[0] for recipes in RECIPES.values() for name in recipes}
    named = {name for name in named if name.startswith(("claims-", "capr-", "cdv-"))} - {"cdv-glove"}
    shipped = {file.stem for file in ALL_RECIPES.glob("c*-*.toml")} - {"cdv-fasttext-zero-shot"}
    assert named == shipped


def test_a_recipe_is_looked_up_in_each_way_of_training(invented: Paper) -> None:
    names = [part.recipes(item) for _, part, item in iterate_rows(invented)]
    assert names[:4] == [["BM25"], ["bi-zero-shot", "bi"], ["large-zero-shot", "large"], []]
