"""Cluster-wide records: the catalog of collections, the generation counters, and the write leases of indexes.

Each is one document of the index `medley.admin`, read by id (so always as last written) and changed by
compare-and-set on the sequence number that was read.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mappings.errors import Conflict, InvalidInput, MedleyError, NotFound
from search.engines.opensearch.client import READ_SECONDS, WRITE_SECONDS, Cluster, Retries

LEASE_SECONDS: Final = 30.0
"""How long a lease outlives a writer that was killed. The clocks of writing machines must agree within seconds."""

_POLL_SECONDS: Final = 0.1
_BODY: Final[dict[str, Any]] = {
    "settings": {"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1"}},
    "mappings": {"dynamic": False},
}
_COLLECTIONS: Final = "collections"
_REMOVED: Final = "_removed"
"""Where the highest generation of a removed collection is kept: other processes may still know its indexes by name."""


@dataclass(frozen=True, slots=True)
class AdminRecord:
    """A document as it was read, with what a compare-and-set needs; `content` is None where it did not exist."""

    content: dict[str, Any] | None
    sequence: int = -1
    term: int = -1

    @property
    def condition(self) -> dict[str, str]:
        """The parameters with which a write succeeds only if nobody else has written since."""
        if self.content is None:
            return {"op_type": "create"}
        return {"if_seq_no": str(self.sequence), "if_primary_term": str(self.term)}


class Lease:
    """An exclusive lease, renewed in the background until it is released."""

    def __init__(self, admin: Admin, key: str, holder: str) -> None:
        self._admin, self._key, self._holder = admin, key, holder
        self._until = time.monotonic() + LEASE_SECONDS
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease {key}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise `Conflict` if the lease could not be renewed in time and another process holds it."""
        if time.monotonic() >= self._until and not self._extend():
            raise Conflict(f"the lease {self._key!r} expired, and another process took it", field="index")

    def release(self) -> None:
        """Release the lease."""
        self._done.set()
        self._thread.join()
        with suppress(MedleyError):  # then it expires by itself
            self._admin.change(self._key, lambda found: None if self._is_ours(found) else found, READ_SECONDS)

    def _is_ours(self, found: Mapping[str, Any] | None) -> bool:
        return found is not None and found.get("holder") == self._holder

    def _renew(self) -> None:
        while not self._done.wait(LEASE_SECONDS / 3):
            with suppress(MedleyError):
                self._extend()

    def _extend(self) -> bool:
        started = time.monotonic()
        renewed = self._admin.change(
            self._key, lambda found: _lease_of(self._holder) if self._is_ours(found) else found
        )
        if self._is_ours(renewed):
            self._until = started + LEASE_SECONDS
        return self._is_ours(renewed)


class Admin:
    """Reads and changes the documents of `medley.admin`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._index = cluster.name("admin")

    @property
    def index(self) -> str:
        """The name of the index."""
        return self._index

    def collections(self) -> dict[str, dict[str, Any]]:
        """Name -> the catalog entry of every collection, hidden ones included."""
        return self._read(_COLLECTIONS).content or {}

    def set_collection(self, name: str, entry: Mapping[str, Any]) -> None:
        """Add a collection, or update its entry."""
        self.change(_COLLECTIONS, lambda found: {**(found or {}), name: {**(found or {}).get(name, {}), **entry}})

    def remove_collection(self, name: str) -> None:
        """Remove the entry of a collection; its generation counter becomes the least for later collections."""

        def removed(found: dict[str, Any] | None) -> dict[str, Any]:
            known = dict(found or {})
            last = known.pop(name, 0)
            return {**known, _REMOVED: max(known.get(_REMOVED, 0), last)}

        self.change("generations", removed)
        self.change(_COLLECTIONS, lambda found: {key: item for key, item in (found or {}).items() if key != name})

    def indexed_collections(self) -> list[str]:
        """Every collection that ever had an index."""
        return sorted((self._read("generations").content or {}).keys() - {_REMOVED})

    def next_generation(self, collection: str, at_least: int = 0) -> int:
        """A number greater than all previous ones of `collection`, and of collections that were removed."""

        def count(found: dict[str, Any] | None) -> dict[str, Any]:
            known = found or {}
            last = max(known.get(collection, 0), known.get(_REMOVED, 0), at_least)
            return {**known, collection: last + 1}

        changed = self.change("generations", count)
        return int((changed or {})[collection])

    @contextmanager
    def lease(self, index: str, wait: float = 0.0) -> Iterator[Lease]:
        """The lease to write an index, held by one process at a time. Raises `Conflict` after `wait` seconds."""
        holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        key, until = f"writer:{index}", time.monotonic() + wait
        while not self._claim(key, holder):
            if time.monotonic() >= until:
                other = (self._read(key).content or {}).get("holder", "another process")
                raise Conflict(
                    f"index {index} is being written by {other.rpartition(':')[0] or other}; try again when it has finished",
                    field="index",
                )
            time.sleep(_POLL_SECONDS)
        lease = Lease(self, key, holder)
        try:
            yield lease
        finally:
            lease.release()

    def _claim(self, key: str, holder: str) -> bool:
        def claimed(found: dict[str, Any] | None) -> dict[str, Any]:
            return _lease_of(holder) if found is None or found["until"] < time.time() else found

        return (self.change(key, claimed) or {}).get("holder") == holder

    def change(
        self,
        key: str,
        step: Callable[[dict[str, Any] | None], dict[str, Any] | None],
        seconds: float = WRITE_SECONDS,
    ) -> dict[str, Any] | None:
        """Replace a document by the result of `step`, retried until nobody else writes in between; None removes it."""
        while True:
            found = self._read(key)
            made = step(found.content)
            if made == found.content:
                return made
            with suppress(Conflict):
                path = f"/{self._index}/_doc/{quote(key, safe='')}"
                if made is None:
                    self._cluster.write("DELETE", path, None, found.condition, retries=Retries(seconds))
                else:
                    self._make_sure()
                    self._cluster.write("PUT", path, made, found.condition, retries=Retries(seconds))
                return made

    def _read(self, key: str) -> AdminRecord:
        try:
            found = self._cluster.read("GET", f"/{self._index}/_doc/{quote(key, safe='')}")
        except NotFound:
            return AdminRecord(None)
        return AdminRecord(found["_source"], found["_seq_no"], found["_primary_term"])

    def _make_sure(self) -> None:
        make_index(self._cluster, self._index, _BODY)


def _lease_of(holder: str) -> dict[str, Any]:
    return {"holder": holder, "until": time.time() + LEASE_SECONDS}


def make_index(cluster: Cluster, name: str, body: Mapping[str, Any]) -> None:
    """Create an index unless it exists; each process checks once. One of an earlier version gets the fields that it lacks."""
    if name in cluster.made:
        return
    try:
        cluster.write("PUT", f"/{name}", body)
    except InvalidInput as error:
        if "resource_already_exists" not in error.message:
            raise
        if fields := body["mappings"].get("properties"):
            cluster.write("PUT", f"/{name}/_mapping", {"properties": fields})
    cluster.made.add(name)
