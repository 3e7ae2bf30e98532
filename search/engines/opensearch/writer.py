"""The writer of an index: entries are collected until the commit, sent in bulk, and made visible by one refresh.

A commit looks up the existing entries of its documents, writes the new versions under ids of their own, and removes
the old entries by id. After a kill the work is repeated: the same version has the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from mappings.errors import MedleyError, NotFound
from search.engines.opensearch import fetches
from search.engines.opensearch.admin import Admin, Lease
from search.engines.opensearch.bulk import Action, send
from search.engines.opensearch.client import WHOLE, Cluster
from search.engines.opensearch.description import OpenSearchIndexDescription
from search.engines.opensearch.records import COMMIT_ID, COMMIT_ROUTE, entry_id, entry_ids, records
from search.engines.values import check_vectors
from search.protocols import IndexEntry

_LOOKUP: Final = 500
_PAGE: Final = 10_000

Entries = dict[str, bytes]
"""The entries of one version by id, as JSON; empty for a document to be removed."""


class OpenSearchWriter:
    """An `IndexWriter`. Nothing reaches the cluster before `commit`."""

    def __init__(
        self, cluster: Cluster, index: OpenSearchIndexDescription, lease: Lease, committed: Callable[[], None]
    ) -> None:
        self._cluster, self._index, self._lease, self._committed = cluster, index, lease, committed
        self._pending: dict[str, Entries] = {}
        self._commit = _last_commit(cluster, index)
        self._broken: MedleyError | None = None

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Replace every earlier version of each entry's document.

        Raises `InvalidInput` or `ModelError` for an invalid entry, before any of them is accepted.
        """
        self._check()
        made: dict[str, Entries] = {}
        for entry in entries:
            check_vectors(entry, self._index.dimensions)
            made[entry.document] = dict(zip(entry_ids(entry), records(entry, self._index), strict=True))
        self._pending |= made

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        self._check()
        self._pending |= {document: {} for document in documents}

    def commit(self) -> Mapping[str, str]:
        """Make all writes durable and visible; returns the causes of the documents that the cluster rejected.

        Raises `Unavailable` when it fails: the pending entries must then be written again.
        """
        self._check()
        try:
            rejected = self._send()
        except MedleyError as error:
            self._broken = error
            raise
        self._pending = {}
        self._committed()
        return rejected

    def _send(self) -> dict[str, str]:
        check = self._lease.check  # before every attempt: after a node's restart another process may hold the lease
        check()
        existing = _existing_ids(self._cluster, self._index, list(self._pending))
        actions = [list(self._actions(name, existing.get(name, ()))) for name in self._pending]
        rejected = send(self._cluster, self._index.physical, [group for group in actions if group], check)
        if rejected:
            self._withdraw(rejected)
        self._commit += 1
        mark = Action(COMMIT_ID, COMMIT_ROUTE, b'{"kind":["commit"],"commit":%d}' % self._commit)
        send(self._cluster, self._index.physical, [[mark]], check)
        self._cluster.write("POST", f"/{self._index.physical}/_refresh")
        return rejected

    def _actions(self, document: str, existing: Sequence[str]) -> Iterator[Action]:
        """The new entries first, then the removal of the old: until the refresh only the old are visible."""
        new = self._pending[document]
        yield from (Action(name, document, line) for name, line in new.items())
        yield from (Action(name, document) for name in existing if name not in new)

    def _withdraw(self, rejected: Mapping[str, str]) -> None:
        """Remove the entries of documents that were partly rejected."""
        removals = [[Action(name, document) for name in self._pending[document]] for document in rejected]
        send(self._cluster, self._index.physical, removals, self._lease.check)

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken


def _last_commit(cluster: Cluster, index: OpenSearchIndexDescription) -> int:
    # Entries that an earlier writer left unrefreshed become visible, so the lookups before a removal miss nothing.
    cluster.write("POST", f"/{index.physical}/_refresh")
    answer = cluster.read("POST", f"/{index.physical}/_search", fetches.last_commit())
    return int(answer["aggregations"]["commit"]["value"] or 0)


def _existing_ids(
    cluster: Cluster, index: OpenSearchIndexDescription, documents: Sequence[str]
) -> dict[str, list[str]]:
    """The ids of all entries of these documents in the index, of incomplete versions too."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(documents), _LOOKUP):
        for values in _entries(cluster, index, documents[start : start + _LOOKUP]):
            document = values["document"][0]
            numbers = (values[name][0] for name in ("version", "ordinal", "row"))
            found.setdefault(document, []).append(entry_id(document, *numbers))
    return found


def _entries(
    cluster: Cluster, index: OpenSearchIndexDescription, documents: Sequence[str]
) -> Iterator[dict[str, list[Any]]]:
    after: Sequence[Any] = ()
    while True:
        body = fetches.entries_of(documents, _PAGE, after)
        path = f"/{index.physical}/_search"
        hits = cluster.read("POST", path, body, WHOLE, timeout=60.0)["hits"]["hits"]
        yield from (hit["fields"] for hit in hits)
        if len(hits) < _PAGE:
            return
        after = hits[-1]["sort"]


@contextmanager
def open_writer(
    cluster: Cluster, admin: Admin, index: OpenSearchIndexDescription, wait: float, committed: Callable[[], None]
) -> Iterator[OpenSearchWriter]:
    """The writer of an index. Raises `Conflict` while another holds it after `wait` seconds, `NotFound` if it is gone."""
    with admin.lease(index.name, wait) as lease:
        try:
            writer = OpenSearchWriter(cluster, index, lease, committed)
        except NotFound:
            committed()
            raise NotFound(f"there is no index {index.name!r}", field="index") from None
        yield writer
