"""Medley's own schema: one JSON object for each document, on a line of a file or posted over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mappings.analysis.sections import split_abstract, split_note
from mappings.clinical.cue_rules import ASSERTIONS
from mappings.collection import Collection
from mappings.documents import Deletion, Document, Section, TaggedMention
from mappings.errors import InvalidInput
from mappings.formats.fields import dropped_of, fields_of, id_of, kind, labels_of, objects_of, text_of
from mappings.formats.moments import source_moment
from mappings.formats.records import json_lines


def parse_record(record: object, collection: Collection) -> Document | Deletion:
    """The document that a record of our schema describes, or its deletion; raises `InvalidInput` that names the field.

    `id` and one of `title`, `text` and `sections` are required. A `text` is split into sections as the collection's kind
    configures. Without `labels` the document gets the collection's; an empty list makes it visible to nobody.
    `source_version` is a whole number or a time stamp with a time zone. If `deleted` is true, everything else but these two
    is ignored. `mentions` are those of another program, with offsets in the texts of `sections`. Keys that are neither in
    the schema nor fields of the collection become the document's `dropped`.
    """
    if not isinstance(record, dict):
        raise InvalidInput(f"a document must be a JSON object, not {kind(record)}", field="document")
    if _is_deleted(record):
        return Deletion(id_of(record), source_version_of(record))
    return Document(
        id=id_of(record),
        title=text_of(record, "title").strip(),
        sections=_sections(record, collection),
        labels=labels_of(record, collection),
        fields=fields_of(record, collection),
        source_version=source_version_of(record),
        dropped=dropped_of(record, collection),
        tagged=_mentions(record),
    )


def split(text: str, collection: Collection) -> tuple[Section, ...]:
    """The sections of an undivided text, as the collection's kind configures."""
    if not text.strip():
        return ()
    if collection.sections == "note":
        return tuple(split_note(text))
    return tuple(split_abstract(text)) if collection.sections == "abstract" else (Section("", text),)


def _sections(record: Mapping[str, Any], collection: Collection) -> tuple[Section, ...]:
    parts = objects_of(record, "sections")
    if not parts:
        return split(text_of(record, "text"), collection)
    if record.get("text"):
        raise InvalidInput("give either text or sections, not both", field="sections")
    return tuple(_section(part, index) for index, part in enumerate(parts))


def _section(part: Mapping[str, Any], index: int) -> Section:
    try:
        return Section(text_of(part, "heading").strip(), text_of(part, "text", required=True))
    except InvalidInput as error:
        raise InvalidInput(f"sections[{index}].{error.message}", field=f"sections[{index}].{error.field}") from error


def _mentions(record: Mapping[str, Any]) -> tuple[TaggedMention, ...] | None:
    """The mentions that a record brings along for its `sections`; None without the key."""
    if record.get("mentions") is None:
        return None
    if not record.get("sections"):
        raise InvalidInput("mentions need sections: their offsets are in the texts of those", field="mentions")
    return tuple(_mention(item, number) for number, item in enumerate(objects_of(record, "mentions")))


def _mention(item: Mapping[str, Any], number: int) -> TaggedMention:
    section, start, end = (item.get(name, 0 if name == "section" else None) for name in ("section", "start", "end"))
    concept, assertion = item.get("concept"), item.get("assertion", "present")
    for name, value in (("section", section), ("start", start), ("end", end)):
        if not isinstance(value, int) or isinstance(value, bool):
            field = f"mentions[{number}].{name}"
            raise InvalidInput(f"{field} must be a whole number, not {kind(value)}", field=field)
    if not isinstance(concept, str) or not concept:
        field = f"mentions[{number}].concept"
        raise InvalidInput(f"{field} must be the id of a concept", field=field)
    if assertion not in ASSERTIONS:
        field = f"mentions[{number}].assertion"
        raise InvalidInput(f"{field} must be one of {', '.join(ASSERTIONS)}", field=field)
    return TaggedMention(section, start, end, concept, assertion)


def _is_deleted(record: Mapping[str, Any]) -> bool:
    value = record.get("deleted")
    if value is None or isinstance(value, bool):
        return bool(value)
    raise InvalidInput(f"deleted must be true or false, not {kind(value)}", field="deleted")


def source_version_of(record: Mapping[str, Any]) -> int | None:
    """The source version that a record states. Raises `InvalidInput`."""
    value = record.get("source_version")
    if isinstance(value, str):
        return source_moment(value, "source_version")
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(
        f"source_version must be a whole number or a time stamp, not {kind(value)}", field="source_version"
    )


read = json_lines(parse_record)
