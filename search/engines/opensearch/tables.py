"""An index used as a table: rows read and compared-and-set by id, in bulk; searched after a refresh."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mappings.errors import Unavailable
from search.engines.opensearch.admin import make_index
from search.engines.opensearch.client import WHOLE, Cluster, persist
from search.engines.opensearch.errors import BUSY, cause, is_full, of_answer

_PART_BYTES: Final = 8_000_000
_PAUSE: Final = 0.1
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Row:
    """A document of the table as it was last written, and what a compare-and-set needs; no `source`: there is none."""

    source: dict[str, Any] | None = None
    sequence: int = -1
    term: int = -1


class Table:
    """One index, made when it is first needed. Every acknowledged write survives a kill of the node."""

    def __init__(self, cluster: Cluster, name: str, properties: Mapping[str, Any], shards: int) -> None:
        self._cluster, self.name = cluster, name
        index = {"number_of_shards": shards, "auto_expand_replicas": "0-1"}
        self._body = {"settings": {"index": index}, "mappings": {"dynamic": False, "properties": dict(properties)}}

    def read(self, ids: Sequence[str]) -> dict[str, Row]:
        """Each id's row as it was last written, refreshed or not."""
        if not ids:
            return {}
        until = time.monotonic() + self._cluster.patience
        while True:
            body = {"ids": list(dict.fromkeys(ids))}
            found = self._cluster.read("POST", f"/{self.name}/_mget", body, timeout=60.0)["docs"]
            # A row that could not be read, as while a node restarts, is not one that is not there.
            failed = next((item for item in found if "error" in item and not _is_no_table(item)), None)
            if failed is None:
                return {item["_id"]: _row(item) for item in found}
            if time.monotonic() > until:
                raise Unavailable(of_answer(503, failed, self._cluster.where).message)
            time.sleep(_PAUSE)

    def put(self, rows: Mapping[str, Mapping[str, Any]], versions: Mapping[str, int] | None = None) -> None:
        """Write rows; with `versions`, one that stands with a higher version stays."""
        heads = {name: {"version": versions[name], "version_type": "external_gte"} if versions else {} for name in rows}
        self._write({name: ({"index": {"_id": name, **heads[name]}}, source) for name, source in rows.items()})

    def swap(self, rows: Mapping[str, tuple[Mapping[str, Any], Row]]) -> set[str]:
        """Write each row if it still is as it was read; the ids of those that are not."""
        return self._write({name: (_condition(name, row), source) for name, (source, row) in rows.items()})

    def search(self, body: Mapping[str, Any]) -> Any:
        """The answer to a search over everything written before."""
        self._make()
        self._cluster.write("POST", f"/{self.name}/_refresh")
        return self._cluster.read("POST", f"/{self.name}/_search", body, WHOLE, timeout=60.0)

    def scan(self, query: Mapping[str, Any], order: str, limit: int | None, page: int) -> Iterator[Row]:
        """Every row of a query, by the field `order`, at most `limit`."""
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
        """Remove every row of a query."""
        self._make()
        self._cluster.write("POST", f"/{self.name}/_refresh")
        path = f"/{self.name}/_delete_by_query"
        self._cluster.write("POST", path, {"query": query}, {"conflicts": "proceed"}, timeout=600.0)

    def _make(self) -> None:
        make_index(self._cluster, self.name, self._body)

    def _write(self, rows: Mapping[str, tuple[dict[str, Any], Mapping[str, Any]]]) -> set[str]:
        """Write rows in parts of bounded size; the ids of those whose condition did not hold."""
        if rows:
            self._make()
        waiting = {
            name: b"%s\n%s\n" % (orjson.dumps(head), orjson.dumps(source)) for name, (head, source) in rows.items()
        }
        lost: set[str] = set()

        def once(rows: dict[str, bytes]) -> dict[str, bytes]:
            return {name: line for part in _parts(rows) for name, line in self._send(part, lost).items()}

        persist(self._cluster.where, waiting, once)
        return lost

    def _send(self, part: Mapping[str, bytes], lost: set[str]) -> dict[str, bytes]:
        """The rows that were put off; those whose condition did not hold are added to `lost`."""
        answer = self._cluster.write("POST", f"/{self.name}/_bulk", b"".join(part.values()))
        put_off = {}
        for (name, lines), item in zip(part.items(), answer["items"], strict=True):
            outcome = next(iter(item.values()))
            if outcome["status"] == _CONFLICT:
                lost.add(name)
            elif outcome["status"] in BUSY and not is_full(outcome):
                put_off[name] = lines
            elif "error" in outcome:
                raise of_answer(outcome["status"], outcome, self._cluster.where)
        return put_off


def _row(item: Mapping[str, Any]) -> Row:
    return Row(item["_source"], item["_seq_no"], item["_primary_term"]) if item.get("found") else Row()


def _is_no_table(item: Mapping[str, Any]) -> bool:
    """Whether a row is not there since nothing was ever written to its table."""
    return cause(item["error"])[0] == "index_not_found_exception"


def _condition(name: str, row: Row) -> dict[str, Any]:
    if row.source is None:
        return {"create": {"_id": name}}
    return {"index": {"_id": name, "if_seq_no": row.sequence, "if_primary_term": row.term}}


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
