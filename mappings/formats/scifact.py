"""SciFact's `corpus.jsonl`: `doc_id`, `title`, `abstract` as a list of sentences (Wadden et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from html import unescape
from typing import Any

from mappings.collection import Collection
from mappings.documents import Document
from mappings.formats.fields import dropped_of, fields_of, id_of, labels_of, text_of, texts_of
from mappings.formats.jsonl import split
from mappings.formats.records import json_lines


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One abstract; it can have `cord_id` instead of `doc_id`, as in Check-COVID."""
    return Document(
        id=id_of(record, "doc_id" if "doc_id" in record or "cord_id" not in record else "cord_id"),
        title=text_of(record, "title").strip(),
        sections=split(unescape(" ".join(texts_of(record, "abstract"))), collection),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
        dropped=dropped_of(record, collection, ("doc_id", "cord_id", "abstract")),
    )


read = json_lines(parse)
