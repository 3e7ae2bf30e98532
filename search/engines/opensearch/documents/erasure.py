"""Removes replaced versions, tombstones and old jobs from a store on the cluster, and remembers what must stay refused.

A purged document that has a source version leaves a row in `erased`: its version, its source version, and as its id a
hash of the document's under the store's own salt. It tells nobody the id, but whoever can read the cluster can check
whether a known id is among them.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from search.engines import codec
from search.engines.opensearch.documents import queries
from search.engines.opensearch.documents.heads import Head
from search.engines.opensearch.documents.states import state_id
from search.engines.opensearch.documents.tables import Row, Table
from search.engines.opensearch.records import safe_id
from search.storage import Purged

_SALT: Final = "salt"
_PAGE: Final = 1_000
_CLOCK_SECONDS: Final = 0.5
_JOB_SECONDS: Final = 86_400.0
_ORPHAN_SECONDS: Final = 3_600.0
# A row without a head is either about to get one, or was left by a writer that was killed.
_MICROSECONDS: Final = 1_000_000

ReadHeads = Callable[[Sequence[str]], Mapping[str, tuple[Head, Row]]]


class Erased:
    """The purged documents of a collection that have a source version."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._salt = ""

    def heads(self, ids: Sequence[str], turn: Callable[[], int]) -> dict[str, Head]:
        """Those of the documents that were purged, each as if it still had its tombstone."""
        if not ids or not self._known_salt():
            return {}
        keys = {self._key(identifier): identifier for identifier in ids}
        found = {keys[key]: row.source for key, row in self.table.read(list(keys)).items() if row.source is not None}
        return {
            name: Head(name, row["version"], turn(), source_version=row["source_version"])
            for name, row in found.items()
        }

    def remember(self, heads: Sequence[Head]) -> None:
        """Refuse copies of these documents that are older than their source versions."""
        if heads and not self._known_salt():
            self.table.swap({_SALT: ({"salt": secrets.token_hex(32)}, Row())})  # another process can be first
            self._known_salt()
        self.table.put(
            {self._key(head.id): {"version": head.version, "source_version": head.source_version} for head in heads}
        )

    def _known_salt(self) -> str:
        self._salt = self._salt or (self.table.read([_SALT])[_SALT].source or {}).get("salt", "")
        return self._salt

    def _key(self, identifier: str) -> str:
        return hmac.digest(bytes.fromhex(self._salt), identifier.encode(), "sha256").hex()


@dataclass(frozen=True, slots=True)
class Purge:
    """One purge over the tables of a store."""

    heads: Table
    raws: Table
    states: Table
    jobs: Table
    erased: Erased
    read: ReadHeads

    def run(self, before: float, indexes: Sequence[str], ids: Sequence[str] | None) -> Purged:
        """Remove everything that `DocumentStore.purge` describes."""
        cutoff = int(before * _MICROSECONDS)
        versions = self._remove_versions(cutoff, None if ids is None else frozenset(ids))
        parts = [None] if ids is None else list(codec.batches(ids, _PAGE))
        tombstones = sum(self._remove_tombstones(cutoff, indexes, part) for part in parts)
        waiting = sum(self._count(queries.tombstones(cutoff, (), part)) for part in parts)
        jobs = self._remove_jobs(before, indexes) if ids is None else 0
        return Purged(versions, tombstones, jobs, waiting)

    def _remove_versions(self, cutoff: int, ids: frozenset[str] | None) -> int:
        count = 0
        for page in self.raws.walk(["id", "version", "turn"], _PAGE):
            rows = {key: row for key, row in page.items() if ids is None or row["id"] in ids}
            heads = self.read(list({row["id"] for row in rows.values()})) if rows else {}
            dead = [key for key, row in rows.items() if _is_dead(key, row, heads[row["id"]][0], cutoff)]
            self.raws.delete(dict.fromkeys(dead))
            count += len(dead)
        return count

    def _remove_tombstones(self, cutoff: int, indexes: Sequence[str], ids: Sequence[str] | None) -> int:
        query, count = queries.tombstones(cutoff, indexes, ids), 0
        found = [row.source["id"] for row in self.heads.scan(query, "turn", None, _PAGE) if row.source is not None]
        for chunk in codec.batches(found, codec.CHUNK_DOCUMENTS):
            read = self.read(chunk)  # as they are now: one can be revived meanwhile
            gone = {name: item for name, item in read.items() if item[0].version and item[0].deleted}
            self.erased.remember([head for head, _ in gone.values() if head.source_version is not None])
            # The states first: what a kill leaves is then still found by the head.
            self.states.delete({state_id(index, name): None for name in gone for index in indexes})
            contended = self.heads.delete({safe_id(name): row for name, (_, row) in gone.items()})
            count += len(gone) - len(contended)
        if count:
            # A node refuses a lower version of a removed row until a refresh, by a clock that moves every 200 ms.
            time.sleep(_CLOCK_SECONDS)
            self.states.refresh()
        return count

    def _count(self, query: Mapping[str, Any]) -> int:
        found = self.heads.search({"size": 0, "track_total_hits": True, "query": query})
        return int(found["hits"]["total"]["value"])

    def _remove_jobs(self, before: float, indexes: Sequence[str]) -> int:
        """Remove the jobs that ended a day before; those that say when an existing index was published stay.

        The cause of a rebuild that failed can quote a document, so such a job is removed at once.
        """
        last, count = min(before, time.time() - _JOB_SECONDS), 0
        ends = tuple(f".{index}" for index in indexes)
        for page in self.jobs.walk(["started", "finished", "cause"], _PAGE):
            old = [
                name
                for name, job in page.items()
                if not name.endswith(ends)
                and (max(job["started"], job["finished"]) <= last or (job.get("cause") and job["finished"] <= before))
            ]
            self.jobs.delete(dict.fromkeys(old))
            count += len(old)
        return count


def _is_dead(key: str, row: Mapping[str, Any], head: Head, cutoff: int) -> bool:
    """Whether a raw document was replaced or deleted by `cutoff`, or belongs to no document."""
    if not head.version:
        orphaned = (time.time() - _ORPHAN_SECONDS) * _MICROSECONDS
        return bool(row.get("turn", 0) <= min(cutoff, orphaned))
    return bool(row["version"] <= head.version and key != head.raw and head.superseded(row["version"]) <= cutoff)
