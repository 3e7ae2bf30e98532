"""Records of data sets as documents. Documents with the same normalised title count as twins: one is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mappings.datasets.abstracts import read_abstracts
from mappings.documents import Document, Section

LABELS = frozenset({"public"})


def plain(text: str) -> str:
    """A text as twins are told by: lowercase letters and digits with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def abstract(identifier: str, title: str, sections: Iterable[Section], source: str) -> Document:
    """An abstract as a document; `source` is a field."""
    return Document(id=identifier, title=title, sections=tuple(sections), labels=LABELS, fields={"source": source})


def pool(data: Path | None) -> Iterator[Document]:
    """The distractors: the abstracts of MEDLEY_DATA/abstracts."""
    for record in read_abstracts(data):
        yield abstract(f"pool:{record.id}", record.title, record.sections, source="pool")


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
