"""Encodes documents and their fields as bytes and back, exactly, and hashes them to detect changes."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any, Final, Protocol, TypeVar

import orjson

from mappings.documents import Document, FieldValue, Section, TaggedMention
from mappings.errors import Damaged, InvalidInput
from search.storage import Change


class _HasContent(Protocol):
    @property
    def content(self) -> bytes | None: ...


T = TypeVar("T")
C = TypeVar("C", bound=_HasContent)
_DATE: Final = "$date"
_LEVEL: Final = 3
CHUNK_DOCUMENTS: Final = 500
_CHUNK_BYTES: Final = 8_000_000


def encode_fields(fields: Mapping[str, FieldValue]) -> dict[str, Any]:
    """Fields as JSON values; a date is marked as such, since its text alone would not tell."""
    return {
        name: {_DATE: value.isoformat()}
        if isinstance(value, date)
        else list(value)
        if isinstance(value, tuple)
        else value
        for name, value in fields.items()
    }


def decode_fields(values: Mapping[str, Any]) -> dict[str, FieldValue]:
    """The inverse of `encode_fields`."""
    return {name: _decode(value) for name, value in values.items()}


def _decode(value: Any) -> FieldValue:
    if isinstance(value, dict):
        return date.fromisoformat(value[_DATE])
    return tuple(value) if isinstance(value, list) else value


def encodable(text: str) -> str:
    """`text` with a question mark for each lone surrogate, which no file or index can hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def dump(document: Document) -> bytes:
    """The document as canonical JSON: equal content gives equal bytes. Raises `InvalidInput` for values outside JSON.

    The source version is left out: it is not content, and a new one alone changes nothing.
    """
    for name, value in document.fields.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(
                f"document {document.id!r}: field {name!r} must be a finite number, not {value}", field=name
            )
    content: dict[str, Any] = {
        "id": document.id,
        "title": document.title,
        "sections": [[section.heading, section.text] for section in document.sections],
        "labels": sorted(document.labels),
        "fields": encode_fields(document.fields),
    }
    if document.tagged is not None:
        content["tagged"] = [list(item) for item in document.tagged]
    try:
        return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise InvalidInput(f"document {document.id!r} can't be stored: {error}", field="document") from error


def load(content: bytes) -> Document:
    """The inverse of `dump`; the document has no source version."""
    data = orjson.loads(content)
    return Document(
        id=data["id"],
        title=data["title"],
        sections=tuple(Section(heading, text) for heading, text in data["sections"]),
        labels=frozenset(data["labels"]),
        fields=decode_fields(data["fields"]),
        tagged=tuple(map(TaggedMention._make, data["tagged"])) if "tagged" in data else None,
    )


def restore(packed: bytes, expected: bytes) -> Document:
    """The document of a packed record. Raises `ValueError` unless its content has the hash `expected`."""
    return load(_unpack_checked(packed, expected))


def digest(content: bytes) -> bytes:
    """SHA-256 of a dumped document: text, labels and fields."""
    return hashlib.sha256(content).digest()


def pack(content: bytes) -> bytes:
    """Compressed: notes and abstracts shrink to about two fifths."""
    return zlib.compress(content, _LEVEL)


def unpack(content: bytes) -> bytes:
    """The inverse of `pack`."""
    return zlib.decompress(content)


def content_of(identifier: str, packed: bytes | None, expected: bytes) -> bytes:
    """The dumped document of a packed record. Raises `Damaged` for one that is missing, or does not have its hash."""
    try:
        if packed is not None:
            return _unpack_checked(packed, expected)
    except ValueError:
        pass
    raise Damaged(
        f"the stored document {identifier[:200]!r} is {'missing' if packed is None else 'damaged'}: send it again, or "
        "restore it from an earlier backup",
        field="id",
    )


def _unpack_checked(packed: bytes, expected: bytes) -> bytes:
    try:
        content = unpack(packed)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if digest(content) != expected:
        raise ValueError("the content does not have its hash")
    return content


@dataclass(frozen=True, slots=True)
class Packed:
    """A change in the form that stores accept; `content` is None for a deletion."""

    id: str
    source: int | None = None
    content: bytes | None = None


def pack_changes(changes: Iterable[Change]) -> Iterator[Packed]:
    """Documents and deletions in the form that stores accept. Raises `InvalidInput`."""
    for change in changes:
        content = dump(change) if isinstance(change, Document) else None
        yield Packed(change.id, change.source_version, content)


def pack_deletions(ids: Iterable[str]) -> Iterator[Packed]:
    """Deletions of these ids, without a source version, in the form that stores accept."""
    return (Packed(encodable(identifier)) for identifier in ids)


def chunks(changes: Iterable[C]) -> Iterator[list[C]]:
    """Changes in chunks bounded by number and by bytes: a store never holds thousands of documents or many large ones."""
    chunk: list[C] = []
    size = 0
    for change in changes:
        chunk.append(change)
        size += len(change.content or b"")
        if len(chunk) >= CHUNK_DOCUMENTS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
