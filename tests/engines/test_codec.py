from __future__ import annotations

from dataclasses import replace
from datetime import date

from mappings.documents import Document, Section
from search.engines import codec

DOCUMENT = Document(
    "a/1",
    "Title",
    (Section("HPI", "Text."),),
    frozenset({"clinical"}),
    {"year": 2020.0, "date": date(2020, 1, 2), "type": ("a", "b"), "source": "x"},
)


def test_a_document_comes_back_whole():
    assert codec.load(codec.dump(DOCUMENT)) == DOCUMENT


def test_a_source_version_is_not_content():
    newer = replace(DOCUMENT, source_version=7)
    assert codec.dump(newer) == codec.dump(DOCUMENT)
    assert codec.load(codec.dump(newer)) == DOCUMENT
