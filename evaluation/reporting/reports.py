"""Reports on the terminal and as Markdown; `docs/results.md` from the kept JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from encoders.marked import short_fingerprint
from evaluation.breakdown.page import breakdown_markdown, show_breakdowns
from evaluation.published.choices import ChoiceLedger, SeenChoice, count_choices
from evaluation.published.notes import compare_with_best, footnotes, mark_notes
from evaluation.statistics import spell_difference, spell_estimate

Report = Mapping[str, Any]
FIGURES: Final = ("| figure | value |", "|---|---|")
WIDE: Final = 200
LEAST_NAME: Final = 16


def heading(report: Report) -> str:
    """Suite, number of queries and, where it is a sample, of how many."""
    sample = report.get("sample")
    of = f" (fixed sample of {sample['of']:,})" if sample else ""
    return f"{report['suite']}: {report['queries']:,} queries{of}"


def title(report: Report) -> str:
    """Heading of a report's section on the page of results, which no other one has: its command is its own."""
    if "bench" in report:
        return f"bench {report['bench']}"
    if "tune" in report:
        asked = "of data sets left out of training" if report.get("left_out") else "of the training side"
        return f"tune {report['tune']}: {report['queries']:,} questions {asked}"
    _, _, named = heading(report).partition(": ")
    return f"{report['command'].removeprefix('medley evaluate ')}: {named}"


def header(report: Report) -> list[str]:
    """The columns: the system, then every measure of any row, then those that only published rows have.

    Where rows are of types of queries, a line is a type: its number of queries, then a column for each system.
    """
    if _has_types(report):
        return ["queries", "number", *_by_system(report)]
    ours = (name for row in report["rows"] for name in row["measures"])
    theirs = (name for row in report["published"] for name in row["measures"])
    return ["system", *dict.fromkeys((*ours, *theirs))]


def cells(report: Report) -> list[list[str]]:
    """Our rows with intervals, then the published ones without, with their source; a raised number marks a row with a note."""
    if _has_types(report):
        return _type_cells(report)
    columns, marks = header(report)[1:], mark_notes(report)
    ours = [
        [
            f"{row['system']}{marks.get(row.get('note', ''), '')}",
            *(spell_estimate(row["measures"].get(name)) for name in columns),
        ]
        for row in report["rows"]
    ]
    theirs = [
        [
            f"{row['system']} [{row['source']}]{marks.get(row.get('note', ''), '')}",
            *(_figure(row["measures"].get(name)) for name in columns),
        ]
        for row in report["published"]
    ]
    return ours + theirs


def _has_types(report: Report) -> bool:
    return any("type" in row for row in report["rows"])


def _by_system(report: Report) -> list[str]:
    """A column for each system and measure."""
    return list(dict.fromkeys(f"{row['system']}, {name}" for row in report["rows"] for name in row["measures"]))


def _type_cells(report: Report) -> list[list[str]]:
    columns = _by_system(report)
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in report["rows"]:
        line = lines.setdefault((f"{row['kind']}: {row['type']}", f"{row['queries']:,}"), {})
        line.update({f"{row['system']}, {name}": spell_estimate(item) for name, item in row["measures"].items()})
    return [[*names, *(line.get(column, "") for column in columns)] for names, line in lines.items()]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".removesuffix("0")


def sentences(report: Report) -> list[str]:
    """The notes of rows, the paired tests, the notes of the suite, and what the models saw of it, in words."""
    tests = [
        f"{test['system']} against {test['against']}, {test['measure']}: {spell_difference(test['difference'])}, p = {test['p']:.4g}"
        + (f"; closes {_share(test['closes'])} of the distance to a perfect one" if "closes" in test else "")
        for test in report["tests"]
    ]
    seen = [f"{row['model']} and this suite: {row['state']} ({row['sentence']})" for row in report.get("ancestry", ())]
    return [*footnotes(report), *compare_with_best(report), *tests, *report["notes"], *seen]


def _share(item: Mapping[str, float]) -> str:
    return f"{item['value']:.1%} ({item['low']:.1%} to {item['high']:.1%})"


def show(report: Report, console: Console) -> None:
    """The report as a table; on a narrow terminal an interval goes under its value; in a file or pipe lines are long."""
    console = console if console.is_terminal else Console(file=console.file, width=max(console.width, WIDE))
    table = Table(title=heading(report), title_justify="left", header_style="bold")
    for number, name in enumerate(header(report)):
        table.add_column(name, justify="right" if number else "left", min_width=0 if number else LEAST_NAME)
    for number, row in enumerate(cells(report)):
        table.add_row(
            *(cell.replace("[", r"\[") for cell in row), style="dim" if number >= len(report["rows"]) else None
        )
    console.print(table)
    for sentence in sentences(report):
        console.print(f"  {sentence}", markup=False, highlight=False)
    show_breakdowns(report, console)


