"""The raw documents of the store on the cluster, checked against the hashes in their heads."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from mappings.errors import Unavailable
from search.engines import codec
from search.engines.opensearch.documents.heads import Head
from search.engines.opensearch.documents.tables import Row, Table
from search.storage import DAMAGED, StoredDocument


def unreadable(raws: Table, heads: Sequence[Head]) -> list[str]:
    """The ids of those documents whose record is missing, or does not have its hash."""
    rows = raws.read([head.raw for head in heads])
    return [head.id for head in heads if restored(head, (rows[head.raw].source or {}).get("raw", "")).damage]


def raw_of(head: Head, row: Row, table: str) -> str:
    """The packed record of the newest version. Raises `Unavailable` where the row is missing."""
    if row.source is None:  # must not count as a deletion, which would remove it from the index
        raise Unavailable(
            f"the store lacks version {head.version} of {head.id!r}: restore {table} from a snapshot, or send the document "
            "again"
        )
    return str(row.source["raw"])


def restored(head: Head, raw: str) -> StoredDocument:
    """The newest version of a document, from its packed record."""
    try:
        document = codec.restore(base64.b64decode(raw), bytes.fromhex(head.hash or ""))
    except ValueError:
        return StoredDocument(head.id, head.version, None, DAMAGED)
    return StoredDocument(head.id, head.version, document)
