"""The page of the papers' tables: each table of the papers, in its own order of systems, beside our rows of the kept reports."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from encoders.artifact import MANIFEST, SHIPPED
from encoders.marked import base_fingerprint, short_fingerprint
from evaluation.published.notes import RAISED
from evaluation.published.systems import (
    ALSO,
    Paper,
    PaperColumn,
    PaperPart,
    PaperRow,
    PaperTable,
    read_papers,
    split_names,
)
from evaluation.task import SEPARATOR

Report = Mapping[str, Any]
PAGE: Final = "papers.md"
NOT_RUN: Final = "not run"
NONE: Final = "–"
BY_ENCODER: Final = frozenset({"dense", "fused", "reranked"})
HEAD: Final = ("id", "system", "trained on", "base", "published", "ours by the paper's recipe", "ours as shipped")
INTRODUCTION: Final = """# The papers' tables

Written by `medley evaluate SUITE --report docs/results`, beside the [results]({results}), which have the intervals of our
figures. Each table has the systems of a paper in the paper's order, with what each was trained on there and its base.
The raised number of a figure leads to the note below the table: how the published set-up differs from ours, or which
command, data and models made our figure.

Ours *by the paper's recipe* is the paper's method, trained here on our data from MiniLM or from word vectors of our own,
or untrained MiniLM where the paper's model was not trained for the task; the columns "trained on" and "base" are the
paper's. A note's batches are those until the state that was kept, the best by held-out pairs. Bare names in a command
(`systems`, `folds`, `minilm`) are folders of trained runs, and an export of untrained MiniLM.

| instead of a figure | means |
|---|---|
| not run | no kept report has the row; [some have no recipe here](ml/training.md#the-papers-recipes) |
| – | the paper names none; in the last column: nothing that is shipped is measured like this |
"""


class OwnRow(NamedTuple):
    """A row of a kept report, without the variant of a column."""

    report: Report
    system: str


class _Notes:
    """Notes below a table, numbered in the order in which they are asked for."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def mark(self, note: str) -> str:
        return self._marks.setdefault(note, str(len(self._marks) + 1).translate(RAISED))

    def lines(self) -> list[str]:
        return [f"- {mark} {note}" for note, mark in self._marks.items()]


def write_papers_page(reports: Iterable[Report], results: Path) -> None:
    """Write the page beside that of the results."""
    page = papers_page(reports, read_papers(), results.name, _shipped_fingerprints())
    results.with_name(PAGE).write_text(page, encoding="utf-8")


def _shipped_fingerprints() -> frozenset[str]:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED.glob(f"*/{MANIFEST}"))
    return frozenset(str(manifest["fingerprint"]) for manifest in found)


def papers_page(
    reports: Iterable[Report], papers: Sequence[Paper], results: str, shipped: Container[str] = frozenset()
) -> str:
    """The whole page, of the reports of suites among `reports`; `results` is the file beside it that has them all.

    Of several reports with a row the one with the most queries counts, then one by the encoder that is `shipped`, by its
    fingerprint, then the one with the fewest options.
    """
    suites = [report for report in reports if "suite" in report]
    suites.sort(key=lambda report: (-int(report["queries"]), _is_outdated(report, shipped), str(report["command"])))
    return "\n".join([INTRODUCTION.format(results=results), *(_paper_section(paper, suites) for paper in papers)])


def _is_outdated(report: Report, shipped: Container[str]) -> bool:
    """Whether an encoder of a report is not the one that is shipped now."""
    encoders = (report.get("models") or {}).get("encoders", {})
    return any(base_fingerprint(item["fingerprint"]) not in shipped for item in encoders.values())


def _paper_section(paper: Paper, reports: Sequence[Report]) -> str:
    ids = "; ".join(f"{key} {name}" for key, name in paper.ids.items())
    tables = [_table_section(paper, table, reports) for table in paper.table]
    return "\n".join([f"## {paper.paper}: {paper.title}", "", f"{ids}.", "", *tables])


