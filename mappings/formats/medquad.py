"""Health articles with one passage for each question: `id`, `title`, `source`, `passages` of `id` and `text` (MedQuAD).

A passage's `question` and `question_type` are the query and its aspect: they never become part of the document. The
passage `<id>-<n>` is section n - 1, even if the source lacks passages before it: empty sections fill the gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mappings.collection import Collection
from mappings.documents import Document, Section
from mappings.formats.fields import dropped_of, fields_of, id_of, labels_of, objects_of, text_of
from mappings.formats.records import json_lines

_NUMBER: Final = re.compile(r"-(\d{1,6})$")
_WIDEST_GAP: Final = 1000


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One article."""
    return Document(
        id=id_of(record),
        title=text_of(record, "title").strip(),
        sections=tuple(_sections(objects_of(record, "passages"))),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
        dropped=dropped_of(record, collection, ("passages",)),
    )


def _sections(parts: list[Mapping[str, Any]]) -> Iterator[Section]:
    count = 0
    for part in parts:
        number = _NUMBER.search(id_of(part))
        for _ in range(count, min(int(number[1]) - 1, count + _WIDEST_GAP) if number else count):
            yield Section("", "")
            count += 1
        yield Section("", text_of(part, "text"))
        count += 1


read = json_lines(parse)
