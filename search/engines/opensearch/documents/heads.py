"""The head of a document on the cluster: its newest version, and the indexes that have processed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from search.engines import codec
from search.engines.opensearch.documents.tables import Row
from search.engines.opensearch.records import safe_id
from search.engines.source_versions import is_stale, next_source

_MARKS: Final = 8
# A head keeps the newest indexes that its version is settled in; older ones were dropped long ago.
_TURNS: Final = 32


@dataclass(frozen=True, slots=True)
class Head:
    """The newest version of a document. `turn` orders changes by acceptance; a tombstone has no `hash`.

    `replaces`: there was an earlier version, which an index may still hold. `turns` are those of the newest few versions, the
    last one that of this; a head of an earlier program has none.
    """

    id: str
    version: int = 0
    turn: int = 0
    hash: str | None = None
    settled: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    source_version: int | None = None
    job: str = ""
    replaces: bool = False
    turns: tuple[int, ...] = ()

    @property
    def deleted(self) -> bool:
        """Whether it is a tombstone."""
        return self.hash is None

    @property
    def raw(self) -> str:
        """The id of its raw document. It includes the hash, so two writers racing for a version never share one."""
        return f"{safe_id(self.id)}@{self.version}@{(self.hash or '')[:16]}"

    def superseded(self, version: int) -> int:
        """The `turn` at which an earlier version was replaced, or the first later one that is known."""
        turns = self.turns or (self.turn,)
        return turns[max(0, len(turns) - max(1, self.version - version))]

    def source(self) -> dict[str, Any]:
        """The head as it is stored."""
        return asdict(self) | {"deleted": self.deleted}

    def settle(self, index: str, failed: bool) -> Head:
        """The head with this version settled in `index`: indexed, or failed."""
        others = tuple(name for name in self.settled if name != index)
        failures = tuple(name for name in self.failed if name != index)
        return replace(
            self, settled=(*others, index)[-_MARKS:], failed=(*failures, index)[-_MARKS:] if failed else failures
        )

    def reopen(self, index: str) -> Head:
        """The head with this version pending again for `index`."""
        return replace(
            self,
            settled=tuple(name for name in self.settled if name != index),
            failed=tuple(name for name in self.failed if name != index),
        )


def head_of(row: Row, identifier: str) -> Head:
    """The head in a row; version 0 for an unknown document."""
    if row.source is None:
        return Head(identifier)
    kept = row.source
    marks = {name: tuple(kept.get(name, ())) for name in ("settled", "failed", "turns")}
    # A later program can have added more.
    return Head(**{name: kept[name] for name in Head.__dataclass_fields__ if name in kept} | marks)


def is_repeated(head: Head, change: codec.Packed) -> bool:
    """Whether a change has the content of the newest version."""
    return head.hash is not None and change.content is not None and head.hash == codec.digest(change.content).hex()


def next_head(head: Head, change: codec.Packed, job: str, turn: Callable[[], int], again: bool = False) -> Head:
    """The head after a change; the same object where nothing changes. `turn` returns the next number in the order.

    With `again`, equal content is a new version, too.
    """
    if is_stale(head.source_version, change.source):
        return head
    source = next_source(head.source_version, change.source)
    hashed = None if change.content is None else codec.digest(change.content).hex()
    # Deleting an unknown id changes nothing, except with a source version: an older copy can still arrive.
    if not again and head.hash == hashed and (head.version or source is None):
        return head if source == head.source_version else replace(head, source_version=source)
    now = turn()
    turns = (*(head.turns or ((head.turn,) if head.version else ())), now)[-_TURNS:]
    replaces = head.version > 0
    return Head(head.id, head.version + 1, now, hashed, source_version=source, job=job, replaces=replaces, turns=turns)
