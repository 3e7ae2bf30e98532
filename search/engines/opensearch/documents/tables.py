"""An index used as a table: rows are read and compared-and-set by id, in bulk, and searched after a refresh."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mappings.errors import Unavailable
from search.engines.opensearch.admin import make_index
from search.engines.opensearch.client import WHOLE, Cluster, ndjson, send_all
from search.engines.opensearch.errors import BUSY, cause, checked, error_of, is_full

TABLES: Final = ("documents", "versions", "states", "jobs", "erased")
"""The tables of a store."""

_PART_BYTES: Final = 8_000_000
_PAUSE: Final = 0.1
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it was last written, with what a compare-and-set needs; `source` is None where it does not exist."""

    source: dict[str, Any] | None = None
    sequence: int = -1
    term: int = -1


def table_name(cluster: Cluster, collection: str, table: str) -> str:
    """The name on the cluster of a table of a collection's store."""
    return cluster.name("store", collection, table)


class Table:
    """One index, created on the first write. Every acknowledged write survives a kill of the node."""

    def __init__(self, cluster: Cluster, name: str, properties: Mapping[str, Any], shards: int) -> None:
        self._cluster, self.name = cluster, name
        # No version of a deleted row is remembered, so a purged id that comes again can start with a lower one.
        index = {"number_of_shards": shards, "auto_expand_replicas": "0-1", "gc_deletes": "0s"}
        self._body = {"settings": {"index": index}, "mappings": {"dynamic": False, "properties": dict(properties)}}

    def read(self, ids: Sequence[str]) -> dict[str, Row]:
        """Each id's row as it was last written, refreshed or not."""
        if not ids:
            return {}
        until = time.monotonic() + self._cluster.patience
        while True:
            body = {"ids": list(dict.fromkeys(ids))}
            found = self._cluster.read("POST", f"/{self.name}/_mget", body, timeout=60.0)["docs"]
            # A row that could not be read, such as while a node restarts, must not count as missing.
            failed = next((item for item in found if "error" in item and not _is_without_table(item)), None)
            if failed is None:
                return {item["_id"]: _row(item) for item in found}
            if time.monotonic() > until:
                raise Unavailable(error_of(503, failed, self._cluster.where).message)
            time.sleep(_PAUSE)

    def put(self, rows: Mapping[str, Mapping[str, Any]], versions: Mapping[str, int] | None = None) -> None:
        """Write rows; with `versions`, a row with a higher version is kept."""
        heads = {name: {"version": versions[name], "version_type": "external_gte"} if versions else {} for name in rows}
        self._write({name: ({"index": {"_id": name, **heads[name]}}, source) for name, source in rows.items()})

    def swap(self, rows: Mapping[str, tuple[Mapping[str, Any], Row]]) -> set[str]:
        """Write each row unless it has changed since it was read; returns the ids of those that have."""
        return self._write({name: (_condition(name, row), source) for name, (source, row) in rows.items()})

    def search(self, body: Mapping[str, Any]) -> Any:
        """The response to a search over everything written before."""
        self.refresh()
        return self.peek(body)

    def peek(self, body: Mapping[str, Any]) -> Any:
        """The response to a search over everything written before the last `refresh`, or a second ago."""
        self.make()
        return self._cluster.read("POST", f"/{self.name}/_search", body, WHOLE, timeout=60.0)

    def count(self, queries: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """How many rows match each query, among everything written before."""
        self.refresh()
        header = {"index": self.name, "allow_partial_search_results": False}
        bodies = [{"size": 0, "track_total_hits": True, "query": query} for query in queries.values()]
        lines = ndjson([line for body in bodies for line in (header, body)])
        answers = self._cluster.read("POST", "/_msearch", lines, timeout=60.0)["responses"]
        found = [checked(answer, self._cluster.where)["hits"]["total"]["value"] for answer in answers]
        return dict(zip(queries, found, strict=True))

    def refresh(self) -> None:
        """Let searches see everything written before."""
        self.make()
        self._cluster.write("POST", f"/{self.name}/_refresh")

    def scan(self, query: Mapping[str, Any], order: str, limit: int | None, page: int) -> Iterator[Row]:
        """The rows that match, sorted by the field `order`, at most `limit`."""
        left = 2**62 if limit is None else limit
        after: dict[str, Any] = {}
        while left > 0:
            size = min(page, left)
            body = {"size": size, "query": query, "sort": [{order: {"order": "asc", "unmapped_type": "long"}}], **after}
            hits = self.search(body)["hits"]["hits"]
            yield from (Row(hit["_source"]) for hit in hits)
            left -= len(hits)
            if len(hits) < size:
                return
            after = {"search_after": hits[-1]["sort"]}

    def remove(self, query: Mapping[str, Any]) -> None:
        """Remove every row that matches."""
        self.refresh()
        path = f"/{self.name}/_delete_by_query"
        self._cluster.write("POST", path, {"query": query}, {"conflicts": "proceed"}, timeout=600.0)

    def walk(self, fields: Sequence[str], page: int) -> Iterator[dict[str, dict[str, Any]]]:
        """Every row's id and these fields of its source, in pages; rows that are written meanwhile come last."""
        first = 0
        while True:
            # Two shards number their writes alike: the last number of a page is asked for again.
            query = {"range": {"_seq_no": {"gte": first}}}
            body = {"size": page, "query": query, "sort": ["_seq_no"], "_source": list(fields)}
            hits = self.search(body)["hits"]["hits"]
            yield {hit["_id"]: hit["_source"] for hit in hits}
            if len(hits) < page:
                return
            first = hits[-1]["sort"][0]

    def delete(self, rows: Mapping[str, Row | None]) -> set[str]:
        """Remove rows by id, each unless it has changed since it was read, where that row is given; returns those ids."""
        heads = {name: {"delete": {"_id": name, **_unchanged(row)}} for name, row in rows.items()}
        changed = self._send_lines({name: b"%s\n" % orjson.dumps(head) for name, head in heads.items()})
        if rows:
            self.refresh()
        return changed

    def seal(self, sealed: bool) -> None:
        """Let the cluster refuse every write from now on, once none is under way, or no longer."""
        self.make()
        if sealed:
            self._cluster.write("PUT", f"/{self.name}/_block/write")
        else:
            self._cluster.write("PUT", f"/{self.name}/_settings", {"index.blocks.write": None})

    def exists(self) -> bool:
        """Whether the index exists: a search creates it."""
        return bool(self._cluster.read("HEAD", f"/{self.name}"))

    def forget(self) -> None:
        """Look again, with the next write, whether the index exists."""
        self._cluster.made.discard(self.name)

    def make(self) -> None:
        """Create the index unless it exists."""
        make_index(self._cluster, self.name, self._body)

    def _write(self, rows: Mapping[str, tuple[dict[str, Any], Mapping[str, Any]]]) -> set[str]:
        """Write rows in parts of bounded size; returns the ids of those whose condition failed."""
        return self._send_lines(
            {name: b"%s\n%s\n" % (orjson.dumps(head), orjson.dumps(source)) for name, (head, source) in rows.items()}
        )

    def _send_lines(self, pending: Mapping[str, bytes]) -> set[str]:
        if pending:
            self.make()
        changed: set[str] = set()

        def attempt(rows: dict[str, bytes]) -> dict[str, bytes]:
            return {name: line for part in _parts(rows) for name, line in self._send(part, changed).items()}

        send_all(self._cluster.where, dict(pending), attempt)
        return changed

    def _send(self, part: Mapping[str, bytes], changed: set[str]) -> dict[str, bytes]:
        """The postponed rows; those whose condition failed are added to `changed`."""
        answer = self._cluster.write("POST", f"/{self.name}/_bulk", b"".join(part.values()))
        postponed = {}
        for (name, lines), item in zip(part.items(), answer["items"], strict=True):
            outcome = next(iter(item.values()))
            if outcome["status"] == _CONFLICT:
                changed.add(name)
            elif outcome["status"] in BUSY and not is_full(outcome):
                postponed[name] = lines
            elif "error" in outcome:
                raise error_of(outcome["status"], outcome, self._cluster.where)
        return postponed


def _row(item: Mapping[str, Any]) -> Row:
    return Row(item["_source"], item["_seq_no"], item["_primary_term"]) if item.get("found") else Row()


def _is_without_table(item: Mapping[str, Any]) -> bool:
    """Whether a row does not exist because nothing was ever written to its table."""
    return cause(item["error"])[0] == "index_not_found_exception"


def _unchanged(row: Row | None) -> dict[str, int]:
    return {} if row is None else {"if_seq_no": row.sequence, "if_primary_term": row.term}


def _condition(name: str, row: Row) -> dict[str, Any]:
    if row.source is None:
        return {"create": {"_id": name}}
    return {"index": {"_id": name, **_unchanged(row)}}


def _parts(lines: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    part: dict[str, bytes] = {}
    size = 0
    for name, line in lines.items():
        if part and size + len(line) > _PART_BYTES:
            yield part
            part, size = {}, 0
        part[name] = line
        size += len(line)
    if part:
        yield part
