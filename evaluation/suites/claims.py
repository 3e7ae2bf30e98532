"""Headlines to the abstracts behind them, as judged by Zuo, Acharya and Banerjee (CLAIMS, 2020).

A folder holds `headlines.jsonl` (`{"id", "headline", "abstracts": [ids], "split"}`, the split where there are several) and
`abstracts.jsonl` (`{"id", "title", "text"}`, or `sections` of `label` and `text` instead of the text). Without a folder
the news claims of Check-COVID stand in, over its abstracts and the pool of 39k others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.corpus.abstracts import abstract
from evaluation.published.systems import published_rows
from evaluation.suite import Suite, read_in_part
from evaluation.suites import check_covid
from evaluation.task import Corpus, Question, Task, folder_name
from mappings.datasets.files import existing_file, json_records
from mappings.documents import Document, Section
from mappings.errors import InvalidInput, MedleyError, NotFound
from search.settings import Settings

CUTOFFS = (1, 3, 5, 20, 100, 500)
MEASURES = ("RR", *(f"Success@{cutoff}" for cutoff in CUTOFFS))
DEPTH = 500
PUBLISHED = (*published_rows("claims", "candidates"), *published_rows("claims", "ranking"))
_STAGES = (
    "the legs and the BM25 rows are ranked to 500; fused and reranked rank what a search does, so they end earlier"
)


def task(settings: Settings, folder: Path | None = None, split: str = "test") -> Task:
    """The suite of a folder, or the stand-in. Raises `NotFound`, `InvalidInput` naming file, line and key."""
    if folder is not None:
        return of_folder(folder, split)
    found = check_covid.task(settings, distractors=True)
    stand_in = "stand-in for the headlines, which are not available: the claims of Check-COVID come from news"
    return replace(
        found,
        suite="claims",
        measures=MEASURES,
        published=PUBLISHED,
        notes=(stand_in, *found.notes, _STAGES),
        reference=True,
        depth=DEPTH,
        listed=DEPTH,
    )


def of_folder(folder: Path, split: str) -> Task:
    """The suite of the headlines of one split, or of all where they name no split."""
    if not folder.is_dir():
        raise NotFound(
            f"{folder} is not a folder; one with headlines.jsonl and abstracts.jsonl is expected", field="folder"
        )
    documents = _abstracts(existing_file(folder / "abstracts.jsonl"))
    questions, judgements = _headlines(existing_file(folder / "headlines.jsonl"), split)
    missing = len({key for grades in judgements.values() for key in grades} - documents.keys())
    notes = [f"{folder.resolve().name}: {len(documents):,} abstracts"]
    notes += [f"{missing:,} cited abstracts are not in the corpus: they count as missed"] if missing else []
    return Task(
        suite="claims",
        corpus=Corpus(folder_name("claims", folder), "abstracts", lambda: documents.values()),
        questions=tuple(questions),
        judgements=judgements,
        measures=MEASURES,
        published=PUBLISHED,
        notes=(*notes, _STAGES),
        reference=True,
        depth=DEPTH,
        listed=DEPTH,
    )


def _headlines(path: Path, split: str) -> tuple[list[Question], dict[str, dict[str, int]]]:
    rows = list(json_records(path, ("id", "headline", "abstracts")))
    splits = {str(row["split"]) for _, row in rows if row.get("split")}
    if splits and split not in splits:
        raise NotFound(
            f"{path} has no headlines of split {split!r}; there are {', '.join(sorted(splits))}", field="split"
        )
    questions: dict[str, Question] = {}
    judgements: dict[str, dict[str, int]] = {}
    for number, row in rows:
        question = Question(str(row["id"]), str(row["headline"]).strip())
        cited = row["abstracts"]
        if not question.text:
            raise _wrong(path, number, "the headline is empty")
        if not isinstance(cited, list) or not cited:
            raise _wrong(path, number, "abstracts is the list of the cited abstracts' ids, one or more")
        if question.id in questions:
            raise _wrong(path, number, f"the id {question.id!r} occurs twice; ids are unique")
        questions[question.id] = question
        if not splits or str(row.get("split")) == split:
            judgements[question.id] = {str(key): 1 for key in cited}
    if not judgements:
        raise InvalidInput(f'{path} contains no headline; a line is {{"id", "headline", "abstracts"}}', field=path.name)
    return [questions[key] for key in judgements], judgements


def _abstracts(path: Path) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for number, row in json_records(path, ("id",)):
        if str(row["id"]) in found:
            raise _wrong(path, number, f"the id {row['id']!r} occurs twice; ids are unique")
        try:
            document = abstract(str(row["id"]), str(row.get("title") or ""), _sections(row), source="claims")
        except MedleyError as error:
            raise _wrong(path, number, error.message) from error
        found[document.id] = document
    if not found:
        raise InvalidInput(f'{path} contains no abstract; a line is {{"id", "title", "text"}}', field=path.name)
    return found


def _sections(row: dict[str, Any]) -> Iterator[Section]:
    if "sections" not in row:
        yield Section("", str(row.get("text") or ""))
        return
    for part in row["sections"] if isinstance(row["sections"], list) else [None]:
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            raise InvalidInput("sections is a list of objects with label and text", field="sections")
        yield Section(str(part.get("label") or ""), part["text"])


def _wrong(path: Path, number: int, reason: str) -> InvalidInput:
    return InvalidInput(f"{path}, line {number}: {reason}", field=path.name)


SUITE = Suite(
    "claims",
    "headlines to the abstracts behind them",
    lambda settings, options: read_in_part(task(settings, options.folder, options.split), options.reading),
    options=("folder", "split", "reading", "systems"),
    quick=False,
)
