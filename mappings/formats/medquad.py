"""Health articles with one passage a question: `id`, `title`, `source`, `passages` of `id` and `text` (MedQuAD).

A passage's `question` and `question_type` are the query and its aspect: they never enter the document. Each passage is
one section, in order and even when empty, so that section n is the source's passage n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mappings.collection import Collection
from mappings.documents import Document, Section
from mappings.formats.fields import fields_of, id_of, labels_of, objects_of, text_of
from mappings.formats.records import json_lines


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One article."""
    return Document(
        id=id_of(record),
        title=text_of(record, "title").strip(),
        sections=tuple(Section("", text_of(part, "text")) for part in objects_of(record, "passages")),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
    )


read = json_lines(parse)
