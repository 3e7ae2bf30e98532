"""What clients of OpenSearch ask first: the version, and the fields of an index; and single documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mappings.collection import Collection
from search.storage import StoredDocument
from web.compatible.query.texts import TEXT, TITLE
from web.compatible.sources import SourceFilter
from web.wire import DocumentAnswer

VERSION: Final = "3.0.0"
"""The release of OpenSearch in whose forms requests are read and answered."""

_FORMAT: Final = "yyyy-MM-dd||strict_date_optional_time||epoch_millis"
"""Of dates: the first is that of answers, all of them are those of bounds."""

_TYPES: Final = {"keyword": "keyword", "number": "double", "date": "date"}


def info() -> dict[str, Any]:
    """What `GET /` answers."""
    return {
        "name": "medley",
        "cluster_name": "medley",
        "cluster_uuid": "medley",
        "version": {
            "distribution": "opensearch",
            "number": VERSION,
            "build_type": "medley",
            "build_snapshot": False,
            "minimum_wire_compatibility_version": VERSION,
            "minimum_index_compatibility_version": VERSION,
        },
        "tagline": "Medley answers the common part of OpenSearch's _search",
    }


def mappings_of(collection: Collection, encoders: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a collection as a mapping: those that are searched, and those by which it is filtered.

    `encoders` has the fingerprint of the model of each vector field of the published index.
    """
    fields = {item.name: {"type": _TYPES[item.type]} for item in collection.fields.values()}
    for name, field in collection.fields.items():
        if field.type == "date":
            fields[name]["format"] = _FORMAT
    searched = {name: {"type": "text"} for name in (TITLE, TEXT)}
    return {"_meta": {"encoders": dict(encoders)}, "properties": searched | fields}


def index_of(collection: Collection, encoders: Mapping[str, str]) -> dict[str, Any]:
    """What `GET /<collection>` answers of it."""
    return {"aliases": {}, "mappings": mappings_of(collection, encoders), "settings": {}}


def document_of(collection: Collection, stored: StoredDocument, source: SourceFilter) -> dict[str, Any]:
    """What `GET /<collection>/_doc/<id>` answers; `text` is that of all sections."""
    document = DocumentAnswer.of(collection, stored)
    whole = {
        "title": document.title,
        "text": "\n\n".join(item.text for item in document.sections),
        "sections": [item.model_dump() for item in document.sections],
        **document.fields,
    }
    found: dict[str, Any] = {
        "_index": collection.name,
        "_id": stored.id,
        "_version": stored.version,
        "found": True,
        "fields": {"invented": [collection.invented]},
    }
    return found | ({"_source": source.of(whole)} if source.is_shown else {})