def _table_section(paper: Paper, table: PaperTable, reports: Sequence[Report]) -> str:
    notes = _Notes()
    found = [report for report in reports if report["suite"] == table.suite]
    lines = [_line(table, part, row, found, notes) for part in table.part for row in part.rows]
    measures = " / ".join(str(column) for column in table.columns)
    return "\n".join(
        [
            f"### {paper.paper}: {table.name}",
            "",
            table.about.strip(),
            f"Each cell has {measures}.",
            "",
            f"| {' | '.join(HEAD)} |",
            f"|{'---|' * len(HEAD)}",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
            *notes.lines(),
            "",
        ]
    )


def _line(table: PaperTable, part: PaperPart, row: PaperRow, reports: Sequence[Report], notes: _Notes) -> list[str]:
    published = " / ".join(f"{figure:.{table.digits}f}" for figure in row.figures) + notes.mark(part.note)
    recipe = _own_cells(table, part.recipes(row), reports, notes) or NOT_RUN
    shipped = _own_cells(table, split_names(row.shipped), reports, notes)
    shipped = shipped or (NOT_RUN if row.shipped else NONE)
    return [row.id, row.system, part.data or NONE, row.base or NONE, published, recipe, shipped]


def _own_cells(table: PaperTable, systems: Sequence[str], reports: Sequence[Report], notes: _Notes) -> str:
    """The cells of those that a report has."""
    cells = (_own_cell(table, name, reports, notes) for name in systems)
    return ALSO.join(cell for cell in cells if cell != NOT_RUN)


def _own_cell(table: PaperTable, system: str, reports: Sequence[Report], notes: _Notes) -> str:
    name = SEPARATOR.join(filter(None, (system, table.variant)))
    found = find_own(reports, name, table.columns)
    if found is None:
        return NOT_RUN
    figures = [_own_figure(found, column) for column in table.columns]
    return " / ".join(NONE if figure is None else f"{figure:.3f}" for figure in figures) + notes.mark(_made(found))


def find_own(reports: Sequence[Report], system: str, columns: Sequence[PaperColumn]) -> OwnRow | None:
    """The first report's row that has a figure in one of the columns."""
    rows = (OwnRow(report, system) for report in reports)
    return next((row for row in rows if any(_own_figure(row, column) is not None for column in columns)), None)


def _own_figure(row: OwnRow, column: PaperColumn) -> float | None:
    found = _entry(row.report, SEPARATOR.join(filter(None, (row.system, column.variant))))
    value = found.get("measures", {}).get(column.measure, {}).get(column.part)
    return None if value is None else float(value)


def _entry(report: Report, system: str) -> Mapping[str, Any]:
    return next((row for row in report["rows"] if row.get("system") == system), {})


def _made(row: OwnRow) -> str:
    """Which command made a row, on how many queries, what is known of it, and by which models."""
    report, own = row.report, _entry(row.report, row.system)
    sample = " (a fixed sample)" if report.get("sample") else ""
    queries = f"{own.get('queries', report['queries']):,} queries{sample}"
    trained = (report.get("models") or {}).get("trained", {}).get(row.system.partition(SEPARATOR)[0], "")
    told = [f"ours: row '{row.system}' of `{report['command']}`, {queries}", trained, own.get("note", ""), _models(row)]
    return "; ".join(filter(None, told))


def _models(row: OwnRow) -> str:
    system, models = row.system.partition(SEPARATOR)[0], row.report.get("models") or {}
    if system not in BY_ENCODER or "encoders" not in models:
        return ""
    names = [f"{item['name']} ({short_fingerprint(item['fingerprint'])})" for item in models["encoders"].values()]
    names += [models["reranker"]] if system == "reranked" and models.get("reranker") else []
    return f"made with {' and '.join(names)}" if names else ""
