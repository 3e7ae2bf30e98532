"""The cystic fibrosis collection (Shaw, Wood and Tibbo 1991): abstracts, queries and the scores of four judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_folder, dataset_records, existing_file, numbered_lines
from mappings.errors import InvalidInput

NAME: Final = "cystic_fibrosis"


@dataclass(frozen=True, slots=True)
class PlainAbstract:
    """An abstract as one text, which can be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query as text."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """The scores that four judges gave a document for a query: 0 to 2 each, with one misprint above."""

    query: str
    document: str
    scores: tuple[int, ...]


def read_corpus(data: Path | None) -> Iterator[PlainAbstract]:
    """The 1,239 abstracts."""
    for record in dataset_records(data, f"{NAME}/corpus", ("doc_id", "title", "abstract")):
        yield PlainAbstract(record["doc_id"], record["title"], record["abstract"])


def read_queries(data: Path | None) -> Iterator[JudgedQuery]:
    """The 99 queries."""
    for record in dataset_records(data, f"{NAME}/queries", ("query_id", "text")):
        yield JudgedQuery(record["query_id"], record["text"])


def read_scores(data: Path | None) -> Iterator[JudgeScores]:
    """The judgements, in the order of the file. Its document ids can lack the leading zeros of the corpus's."""
    path = existing_file(dataset_folder(data, NAME) / "qrels.tsv")
    for number, line in numbered_lines(path):
        if number > 1 and line.strip():
            cells = line.split("\t")
            if len(cells) != 3 or not cells[2][:4].isdecimal():
                raise InvalidInput(
                    f"{path}, line {number}: a line is a query id, a document id and four digits, separated by tabs",
                    field=path.name,
                )
            yield JudgeScores(cells[0], cells[1], tuple(map(int, cells[2][:4])))
