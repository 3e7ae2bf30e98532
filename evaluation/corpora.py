"""Abstracts as documents, and twins: records of one title count as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluation.data import folder, present, records
from mappings.documents import Document, Section
from search.settings import Settings

LABELS = frozenset({"public"})


def plain(text: str) -> str:
    """A text as twins are told by: lowercase letters and digits with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def abstract(identifier: str, title: str, sections: Iterable[tuple[str, str]], source: str) -> Document:
    """An abstract as a document; sections are (heading, text), `source` is a field."""
    return Document(
        id=identifier,
        title=title,
        sections=tuple(Section(heading, text) for heading, text in sections),
        labels=LABELS,
        fields={"source": source},
    )


def pool(settings: Settings) -> Iterator[Document]:
    """The distractors: the abstracts of MEDLEY_DATA/abstracts, without those that have no text."""
    for _, record in records(
        present(folder(settings, "abstracts") / "abstracts.jsonl"), ("doc_id", "title", "sections")
    ):
        yield _pooled(record)


def _pooled(record: Mapping[str, Any]) -> Document:
    sections = [(str(item.get("label") or ""), str(item["text"])) for item in record["sections"]]
    return abstract(f"pool:{record['doc_id']}", str(record["title"]), sections, source="pool")


def merged(originals: Iterable[Document], others: Iterable[Document]) -> Iterator[Document]:
    """All originals, then those others whose title no document before them has.

    So a twin of a judged document is its original, and is judged as it.
    """
    titles = set()
    for document in originals:
        titles.add(plain(document.title))
        yield document
    for document in others:
        title = plain(document.title)
        if title and title in titles:
            continue
        titles.add(title)
        yield document


def lines_of(path: Path) -> list[dict[str, Any]]:
    """All objects of a JSON Lines file."""
    return [record for _, record in records(present(path))]
