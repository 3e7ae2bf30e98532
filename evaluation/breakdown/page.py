"""The breakdowns of a report as tables, on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from evaluation.statistics import spell_difference, spell_estimate

GROUPS: Final = {"sources": "source", "aspects": "aspect"}
"""Key of a breakdown → what its groups are by."""


class BreakdownTable(NamedTuple):
    """A table with its title, and a sentence above it or ""."""

    title: str
    above: str
    header: Sequence[str]
    cells: Sequence[Sequence[str]]


def breakdown_tables(report: Mapping[str, Any]) -> Iterator[BreakdownTable]:
    """The tables of every breakdown, and of gains by stratum; none for a report without."""
    for found in report.get("breakdowns", ()):
        for key, name in GROUPS.items():
            yield _groups(f"{found['system']}, by {name}", name, found[key])
        yield _errors(found)
    for found in report.get("gains", ()):
        yield _gains(found)


def _gains(found: Mapping[str, Any]) -> BreakdownTable:
    cells = [
        [item["name"], f"{item['queries']:,}", spell_difference(item["difference"]), f"{item['p']:.4g}"]
        for item in found["strata"]
    ]
    total = sum(item["queries"] for item in found["strata"])
    cells.append([f"mean over {len(cells)}", f"{total:,}", spell_difference(found["mean"]), ""])
    title = f"{found['system']} against {found['against']}, by {found['by']}"
    return BreakdownTable(title, "", [found["by"], "queries", f"gain in {found['measure']}", "p"], cells)


def _groups(title: str, name: str, groups: Sequence[Mapping[str, Any]]) -> BreakdownTable:
    measures = list(dict.fromkeys(measure for group in groups for measure in group["measures"]))
    cells = [
        [group["name"], f"{group['queries']:,}", *(spell_estimate(group["measures"].get(item)) for item in measures)]
        for group in groups
    ]
    return BreakdownTable(title, "", [name, "queries", *measures], cells)


def _errors(found: Mapping[str, Any]) -> BreakdownTable:
    matches, errors = found["matches"], found["errors"]
    above = (
        f"The first hit is about the entity that was asked for {spell_estimate(matches['entity'])} of the queries, and has the "
        f"aspect for {spell_estimate(matches['aspect'])}. It is wrong for {errors['queries']:,}:"
    )
    rows = [*errors["kinds"], *({**item, "name": f"of these: {item['name']}"} for item in errors["marks"])]
    cells = [
        [item["name"], f"{item['queries']:,}", spell_estimate(item["share"]), _examples(item["examples"])]
        for item in rows
    ]
    header = ["wrong first hit", "queries", "share", "such as (query: first hit)"]
    return BreakdownTable(f"{found['system']}, first hits", above, header, cells)


def _examples(examples: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{item['query']}: {item['first']}" if item["first"] else item["query"] for item in examples)


def breakdown_markdown(report: Mapping[str, Any]) -> list[str]:
    """The lines of all tables, each under a heading of its own; more than one are folded, there are three for each system."""
    tables = list(breakdown_tables(report))
    lines = []
    for table in tables:
        lines += [f"### {table.title}", "", *([table.above, ""] if table.above else [])]
        lines += [f"| {' | '.join(row)} |" for row in (table.header, ["---"] * len(table.header), *table.cells)]
        lines.append("")
    if len(tables) < 2:
        return lines
    summary = f"<summary>By source, by aspect, and what is wrong with first hits ({len(tables)} tables)</summary>"
    return ["<details>", summary, "", *lines, "</details>", ""]


def show_breakdowns(report: Mapping[str, Any], console: Console) -> None:
    """Print all tables."""
    for found in breakdown_tables(report):
        table = Table(title=found.title, title_justify="left", header_style="bold")
        for number, name in enumerate(found.header):
            table.add_column(name, justify="right" if number in (1, 2) else "left")
        for row in found.cells:
            table.add_row(*row)
        if found.above:
            console.print(f"  {found.above}", markup=False, highlight=False)
        console.print(table)
