"""Small truths that belong to the whole cluster: which collections there are, which generations were used, who writes.

They stand in one index, `medley.admin`, a document each, read by id (so always as last written) and changed by
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
from search.engines.opensearch.client import READ_SECONDS, WRITE_SECONDS, Cluster

LEASE_SECONDS: Final = 30.0
"""How long a lease outlives a writer that was killed. Clocks of the machines that write must agree within seconds."""

_POLL_SECONDS: Final = 0.1
_BODY: Final[dict[str, Any]] = {
    "settings": {"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1"}},
    "mappings": {"dynamic": False},
}
_COLLECTIONS: Final = "collections"


@dataclass(frozen=True, slots=True)
class Versioned:
    """A document as it was read, with what a compare-and-set needs; `content` is None where there was none."""

    content: dict[str, Any] | None
    sequence: int = -1
    term: int = -1

    @property
    def condition(self) -> dict[str, str]:
        """The parameters that let a write pass only while nobody else wrote."""
        if self.content is None:
            return {"op_type": "create"}
        return {"if_seq_no": str(self.sequence), "if_primary_term": str(self.term)}


class Lease:
    """A right to write that is renewed in the background until it is given back."""

    def __init__(self, admin: Admin, key: str, holder: str) -> None:
        self._admin, self._key, self._holder = admin, key, holder
        self._until = time.monotonic() + LEASE_SECONDS
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease {key}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise `Conflict` when somebody else holds the right by now, since it could not be renewed in time."""
        if time.monotonic() >= self._until and not self._extend():
            raise Conflict(f"the right to write ({self._key}) ran out, and somebody else took it", field="index")

    def end(self) -> None:
        """Give the right back."""
        self._done.set()
        self._thread.join()
        with suppress(MedleyError):  # then it runs out by itself
            self._admin.change(self._key, lambda found: None if self._mine(found) else found, READ_SECONDS)

    def _mine(self, found: Mapping[str, Any] | None) -> bool:
        return found is not None and found.get("holder") == self._holder

    def _renew(self) -> None:
        while not self._done.wait(LEASE_SECONDS / 3):
            with suppress(MedleyError):
                self._extend()

    def _extend(self) -> bool:
        asked = time.monotonic()
        renewed = self._admin.change(self._key, lambda found: _lease_of(self._holder) if self._mine(found) else found)
        if self._mine(renewed):
            self._until = asked + LEASE_SECONDS
        return self._mine(renewed)


class Admin:
    """Reads and changes the documents of `medley.admin`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._index = cluster.name("admin")

    @property
    def place(self) -> str:
        """The index that all this stands in."""
        return self._index

    def collections(self) -> dict[str, dict[str, Any]]:
        """Name -> {kind, tuned} of every collection."""
        return self._read(_COLLECTIONS).content or {}

    def set_collection(self, name: str, described: Mapping[str, Any]) -> None:
        """Write down a collection, or something new of it."""
        self.change(_COLLECTIONS, lambda found: {**(found or {}), name: {**(found or {}).get(name, {}), **described}})

    def indexed_collections(self) -> list[str]:
        """Every collection that an index was ever made for."""
        return sorted(self._read("generations").content or {})

    def next_generation(self, collection: str, at_least: int = 0) -> int:
        """A number above every one used for `collection` before."""

        def count(found: dict[str, Any] | None) -> dict[str, Any]:
            known = found or {}
            return {**known, collection: max(known.get(collection, 0), at_least) + 1}

        changed = self.change("generations", count)
        return int((changed or {})[collection])

    @contextmanager
    def lease(self, index: str, wait: float = 0.0) -> Iterator[Lease]:
        """The right to write an index, held by one at a time; raises `Conflict` after `wait` seconds of waiting."""
        holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        key, until = f"writer:{index}", time.monotonic() + wait
        while not self._take(key, holder):
            if time.monotonic() >= until:
                other = (self._read(key).content or {}).get("holder", "somebody")
                raise Conflict(
                    f"the writer of index {index} is held by {other.rpartition(':')[0] or other}; wait until it is done, "
                    "then try again",
                    field="index",
                )
            time.sleep(_POLL_SECONDS)
        lease = Lease(self, key, holder)
        try:
            yield lease
        finally:
            lease.end()

    def _take(self, key: str, holder: str) -> bool:
        def claim(found: dict[str, Any] | None) -> dict[str, Any]:
            return _lease_of(holder) if found is None or found["until"] < time.time() else found

        return (self.change(key, claim) or {}).get("holder") == holder

    def change(
        self,
        key: str,
        step: Callable[[dict[str, Any] | None], dict[str, Any] | None],
        patience: float = WRITE_SECONDS,
    ) -> dict[str, Any] | None:
        """Put what `step` makes of a document in its place, again until nobody else came between; None removes it."""
        while True:
            found = self._read(key)
            made = step(found.content)
            if made == found.content:
                return made
            with suppress(Conflict):
                path = f"/{self._index}/_doc/{quote(key, safe='')}"
                if made is None:
                    self._cluster.write("DELETE", path, None, found.condition, patience=patience)
                else:
                    self._make_sure()
                    self._cluster.write("PUT", path, made, found.condition, patience=patience)
                return made

    def _read(self, key: str) -> Versioned:
        try:
            found = self._cluster.read("GET", f"/{self._index}/_doc/{quote(key, safe='')}")
        except NotFound:
            return Versioned(None)
        return Versioned(found["_source"], found["_seq_no"], found["_primary_term"])

    def _make_sure(self) -> None:
        make_index(self._cluster, self._index, _BODY)


def _lease_of(holder: str) -> dict[str, Any]:
    return {"holder": holder, "until": time.time() + LEASE_SECONDS}


def make_index(cluster: Cluster, name: str, body: Mapping[str, Any]) -> None:
    """Make an index unless it is there already; asked of the cluster once in a process."""
    if name in cluster.made:
        return
    try:
        cluster.write("PUT", f"/{name}", body)
    except InvalidInput as error:
        if "resource_already_exists" not in error.message:
            raise
    cluster.made.add(name)
