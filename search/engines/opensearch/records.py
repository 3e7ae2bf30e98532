"""The entries of one document version on OpenSearch: one for each passage, and one for each further vector of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

import numpy as np
import orjson

from mappings.analysis.headings import normalise_heading
from mappings.analysis.words import terms
from mappings.documents import EVERY_LABEL, FieldValue, Passage, PassageMention
from mappings.errors import InvalidInput
from mappings.indexes import EMPTY
from search.engines.codec import decode_fields, encode_fields
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.vectors.forms import VectorForm
from search.engines.titles import title_or_lead
from search.engines.values import indexable
from search.protocols import IndexEntry, Vectors
from search.query import ASPECT, PROVES

SHOWN: Final = ("passage", "document", "version", "ordinal", "title", "heading", "text", "context", "mentions")
"""The fields of an entry that its passage is read from."""

BY_WORDS: Final = "by-words"
"""The kind of the first entry of a document without vectors, beside its others."""

COMMIT_ID: Final = "commit"
COMMIT_ROUTE: Final = "commit"
_LONGEST_ID: Final = 440
# OpenSearch accepts ids of 512 bytes; a document's own id can be as long, even without our suffix.


def entry_rows(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(passage, row) of every entry; row 0 is in the entry of the passage itself."""
    for ordinal, count in enumerate(rows):
        for row in range(count):
            yield ordinal, row


def entry_ids(entry: IndexEntry) -> list[str]:
    """The ids of a version's entries, in the order of `entry_rows`."""
    return [entry_id(entry.document, entry.version, *place) for place in entry_rows(entry.rows)]


def entry_id(document: str, version: int, ordinal: int, row: int) -> str:
    """The `_id` of an entry: the passage's id, with the suffix `/row` for a further row."""
    return f"{safe_id(document)}@{version}#{ordinal}" + (f"/{row}" if row else "")


def safe_id(identifier: str) -> str:
    """`identifier`, or its hash where it is too long for an `_id` with a suffix."""
    raw = identifier.encode()
    return identifier if len(raw) <= _LONGEST_ID else f"sha256:{hashlib.sha256(raw).hexdigest()}"


def records(entry: IndexEntry, index: OpenSearchIndexDescription) -> list[bytes]:
    """The entries of a version as JSON, in the order of `entry_rows`. Raises `InvalidInput` for an invalid value."""
    encoded = {name: _encoded(entry.vectors[name], index.form) for name in index.encoders if entry.vectors}
    made = []
    try:
        shared = orjson.dumps(_shared(entry, index))[:-1]  # the same in each of them, so written once
        for start, (ordinal, row) in enumerate(entry_rows(entry.rows)):
            own: dict[str, Any] = {
                "vectors": {name: rows[start] for name, rows in encoded.items() if rows[start] is not None},
                "ordinal": ordinal,
                "row": row,
            }
            own["passage"] = entry.passages[ordinal].id
            own |= {"kind": ["row"]} if row else _passage(entry, ordinal)
            if index.tokens is not None and entry.tokens and entry.tokens[ordinal] and not row:
                own["tokens"] = base64.b64encode(entry.tokens[ordinal]).decode("ascii")
            if index.encoders and not encoded and start == 0:
                own["kind"] = [*own["kind"], BY_WORDS]
            made.append(b"%s,%s" % (shared, orjson.dumps(own, option=orjson.OPT_SERIALIZE_NUMPY)[1:]))
    except orjson.JSONEncodeError as error:
        raise InvalidInput(f"document {entry.document!r} can't be indexed: {error}", field="document") from error
    return made


def _shared(entry: IndexEntry, index: OpenSearchIndexDescription) -> dict[str, Any]:
    values, kinds = entry.indexed_fields, index.fields.items()
    return {
        "document": entry.document,
        "version": entry.version,
        "labels": sorted(entry.labels | {EVERY_LABEL}) if entry.labels else [],
        "fields": {name: _plain(indexable(name, kind, values[name])) for name, kind in kinds if name in values},
    }


def _encoded(rows: Vectors, form: VectorForm) -> list[Any]:
    """What each row is sent as; None for one of zeros, which has no vector."""
    rounded = rows.astype(np.float16)
    present = [bool(row.any()) for row in rounded]
    return [item if is_any else None for item, is_any in zip(form.encode(rounded), present, strict=True)]


def _passage(entry: IndexEntry, ordinal: int) -> dict[str, Any]:
    passage = entry.passages[ordinal]
    content: dict[str, Any] = {
        "kind": ["passage"],
        "title": passage.title,
        "heading": passage.heading,
        "text": passage.text,
        "also": passage.also,
        "context": passage.context,
        ASPECT: normalise_heading(passage.heading),
    }
    if passage.mentions:
        content["mentions"] = {"of": [list(item) for item in passage.mentions]}
    if proven := entry.proven(ordinal):
        content[PROVES] = proven
    if not terms(passage.title):
        content["title_words"] = title_or_lead(passage) or EMPTY
    if not terms(passage.heading):
        content["heading_words"] = EMPTY
    if ordinal == 0:
        content |= {
            "kind": ["document", "passage"],
            "rest": _rest(entry.passages),
            "shown": encode_fields(entry.fields),
        }
    return content


def _rest(passages: Sequence[Passage]) -> list[str]:
    """The texts of the second and later passages, without titles equal to the first passage's."""
    texts: list[str] = []
    for passage in passages[1:]:
        title = () if passage.title == passages[0].title else (passage.title,)
        texts.extend(text for text in (*title, passage.heading, passage.text, passage.also) if text)
    return texts


def _plain(values: Sequence[Any]) -> list[Any]:
    return [value.isoformat() if isinstance(value, date) else value for value in values]


def passage_of(source: Mapping[str, Any]) -> Passage:
    """The passage in an entry."""
    passage = Passage(*(source[name] for name in SHOWN[1:-1]))
    mentions = source.get("mentions", {}).get("of", ())
    return replace(passage, mentions=tuple(map(PassageMention._make, mentions))) if mentions else passage


def tokens_of(source: Mapping[str, Any]) -> bytes:
    """The token vectors in an entry; no bytes for one without."""
    return base64.b64decode(source.get("tokens", ""))


def fields_of(source: Mapping[str, Any]) -> dict[str, FieldValue]:
    """The fields of the document, in the entry of its first passage."""
    return decode_fields(source.get("shown") or {})


def vectors_of(rows: Sequence[Mapping[str, Any]], name: str, index: OpenSearchIndexDescription) -> Vectors:
    """The vectors of a field in the entries of a passage, shape (rows, d): zeros where one has none."""
    nothing = [0.0] * index.dimensions[name]
    return index.form.decode([row.get(name, nothing) for row in rows])
