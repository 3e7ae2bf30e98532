"""What four papers published, as their tables print it, and which of our rows are by a paper's recipe or as shipped.

A file of `papers/` is a paper: the ids that its checklist gives to systems, then its tables, in parts of one training set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from evaluation.published.entries import read_entry, read_toml
from evaluation.task import SEPARATOR, Published
from mappings.errors import InvalidInput, NotFound

FOLDER: Final = Path(__file__).with_name("papers")
PAPERS: Final = ("claims", "capr", "cdv", "radiology")
"""The papers in the order of the page; a name is that of its file."""
VALUE: Final = "value"
ALSO: Final = "; "
Entry = TypeVar("Entry")


class PaperColumn(NamedTuple):
    """A column: a measure, the variant of the row that has it, such as "positive", and a part of its estimate."""

    measure: str
    variant: str
    part: str

    @classmethod
    def parse(cls, text: str) -> PaperColumn:
        """From "AP", "AP, positive" or "separation.deviation"."""
        name, _, variant = text.partition(SEPARATOR)
        measure, _, part = name.partition(".")
        return cls(measure, variant, part or VALUE)

    def __str__(self) -> str:
        measure = self.measure if self.part == VALUE else f"{self.part} of {self.measure}"
        return f"{measure}, {self.variant}" if self.variant else measure


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A system of a paper; `figures` are fractions, one for each column of its table.

    `recipe` is the name of our rows by the paper's recipe, `shipped` that of the row of what is shipped, "" for none; both
    without the table's variant. Either can be several names, between which stands `ALSO`.
    """

    id: str
    system: str
    figures: Sequence[float]
    base: str = ""
    recipe: str = ""
    shipped: str = ""


@dataclass(frozen=True, slots=True)
class PaperPart:
    """Rows of one training set, `data`; `note` says how their set-up differs from ours.

    `marked` follows a system's name where the same system is in several parts. `ways` follow the name of a recipe, after a
    hyphen: "zero-shot" for training on other data than the table's, "of-notes" for training on notes, "" for its recipe's own.
    """

    note: str
    rows: Sequence[PaperRow]
    data: str = ""
    marked: str = ""
    ways: Sequence[str] = ("",)

    def name(self, row: PaperRow) -> str:
        """The system as a suite's report names it."""
        return f"{row.system}{SEPARATOR}{self.marked}" if self.marked else row.system

    def recipes(self, row: PaperRow) -> list[str]:
        """The names of our rows by the paper's recipe."""
        return [f"{name}-{way}".rstrip("-") for name in split_names(row.recipe) for way in self.ways]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table, or one data set of it; `source` names it beside a row, `suite` and `variant` say which rows of ours are like it.

    `percent`: its file has percentages; `digits`: how many the paper prints after the point of a fraction.
    """

    name: str
    source: str
    suite: str
    measures: Sequence[str]
    about: str
    part: Sequence[PaperPart]
    variant: str = ""
    percent: bool = False
    digits: int = 3

    @property
    def columns(self) -> list[PaperColumn]:
        """Its measures as columns."""
        return [PaperColumn.parse(text) for text in self.measures]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: the ids of its systems, each with what it is, and its tables."""

    paper: str
    title: str
    ids: Mapping[str, str]
    table: Sequence[PaperTable]


def split_names(names: str) -> list[str]:
    """The names of rows in a setting that can have several."""
    return names.split(ALSO) if names else []


@cache
def read_paper(file: Path) -> Paper:
    """The paper of a file. Raises `InvalidInput`, which names the entry and what is wrong with it."""
    found = read_entry(Paper, read_toml(file), file.name)
    return replace(found, table=tuple(_read_table(item, file.name) for item in _dicts(found.table)))


def read_papers(folder: Path = FOLDER) -> list[Paper]:
    """All papers, in the order of the page. Raises as `read_paper` does, and for a row with an id that no paper has."""
    papers = [read_paper(folder / f"{name}.toml") for name in PAPERS]
    ids = {key for paper in papers for key in paper.ids}
    for paper in papers:
        for table, _, row in iterate_rows(paper):
            if row.id not in ids:
                raise InvalidInput(
                    f"{paper.paper}, {table.name}: {row.system!r} has the id {row.id!r}, which no paper lists",
                    field="id",
                )
    return papers


def iterate_rows(paper: Paper) -> Iterator[tuple[PaperTable, PaperPart, PaperRow]]:
    """Every row of a paper with its part and table, in the paper's order."""
    return ((table, part, row) for table in paper.table for part in table.part for row in part.rows)


def published_rows(paper: str, name: str) -> tuple[Published, ...]:
    """A table as rows of a suite's report: figures of a variant are in a row of their own, as ours are.

    Raises `NotFound` for a table that the paper lacks.
    """
    found = next((table for table in read_paper(FOLDER / f"{paper}.toml").table if table.name == name), None)
    if found is None:
        raise NotFound(f"{paper}.toml has no table {name!r}", field="table")
    return tuple(item for part in found.part for row in part.rows for item in _published(found, part, row))


def _published(table: PaperTable, part: PaperPart, row: PaperRow) -> Iterator[Published]:
    variants: dict[str, dict[str, float]] = {"": {}}
    for column, figure in zip(table.columns, row.figures, strict=True):
        if column.part == VALUE:
            variants.setdefault(column.variant, {})[column.measure] = figure
    for variant, measures in variants.items():
        if measures:
            name = f"{part.name(row)}{SEPARATOR}{variant}" if variant else part.name(row)
            yield Published(name, table.source, measures, part.note)


def _read_table(item: Mapping[str, Any], file: str) -> PaperTable:
    table = read_entry(PaperTable, item, file)
    parts = [read_entry(PaperPart, part, file) for part in _dicts(table.part)]
    parts = [replace(part, rows=tuple(_read_row(row, table, file) for row in _dicts(part.rows))) for part in parts]
    names = [part.name(row) for part in parts for row in part.rows]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput(f"{file}, {table.name} has the system {twice[0]!r} twice", field="system")
    return replace(table, part=tuple(parts))


def _read_row(item: Mapping[str, Any], table: PaperTable, file: str) -> PaperRow:
    row = read_entry(PaperRow, item, file)
    scale = 100 if table.percent else 1
    figures = tuple(round(figure / scale, 6) for figure in row.figures)
    if len(figures) != len(table.measures):
        raise InvalidInput(
            f"{file}, {table.name}: {row.system!r} has {len(figures)} figures, its table {len(table.measures)} measures",
            field="figures",
        )
    if wrong := [figure for figure in figures if not -1 <= figure <= 1]:
        raise InvalidInput(f"{file}, {table.name}: {row.system!r} has {wrong[0]}, which is no share", field="figures")
    return replace(row, figures=figures)


def _dicts(entries: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
    """Entries as they were read: a field has its own type only when they have become it."""
    return entries
