"""State records of documents as rows on the cluster: one for each document in each index."""

from __future__ import annotations

from typing import Any

from search.engines.opensearch.documents.heads import Head
from search.engines.opensearch.documents.tables import Row
from search.engines.opensearch.records import safe_id
from search.storage import State, StateRecord


def state_id(index: str, document: str) -> str:
    """The id of the row."""
    return safe_id(f"{index}/{document}")


def state_row(index: str, record: StateRecord, previous: Row) -> dict[str, Any]:
    """The row of a record; it counts another attempt where the previous row is of the same version."""
    before = previous.source or {}
    attempts = before["attempts"] + 1 if before.get("version") == record.version else 1
    return {
        "index": index,
        "id": record.id,
        "version": record.version,
        "state": record.state.value,
        "passages": record.passages,
        "attempts": attempts,
        "cause": record.cause,
    }


def record_of(head: Head, state: State, row: Row) -> StateRecord:
    """The record of a head that is in `state`; `row` may be of an earlier version."""
    kept = row.source or {}
    return StateRecord(
        head.id, head.version, state, kept.get("passages", 0), kept.get("attempts", 0), kept.get("cause", "")
    )
