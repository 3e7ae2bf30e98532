"""The page of results from kept reports: its contents, a section for each report, and the choices that were made on them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from evaluation.pictures.pictures import has_picture, write_picture
from evaluation.published.choices import ChoiceLedger, choices_section, read_choices
from evaluation.published.tables import write_papers_page
from evaluation.reporting.reports import Report, section, title
from mappings.errors import InvalidInput, NotFound

PARTS: Final = (
    ("suite", "queries", "rows", "tests", "published", "notes", "command"),
    ("tune", "measure", "grid", "rerank", "chosen", "notes", "command"),
    ("bench", "machine", "figures"),
)
"""The keys of each command's report, in the order of the page."""
INTRODUCTION = """# Results

Written by `medley evaluate SUITE --report docs/results` from the files in `docs/results/`; each of them is what the
command named above its table printed with `--json`. Every figure is a mean over queries with its 95 % bootstrap interval over queries
(10,000 resamples); p values are of a paired randomisation test, two-sided. Rows with a source in brackets were
published by others, or measured by a program that is not part of this project; the raised number leads to the note
below the table that says how their set-up differs from ours. Choices that were made after figures of a suite had been
seen are counted below its table and [listed at the end](#choices-made-on-evaluated-figures). The papers' own tables,
complete and in their order of systems, [have a page of their own](papers.md).
"""


def page(reports: Iterable[tuple[Report, str]], ledger: ChoiceLedger) -> str:
    """The whole page of results: suites, then tunings, then benches, each in the order given, and the choices.

    Beside each report is the line that shows its picture, "" for none.
    """
    ordered = sorted(
        reports, key=lambda found: next(place for place, (kind, *_) in enumerate(PARTS) if kind in found[0])
    )
    contents = [f"- [{title(report)}](#{anchor(title(report))})" for report, _ in ordered]
    sections = (section(report, ledger, picture) for report, picture in _published_once(ordered))
    return "\n".join([INTRODUCTION, *contents, "", *sections, choices_section(ledger)])


def _published_once(reports: Iterable[tuple[Report, str]]) -> Iterator[tuple[Report, str]]:
    """The reports; of those of one suite with the same published rows, only the first shows them."""
    first: dict[str, Report] = {}
    for report, picture in reports:
        rows = report.get("published")
        known = first.setdefault(report["suite"], report) if rows else report
        if known is report or known["published"] != rows:
            yield report, picture
        else:
            place = f"published rows stand under [{title(known)}](#{anchor(title(known))})"
            yield {**report, "published": [], "notes": [*report["notes"], place]}, picture


def anchor(name: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-")


def file_of(folder: Path, command: str) -> Path:
    """Where the report that `command` prints is kept."""
    name = command.removeprefix("medley evaluate ").replace(" --", "-").replace(" ", "-")
    return folder / f"{name}.json"


def write_page(folder: Path, file: Path) -> int:
    """Write the page from every `*.json` in `folder`; how many there were. Raises `NotFound`, `InvalidInput`.

    Beside it are the page of the papers' tables, and a folder with its own name for the pictures.
    """
    found = sorted(folder.glob("*.json"))
    if not found:
        raise NotFound(f"{folder} contains no report; `medley evaluate SUITE --json` makes one", field="report")
    reports = [(path, _read(path)) for path in found]
    shown = [(report, _show_picture(report, f"{path.stem}.svg", file)) for path, report in reports]
    file.write_text(page(shown, read_choices()), encoding="utf-8")
    write_papers_page([report for _, report in reports], file)
    return len(found)


def _show_picture(report: Report, name: str, page_file: Path) -> str:
    """The line that shows the picture of a report on the page, which is drawn for it; "" for one without."""
    if not has_picture(report):
        return ""
    return write_picture(report, page_file.with_suffix("") / name, f"{page_file.stem}/{name}")


def _read(path: Path) -> Report:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}", field=path.name) from error
    if not isinstance(report, dict) or not any(_complete(report, names) for names in PARTS):
        raise InvalidInput(
            f"{path} is not a report of `medley evaluate`, `tune` or `bench` with --json", field=path.name
        )
    return report


def _complete(report: Report, names: Sequence[str]) -> bool:
    return all(name in report for name in names)
