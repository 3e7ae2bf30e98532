"""Transcribed notes: `id`, `name`, `specialties`, and `text`, in which commas replaced line breaks (MTSamples)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mappings.analysis.sections import split_note
from mappings.collection import Collection
from mappings.documents import Document
from mappings.formats.fields import dropped_of, fields_of, id_of, labels_of, text_of
from mappings.formats.records import json_lines

_LINE_BREAK: Final = re.compile(
    r"(?<=[.:?!; ]),(?=[A-Z0-9*(]|$)"
    r"|(?<=[:?!; ]),(?=[ ]{1,4}[A-Z0-9*(])"
    r"|(?<=[a-z0-9)%]{2}\.)(?<! al\.)(?<! vs\.)(?<! etc\.),(?=[ ]{1,4}[A-Z0-9*(])"
    r"|(?<=[a-z)]),(?=[A-Z]|\d{1,2}\.[ ])"
)


def restore_lines(text: str) -> str:
    """`text` with a line break instead of each comma that was one; every other character keeps its offset."""
    return _LINE_BREAK.sub("\n", text)


def parse(record: Mapping[str, Any], collection: Collection) -> Document:
    """One note; its specialties become the field `specialty` where the collection has one."""
    values = {"specialty": record.get("specialties"), **record}
    return Document(
        id=id_of(record),
        title=text_of(record, "name").strip(),
        sections=tuple(split_note(restore_lines(text_of(record, "text", required=True)))),
        labels=labels_of(record, collection),
        fields=fields_of(values, collection),
        dropped=dropped_of(values, collection, ("name", "specialties")),
    )


read = json_lines(parse)
