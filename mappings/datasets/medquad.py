"""MedQuAD (Ben Abacha 2019): health articles with one passage a question, and the test split of Arnold et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mappings.datasets.files import dataset_records
from mappings.errors import InvalidInput

NAME: Final = "medquad"


@dataclass(frozen=True, slots=True)
class HealthPassage:
    """An answer with the question that it answers and that question's type ("symptoms")."""

    id: str
    question: str
    question_type: str
    text: str


@dataclass(frozen=True, slots=True)
class HealthArticle:
    """An article on one entity, which is its title; `synonyms` are its other names. Several articles can share an id.

    `source` is the institute that it is from, "" if the record does not say.
    """

    id: str
    title: str
    passages: tuple[HealthPassage, ...]
    synonyms: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class JudgedPassage:
    """A passage of the test split, by id, with the id of its article and the entity it is about."""

    id: str
    article: str
    entity: str


@dataclass(frozen=True, slots=True)
class HealthQuestion:
    """A question of the test split, also as entity and aspect, and the ids of the passages that answer it."""

    id: str
    question: str
    entity: str
    aspect: str
    aspect_heading: str
    relevant: tuple[str, ...]


def read_articles(data: Path | None) -> Iterator[HealthArticle]:
    """The articles, in the order of the file. Raises `InvalidInput` for synonyms that are not a list of names."""
    for record in dataset_records(data, f"{NAME}/documents", ("id", "title", "passages")):
        passages = tuple(
            HealthPassage(part["id"], part["question"], part["question_type"], part["text"])
            for part in record["passages"]
        )
        yield HealthArticle(record["id"], record["title"], passages, _synonyms(record), str(record.get("source") or ""))


def _synonyms(record: Mapping[str, Any]) -> tuple[str, ...]:
    found = record.get("synonyms") or []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise InvalidInput(f"the synonyms of article {record['id']!r} must be a list of names", field="synonyms")
    return tuple(found)


def read_judged_passages(data: Path | None) -> Iterator[JudgedPassage]:
    """The passages that the test split ranks."""
    for record in dataset_records(data, f"{NAME}/cdv_test_passages", ("passage", "document", "entity")):
        yield JudgedPassage(record["passage"], record["document"], record["entity"])


def read_questions(data: Path | None) -> Iterator[HealthQuestion]:
    """The questions of the test split."""
    names = ("id", "question", "entity", "aspect", "aspect_heading")
    for record in dataset_records(data, f"{NAME}/cdv_test_queries", (*names, "relevant")):
        values = {name: record[name] for name in names}
        yield HealthQuestion(**values, relevant=tuple(record["relevant"]))
