"""Reads all newest document versions of a store on the cluster, and writes those of another store into it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from typing import Final

from mappings.errors import Conflict
from search.engines import codec
from search.engines.opensearch.documents.heads import Head, head_of
from search.engines.opensearch.documents.tables import Row, Table
from search.engines.opensearch.records import safe_id
from search.storage import ExportedVersion

_PAGE: Final = 5_000


def export(heads: Table, raws: Table) -> Iterator[ExportedVersion]:
    """Every document, in a version at least as new as when this begins; see `DocumentStore.export`.

    A head is changed but never removed, and pages follow its id, which never changes: no document is missed or read twice.
    """
    rows = heads.scan({"match_all": {}}, "id", None, _PAGE)
    found = (head_of(row, row.source["id"]) for row in rows if row.source is not None)
    for chunk in codec.batches(found, codec.CHUNK_DOCUMENTS):
        kept = raws.read([head.raw for head in chunk if not head.deleted])
        yield from (_exported(head, kept.get(head.raw, Row())) for head in chunk)


def _exported(head: Head, raw: Row) -> ExportedVersion:
    content = None
    if head.hash is not None:
        packed = base64.b64decode(raw.source["raw"]) if raw.source else None
        content = codec.content_of(head.id, packed, bytes.fromhex(head.hash))
    return ExportedVersion(head.id, head.version, content, head.turn, head.source_version, head.job)


def restore(heads: Table, raws: Table, versions: Sequence[ExportedVersion]) -> int:
    """Store exported versions under their own numbers; see `DocumentStore.restore`. Returns how many were given."""
    made = {item.id: _head(item) for item in versions}
    now = time.time_ns() // 1_000  # a purge takes a raw document without a head for an orphan once it is old
    packed = {
        made[item.id].raw: {
            "id": item.id,
            "version": item.version,
            "turn": now,
            "raw": base64.b64encode(codec.pack(item.content)).decode(),
        }
        for item in versions
        if item.content is not None
    }
    raws.put(packed)
    present = heads.swap({safe_id(name): (head.source(), Row()) for name, head in made.items()})
    _check_same(heads, [head for head in made.values() if safe_id(head.id) in present])
    return len(versions)


def _head(item: ExportedVersion) -> Head:
    hashed = None if item.content is None else codec.digest(item.content).hex()
    return Head(item.id, item.version, item.accepted, hashed, source_version=item.source_version, job=item.job)


def _check_same(heads: Table, made: Sequence[Head]) -> None:
    """Raise `Conflict` unless the store has these versions, with the same content."""
    rows = heads.read([safe_id(head.id) for head in made])
    for head in made:
        found = head_of(rows[safe_id(head.id)], head.id)
        if (found.version, found.hash) != (head.version, head.hash):
            raise Conflict(
                f"the document {head.id[:200]!r} is in the store already, in version {found.version}", field="id"
            )
