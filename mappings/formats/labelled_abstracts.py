"""Abstracts with labelled sections: `doc_id`, `pmid`, `title`, `sections` of `label` and `text`, `source`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mappings.collection import Collection
from mappings.documents import Document, Section
from mappings.formats.fields import dropped_of, fields_of, id_of, labels_of, objects_of, text_of
from mappings.formats.jsonl import split
from mappings.formats.records import json_lines


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One abstract; a single section without a label is split at the labels in its text."""
    sections = [
        Section(text_of(part, "label").strip(), text_of(part, "text")) for part in objects_of(record, "sections")
    ]
    whole = len(sections) == 1 and not sections[0].heading
    return Document(
        id=id_of(record, "doc_id"),
        title=text_of(record, "title").strip(),
        sections=split(sections[0].text, collection) if whole else tuple(sections),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
        dropped=dropped_of(record, collection, ("doc_id",)),
    )


read = json_lines(parse)
