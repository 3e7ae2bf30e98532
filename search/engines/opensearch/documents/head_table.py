"""The heads of a store on the cluster: read by document, changed by compare-and-set, searched in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from search.engines.codec import CHUNK_DOCUMENTS, batches
from search.engines.opensearch.documents import queries
from search.engines.opensearch.documents.heads import Head, head_of
from search.engines.opensearch.documents.tables import Row, Table
from search.engines.opensearch.records import safe_id

_PAGE: Final = 5_000


class HeadTable:
    """Heads in their `table`. Threads and processes share it."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def read(self, ids: Sequence[str]) -> dict[str, tuple[Head, Row]]:
        """Each document's head as it was last written, and its row; version 0 for an unknown document."""
        rows = self.table.read([safe_id(identifier) for identifier in ids])
        return {
            identifier: (head_of(rows[safe_id(identifier)], identifier), rows[safe_id(identifier)])
            for identifier in ids
        }

    def write(self, heads: Mapping[str, tuple[Head, Row]]) -> set[str]:
        """Compare-and-set heads against the rows that were read; returns the ids of those that others changed."""
        contended = self.table.swap({safe_id(name): (head.source(), row) for name, (head, row) in heads.items()})
        names = [name for name in heads if safe_id(name) in contended]
        # After a lost response, a write of our own looks like somebody else's.
        return {name for name, (head, _) in self.read(names).items() if head != heads[name][0]} if names else set()

    def alter(
        self, ids: Sequence[str], step: Callable[[Head], Head], read: Mapping[str, tuple[Head, Row]] | None = None
    ) -> None:
        """Replace each head by the result of `step`, retried until nobody else writes in between."""
        waiting, known = list(ids), read
        while waiting:
            known = known or self.read(waiting)
            made = {name: (step(known[name][0]), known[name][1]) for name in waiting}
            waiting = list(self.write({name: item for name, item in made.items() if item[0] != known[name][0]}))
            known = None

    def superseded(self, index: str, limit: int) -> list[str]:
        """At most `limit` ids of documents that were replaced or deleted and that are not settled in `index`.

        Every search asks for them, so no refresh is forced here; the heads themselves are read as they are now.
        """
        body = {"size": limit, "query": queries.superseded(index), "sort": ["turn"], "_source": ["id"]}
        found = [hit["_source"]["id"] for hit in self.table.peek(body)["hits"]["hits"]]
        heads = [head for chunk in batches(found, CHUNK_DOCUMENTS) for head, _ in self.read(chunk).values()]
        return [head.id for head in heads if head.version and index not in head.settled]

    def search(self, query: Mapping[str, Any], order: str, limit: int | None) -> list[Head]:
        """The heads that match, sorted by the field `order`, at most `limit`."""
        rows = self.table.scan(query, order, limit, _PAGE)
        return [head_of(row, row.source["id"]) for row in rows if row.source is not None]
