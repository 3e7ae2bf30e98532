"""What accepting changes makes of the heads of their documents, and the raw documents that are to be written for it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from search.engines import codec
from search.engines.opensearch.documents.heads import Head, is_repeated, next_head
from search.engines.source_versions import is_stale
from search.storage import Accepted


def apply_changes(
    changes: Mapping[int, codec.Packed],
    heads: dict[str, Head],
    job: str,
    unreadable: set[str],
    next_turn: Callable[[], int],
) -> tuple[dict[int, Accepted], dict[str, dict[str, Any]]]:
    """Apply numbered changes to `heads`, in order: their outcomes, and the raw documents to be written.

    Documents in `unreadable` are stored again although their content is equal.
    """
    outcomes: dict[int, Accepted] = {}
    raws: dict[str, dict[str, Any]] = {}
    for number, change in changes.items():
        head = heads[change.id]
        again = change.id in unreadable and is_repeated(head, change)
        unreadable = unreadable - {change.id}
        made = heads[change.id] = next_head(head, change, job, next_turn, again)
        stale = is_stale(head.source_version, change.source)
        outcomes[number] = Accepted(change.id, made.version, made.version != head.version, stale)
        if made.version != head.version and change.content is not None:
            packed = base64.b64encode(codec.pack(change.content)).decode()
            raws[made.raw] = {"id": change.id, "version": made.version, "turn": made.turn, "raw": packed}
    return outcomes, raws
