"""The writer of an index: entries gathered until the commit, sent in bulk, made visible by one refresh.

A commit looks up what stands of its documents, writes the new versions under ids of their own, and removes the old
ones by id. What a kill leaves half-done is done again: the same version has the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from mappings.errors import MedleyError, NotFound
from search.engines.opensearch.admin import Admin, Lease
from search.engines.opensearch.bulk import Action, send
from search.engines.opensearch.client import WHOLE, Cluster
from search.engines.opensearch.description import Description
from search.engines.opensearch.records import COMMIT_ID, COMMIT_ROUTE, entry_id, entry_ids, records
from search.engines.values import check_vectors
from search.protocols import IndexEntry

_LOOKED_UP: Final = 500
_PAGE: Final = 10_000

Entries = dict[str, bytes]
"""The entries of one version by id, as JSON; none of a document that is to be removed."""


class OpenSearchWriter:
    """An `IndexWriter`. Nothing reaches the cluster before `commit`."""

    def __init__(self, cluster: Cluster, index: Description, lease: Lease, committed: Callable[[], None]) -> None:
        self._cluster, self._index, self._lease, self._committed = cluster, index, lease, committed
        self._pending: dict[str, Entries] = {}
        self._commit = _last_commit(cluster, index)
        self._broken: MedleyError | None = None

    def write(self, entries: Sequence[IndexEntry]) -> None:
        """Put each entry in the place of every earlier version of its document.

        Raises `InvalidInput` or `ModelError` for an entry that can't be indexed, before anything is taken.
        """
        self._check()
        made: dict[str, Entries] = {}
        for entry in entries:
            for name, dimension in self._index.dimensions.items():
                check_vectors(name, entry.vectors[name], sum(entry.rows), dimension)
            lines = records(entry, self._index.fields, list(self._index.encoders))
            made[entry.document] = dict(zip(entry_ids(entry), lines, strict=True))
        self._pending |= made

    def remove(self, documents: Sequence[str]) -> None:
        """Remove every version of these documents."""
        self._check()
        self._pending |= {document: {} for document in documents}

    def commit(self) -> Mapping[str, str]:
        """Make all that was written durable and visible; the causes of the documents that the cluster refused.

        Raises `Unavailable` when it could not: what was pending is then to be written again.
        """
        self._check()
        try:
            refused = self._send()
        except MedleyError as error:
            self._broken = error
            raise
        self._pending = {}
        self._committed()
        return refused

    def _send(self) -> dict[str, str]:
        check = self._lease.check  # before every try: after a node's restart another may hold the right to write
        check()
        standing = _standing(self._cluster, self._index, list(self._pending))
        actions = [list(self._actions(name, standing.get(name, ()))) for name in self._pending]
        refused = send(self._cluster, self._index.physical, [group for group in actions if group], check)
        if refused:
            self._withdraw(refused)
        self._commit += 1
        mark = Action(COMMIT_ID, COMMIT_ROUTE, b'{"kind":["commit"],"commit":%d}' % self._commit)
        send(self._cluster, self._index.physical, [[mark]], check)
        self._cluster.write("POST", f"/{self._index.physical}/_refresh")
        return refused

    def _actions(self, document: str, standing: Sequence[str]) -> Iterator[Action]:
        """First the new entries, then the removal of the old: until the refresh, only the old are to be seen."""
        new = self._pending[document]
        yield from (Action(name, document, line) for name, line in new.items())
        yield from (Action(name, document) for name in standing if name not in new)

    def _withdraw(self, refused: Mapping[str, str]) -> None:
        """Take back what was written of documents that were refused in part."""
        gone = [[Action(name, document) for name in self._pending[document]] for document in refused]
        send(self._cluster, self._index.physical, gone, self._lease.check)

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken


def _last_commit(cluster: Cluster, index: Description) -> int:
    # What an earlier writer left unseen is seen from now on: so the lookups before a removal miss nothing.
    cluster.write("POST", f"/{index.physical}/_refresh")
    answer = cluster.read(
        "POST", f"/{index.physical}/_search", {"size": 0, "aggs": {"commit": {"max": {"field": "commit"}}}}
    )
    return int(answer["aggregations"]["commit"]["value"] or 0)


def _standing(cluster: Cluster, index: Description, documents: Sequence[str]) -> dict[str, list[str]]:
    """The ids of every entry that the index holds of these documents, whole or not."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(documents), _LOOKED_UP):
        for values in _entries(cluster, index, documents[start : start + _LOOKED_UP]):
            document = values["document"][0]
            place = (values[name][0] for name in ("version", "ordinal", "row"))
            found.setdefault(document, []).append(entry_id(document, *place))
    return found


def _entries(cluster: Cluster, index: Description, documents: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    after: dict[str, Any] = {}
    while True:
        body = {
            "size": _PAGE,
            "_source": False,
            "docvalue_fields": ["document", "version", "ordinal", "row"],
            "query": {"bool": {"filter": [{"terms": {"document": documents}}]}},
            "sort": ["passage", "row"],
            **after,
        }
        path = f"/{index.physical}/_search"
        hits = cluster.read("POST", path, body, WHOLE, timeout=60.0)["hits"]["hits"]
        yield from (hit["fields"] for hit in hits)
        if len(hits) < _PAGE:
            return
        after = {"search_after": hits[-1]["sort"]}


@contextmanager
def open_writer(
    cluster: Cluster, admin: Admin, index: Description, wait: float, committed: Callable[[], None]
) -> Iterator[OpenSearchWriter]:
    """The writer of an index; raises `Conflict` when it is still held after `wait` seconds, `NotFound` when it is gone."""
    with admin.lease(index.name, wait) as lease:
        try:
            writer = OpenSearchWriter(cluster, index, lease, committed)
        except NotFound:
            committed()
            raise NotFound(f"there is no index {index.name!r}", field="index") from None
        yield writer
