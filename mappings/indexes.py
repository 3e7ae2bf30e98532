"""The index body of a collection for OpenSearch, as JSON: analysis, fields, vectors, and the `_meta` of the index.

A passage is a document of the index, and so is each further row of its vectors, since one document has one vector a
field. `kind` distinguishes them: `document` (the first passage of a document), `passage` (every passage), `row`,
`commit`. The first passage of a document has the terms of the later ones in `rest`, so that totals count each document
once, by its first passage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import Collection
from mappings.fields import FieldType

SCHEMA_VERSION: Final = 3
READ_SCHEMAS: Final = (2, SCHEMA_VERSION)
"""The versions of this body that are read; an index of another one is refused. Version 2 has no `vectors` in its `_meta`:
they were sent as JSON numbers."""

TEXT: Final = "medley_text"
"""The analyzer of texts; it produces the terms of `mappings.analysis.words`."""

TERMS: Final = "medley_terms"
"""The analyzer of phrases of terms that are already analysed: split at spaces, with a gap for each stop word."""

GAP: Final = "\x01"
EMPTY: Final = "medley0empty"
"""The one word of an empty heading, and of a title without a first sentence to stand in for it. Lucene leaves a passage
without words out of the field's statistics, but the embedded engine counts it: with this word both engines count, and so
score, alike."""

MAX_KEYWORD_CHARACTERS: Final = 8_191

# Lucene's stemmer reduces "added" to "add"; Snowball's second version, which we use, to "ad": the stem is a vowel and a
# doubled letter. These are the English words of that form.
_SHORT: Final = [
    "added, adding => ad",
    "ebbed, ebbing => eb",
    "egged, egging => eg",
    "erred, erring => er",
    "offed, offing => of",
]

ANALYSIS: Final[dict[str, Any]] = {
    "char_filter": {
        "medley_apostrophe": {"type": "mapping", "mappings": ["\u2019 => '"]},
        # Lucene treats pictographs as words, "®" and "™" among them; we do not.
        "medley_pictographs": {
            "type": "pattern_replace",
            "pattern": r"[\p{IsExtended_Pictographic}\x{1F1E6}-\x{1F1FF}]",
            "replacement": " ",
        },
    },
    "filter": {
        "medley_stop": {"type": "stop", "stopwords": "_english_"},
        "medley_short": {"type": "stemmer_override", "rules": _SHORT},
        "medley_stem": {"type": "stemmer", "language": "porter2"},
        "medley_gap": {"type": "stop", "stopwords": [GAP]},
    },
    "analyzer": {
        TEXT: {
            "type": "custom",
            "char_filter": ["medley_apostrophe", "medley_pictographs"],
            "tokenizer": "standard",
            "filter": ["lowercase", "medley_stop", "medley_short", "medley_stem"],
        },
        TERMS: {"type": "custom", "tokenizer": "whitespace", "filter": ["medley_gap"]},
    },
}
"""The analysis settings of an index: the analyzers `TEXT` and `TERMS`."""

_KEYWORD: Final[dict[str, Any]] = {"type": "keyword", "ignore_above": MAX_KEYWORD_CHARACTERS}
_UNSEARCHED: Final[dict[str, Any]] = {"type": "text", "index": False, "norms": False}
_TYPES: Final[Mapping[FieldType, dict[str, Any]]] = {
    "keyword": _KEYWORD,
    "number": {"type": "double"},
    "date": {"type": "date", "format": "strict_date"},
}


def index_body(
    collection: Collection,
    encoders: Mapping[str, tuple[str, int]],
    generation: int,
    reading: str = "",
    tokens: Mapping[str, Any] | None = None,
    form: str = "numbers",
) -> dict[str, Any]:
    """Settings and mappings of a new index.

    `encoders`: vector field -> (fingerprint, dimension). `reading` is the version of what reads the documents. `tokens`
    says whose token vectors the index stores, in a field that is only fetched; without, it has no such field. `form` names
    how vectors are sent (`search.engines.opensearch.vectors.forms`).
    """
    mappings = _mappings(collection, encoders, generation, reading)
    mappings["_meta"]["vectors"] = {"form": form, "bits": collection.vector_bits}
    if tokens is not None:
        mappings["_meta"]["tokens"] = dict(tokens)
        mappings["properties"]["tokens"] = {"type": "binary"}
    return {"settings": _settings(collection), "mappings": mappings}


def _settings(collection: Collection) -> dict[str, Any]:
    replicas = collection.replicas
    copies = {"auto_expand_replicas": replicas} if isinstance(replicas, str) else {"number_of_replicas": replicas}
    return {
        "index": {
            "number_of_shards": collection.shards,
            **copies,
            # Only a commit refreshes, so that one answer never mixes two commits of a shard.
            "refresh_interval": "-1",
            # A refresh would wait until segments are merged and their vector graphs built anew.
            "merge_on_flush.enabled": False,
            "knn": True,
        },
        "analysis": ANALYSIS,
    }


def _mappings(
    collection: Collection, encoders: Mapping[str, tuple[str, int]], generation: int, reading: str
) -> dict[str, Any]:
    fields = dict(collection.index_fields)
    return {
        "dynamic": "strict",
        "_routing": {"required": True},
        "_meta": {
            "schema": SCHEMA_VERSION,
            "collection": collection.name,
            "generation": generation,
            "encoders": {
                name: {"fingerprint": fingerprint, "dimension": size} for name, (fingerprint, size) in encoders.items()
            },
            "analysis": ANALYSIS_VERSION,
            "windows": collection.window_words,
            "reading": reading,
            "fields": fields,
        },
        "properties": _properties(fields, encoders, collection.vector_bits),
    }


def _properties(fields: Mapping[str, FieldType], encoders: Mapping[str, tuple[str, int]], bits: int) -> dict[str, Any]:
    return {
        "kind": _KEYWORD,
        "passage": _KEYWORD,
        "document": _KEYWORD,
        "version": {"type": "long"},
        "ordinal": {"type": "integer"},
        "row": {"type": "integer"},
        "labels": _KEYWORD,
        "content": {"type": "text", "analyzer": TEXT},
        "rest": {"type": "text", "analyzer": TEXT, "norms": False},
        "title": {**_UNSEARCHED, "copy_to": ["content", "title_words"]},
        "heading": {**_UNSEARCHED, "copy_to": ["content", "heading_words"]},
        "title_words": {"type": "text", "analyzer": TEXT, "index_options": "freqs"},
        "heading_words": {"type": "text", "analyzer": TEXT, "index_options": "freqs"},
        "text": {**_UNSEARCHED, "copy_to": "content"},
        "also": {**_UNSEARCHED, "copy_to": "content"},
        "context": _UNSEARCHED,
        "proves": _KEYWORD,
        "aspect": _KEYWORD,
        "mentions": {"type": "object", "enabled": False},
        "shown": {"type": "object", "enabled": False},
        "commit": {"type": "long"},
        "fields": {"properties": {name: _TYPES[kind] for name, kind in fields.items()}},
        "vectors": {"properties": {name: vector_field(size, bits) for name, (_, size) in encoders.items()}},
    }


def vector_field(dimension: int, bits: int = 32) -> dict[str, Any]:
    """The mapping of unit vectors, searched by their inner products; with fewer than 32 bits by their quantised values."""
    # Unit vectors, so the inner product is the cosine. The Lucene engine filters while it searches the graph, and needs
    # no native library; the plugin's default is faiss, so the engine must be named.
    parameters: dict[str, Any] = {"m": 16, "ef_construction": 100}
    if bits < 32:
        parameters["encoder"] = {"name": "sq", "parameters": {"bits": bits}}
    method = {"name": "hnsw", "engine": "lucene", "parameters": parameters}
    return {"type": "knn_vector", "dimension": dimension, "space_type": "innerproduct", "method": method}