def markdown(report: Report, seen: Sequence[SeenChoice] = (), picture: str = "") -> str:
    """The report as a section of a Markdown page, with the line that shows its picture if it has one.

    `seen` are the choices that were made after its figures had been seen.
    """
    columns = header(report)
    above = [f"`{report['command']}`", *([picture] if picture else []), f"| {' | '.join(columns)} |"]
    lines = [f"## {title(report)}", "", "\n\n".join(above)]
    lines.append(f"|{'---|' * len(columns)}")
    lines += [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in cells(report)]
    lines += [
        "",
        *(f"- {sentence}" for sentence in [*sentences(report), *_made_with(report), *count_choices(seen)]),
        "",
        *breakdown_markdown(report),
    ]
    return "\n".join(lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|")


def _made_with(report: Report) -> list[str]:
    models = report.get("models")
    if models and "stance" in models:
        read = models["stance"]
        return [f"made with the stance classifier {read['fingerprint'][:12]}, {read['form']}"]
    if models:
        return [_describe(models)]
    return [f"{name}: {_describe(item['models'])}" for name, item in report.get("collections", {}).items()]


def _describe(models: Mapping[str, Any]) -> str:
    forms = models.get("forms", {})
    encoders = ", ".join(
        f"{item['name']} ({', '.join(filter(None, (short_fingerprint(item['fingerprint']), forms.get(item['fingerprint']))))})"
        for item in models["encoders"].values()
    )
    weights = ", ".join(f"{leg} {value:g}" for leg, value in models["fusion"]["weights"].items())
    reranking = (
        ""
        if not models["reranker"]
        else f"; {models['reranker']} with weight {models['rerank_weight']:g} on {models['candidates']} candidates"
    )
    if (first := models.get("first_stage")) and reranking:
        reranking += f", of which {first['name']} with weight {first['weight']:g} passes on {first['keep']}"
    if (parts := models.get("parts")) and reranking:
        reranking += (
            f"; of each passage the {parts['best']} parts of {parts['words']} words nearest to the query are read"
        )
    if feedback := models.get("feedback"):
        reranking += (
            f"; searched twice: vectors, and all that follows, are ranked after the best {feedback['passages']} passages "
            f"had a share of {feedback['share']:g} in the query"
        )
    baseline = models.get("baseline")
    beside = f"; baseline: {baseline['name']} ({baseline['fingerprint'][:12]}) with the same fusion" if baseline else ""
    method = f"{models['fusion']['method']}, {models['fusion']['normalisation']} ({weights})"
    return f"made with {encoders or 'no encoder'}; fusion {method}{reranking}{beside}"


def bench_section(report: Report, picture: str = "") -> str:
    """A bench as a section: machine and figures, with the line that shows its picture if it has one."""
    machine = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    rows = [f"| {name} | {value:g} |" for name, value in report["figures"].items()]
    head, made = f"## {title(report)}", f"`medley bench {report['bench']}` on {machine}"
    return "\n".join([head, "", made, "", *([picture, ""] if picture else []), *FIGURES, *rows, ""])


def tune_section(report: Report) -> str:
    """A tuning as a section: the ten best fusions, every share of the reranker, each data set left out, and the choice."""
    measure = report["measure"]
    best = sorted(report["grid"], key=lambda row: -float(row[measure]["value"]))[:10]
    rows = [f"| {_arithmetic(row)} | {spell_estimate(row[measure])} |" for row in best]
    rows += [f"| reranker's share {row['weight']:g} | {spell_estimate(row[measure])} |" for row in report["rerank"]]
    chosen = f"chosen: {_arithmetic(report['chosen']['fusion'])}, reranker's share {report['chosen']['rerank']}"
    left_out = report.get("left_out", ())
    rows += [f"| {row['data_set']}, by what all others choose | {spell_estimate(row[measure])} |" for row in left_out]
    head = ["", f"`{report['command']}`", "", f"| weights | {measure} |", "|---|---|"]
    return "\n".join(
        [f"## {title(report)}", *head, *rows, "", f"- {chosen}", *(f"- {note}" for note in report["notes"]), ""]
    )


def _arithmetic(row: Mapping[str, Any]) -> str:
    weights = ", ".join(f"{leg} {value:g}" for leg, value in row["weights"].items())
    return f"{row['method']} {row['normalisation']} ({weights})"


def section(report: Report, ledger: ChoiceLedger, picture: str = "") -> str:
    """Any report as a section."""
    if "bench" in report:
        return bench_section(report, picture)
    return tune_section(report) if "tune" in report else markdown(report, ledger.of_suite(report["suite"]), picture)
