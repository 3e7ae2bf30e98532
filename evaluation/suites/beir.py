"""Anybody's judgements in BEIR's form: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.suite import Suite, SuiteOptions
from evaluation.task import Corpus, Question, Task, folder_name
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.datasets.files import existing_file, json_records, numbered_lines
from mappings.documents import Document
from mappings.errors import InvalidInput, MedleyError, NotFound
from mappings.formats.beir import parse
from search.settings import Settings

MEASURES = ("nDCG@10", "RR@10", "AP", "Success@1", "Success@5", "R@100")
FORM = "a line of a qrels file is 'query-id<TAB>corpus-id<TAB>score', the score a whole number"
HEADER = ("query-id", "corpus-id", "score")


def task(folder: Path, split: str = "test", kind: str = "abstracts", own: Path | None = None) -> Task:
    """The suite of a folder; `own` holds further collection kinds.

    Raises `NotFound`, and `InvalidInput` that names file, line and what would be right.
    """
    if not folder.is_dir():
        raise NotFound(
            f"{folder} is not a folder; one with corpus.jsonl, queries.jsonl and qrels/ is expected", field="folder"
        )
    documents, empty = _corpus(existing_file(folder / "corpus.jsonl"), _collection(kind, own))
    queries = _queries(existing_file(folder / "queries.jsonl"))
    path = _qrels_file(folder, split)
    judged = _qrels(path, queries)
    judgements = {query: grades for query, grades in judged.items() if any(grade > 0 for grade in grades.values())}
    if not judgements:
        raise InvalidInput(
            f"{path} judges no document relevant (score 1 or more), so there is nothing to measure", field=path.name
        )
    return Task(
        suite="beir",
        corpus=Corpus(folder_name("beir", folder), kind, lambda: documents),
        questions=tuple(Question(query, queries[query]) for query in judgements),
        judgements=judgements,
        measures=MEASURES,
        notes=_notes(folder, split, documents, empty, judgements, len(judged)),
    )


def _notes(
    folder: Path, split: str, documents: list[Document], empty: int, judgements: dict[str, dict[str, int]], judged: int
) -> tuple[str, ...]:
    known = {document.id for document in documents}
    unknown = len({key for grades in judgements.values() for key, grade in grades.items() if grade > 0} - known)
    notes = [f"{folder.resolve().name}, split {split}: {len(documents):,} documents"]
    if empty:
        notes.append(f"{empty:,} records of the corpus have neither title nor text and were left out")
    if unknown:
        notes.append(f"{unknown:,} relevant documents are not in the corpus: they count as missed")
    if judged > len(judgements):
        notes.append(f"{judged - len(judgements):,} queries have no relevant document and were left out")
    return tuple(notes)


def _collection(kind: str, own: Path | None) -> Collection:
    try:
        return kinds.load(kind, extra=own)
    except NotFound as error:
        raise NotFound(error.message, field="kind") from None


def _corpus(path: Path, collection: Collection) -> tuple[list[Document], int]:
    found: dict[str, Document] = {}
    seen: dict[str, int] = {}
    for number, record in json_records(path, ("_id",)):
        identifier = _identifier(record, path, number)
        if identifier in seen:
            raise InvalidInput(
                f"{path}, line {number}: the _id {identifier!r} occurs in line {seen[identifier]}, too; ids are unique",
                field=path.name,
            )
        seen[identifier] = number
        title, text = (_text(record, key, path, number) for key in ("title", "text"))
        if title.strip() or text.strip():
            found[identifier] = _document(identifier, title, text, collection, f"{path}, line {number}")
    if not found:
        raise InvalidInput(
            f'{path} contains no document; a line is {{"_id": …, "title": …, "text": …}}', field=path.name
        )
    return list(found.values()), len(seen) - len(found)


def _document(identifier: str, title: str, text: str, collection: Collection, place: str) -> Document:
    try:
        return parse({"_id": identifier, "title": title, "text": text}, collection)
    except MedleyError as error:
        raise InvalidInput(f"{place}: {error.message}", field=error.field) from error


def _queries(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, record in json_records(path, ("_id", "text")):
        identifier = _identifier(record, path, number)
        text = _text(record, "text", path, number)
        if not text.strip():
            raise InvalidInput(f"{path}, line {number}: the query {identifier!r} has an empty text", field=path.name)
        if found.setdefault(identifier, text) != text:
            raise InvalidInput(
                f"{path}, line {number}: a second query has the _id {identifier!r}; ids are unique", field=path.name
            )
    if not found:
        raise InvalidInput(f'{path} contains no query; a line is {{"_id": …, "text": …}}', field=path.name)
    return found


def _identifier(record: dict[str, Any], path: Path, number: int) -> str:
    value = record["_id"]
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidInput(f"{path}, line {number}: _id is a non-empty string, not {value!r}", field=path.name)
    return str(value)


def _text(record: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{path}, line {number}: {key!r} is a string, not {type(value).__name__}", field=path.name)
    return value or ""


def _qrels_file(folder: Path, split: str) -> Path:
    path = folder / "qrels" / f"{split}.tsv"
    if not path.is_file():
        known = ", ".join(sorted(item.stem for item in (folder / "qrels").glob("*.tsv"))) or "none"
        raise NotFound(f"{path} is missing; the existing splits: {known}", field="split")
    return path


def _qrels(path: Path, queries: dict[str, str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _judged_lines(path):
        if query not in queries:
            raise InvalidInput(f"{path}, line {number}: the query {query!r} is not in queries.jsonl", field=path.name)
        if found.setdefault(query, {}).setdefault(document, grade) != grade:
            raise InvalidInput(
                f"{path}, line {number}: {query!r} and {document!r} are judged twice, {found[query][document]} and {grade}",
                field=path.name,
            )
    return found


def _judged_lines(path: Path) -> Iterator[tuple[int, str, str, int]]:
    for number, line in numbered_lines(path):
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if not line.strip() or (number == 1 and cells == HEADER):
            continue
        if len(cells) != 3 or not all(cells):
            raise InvalidInput(f"{path}, line {number}: {len(cells)} columns; {FORM}", field=path.name)
        try:
            yield number, cells[0], cells[1], int(cells[2])
        except ValueError:
            raise InvalidInput(f"{path}, line {number}: the score is {cells[2]!r}; {FORM}", field=path.name) from None


def _tasks(settings: Settings, options: SuiteOptions) -> Sequence[Task]:
    if options.folder is None:
        raise InvalidInput("evaluate beir needs a folder with corpus.jsonl, queries.jsonl and qrels/", field="folder")
    return [task(options.folder, options.split, options.kind, settings.collections)]


SUITE = Suite("beir", "judgements of your own in BEIR's form", _tasks, options=("folder", "split", "kind"), forms=())
