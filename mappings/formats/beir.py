"""BEIR's `corpus.jsonl`: `_id`, `title`, `text` (Thakur et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mappings.collection import Collection
from mappings.documents import Document
from mappings.formats.fields import dropped_of, fields_of, id_of, labels_of, text_of
from mappings.formats.jsonl import split
from mappings.formats.records import json_lines


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One document of a BEIR corpus."""
    return Document(
        id=id_of(record, "_id"),
        title=text_of(record, "title").strip(),
        sections=split(text_of(record, "text"), collection),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
        dropped=dropped_of(record, collection, ("_id",)),
    )


read = json_lines(parse)
