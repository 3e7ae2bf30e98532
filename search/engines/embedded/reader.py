"""A reader of one index: it detects a new commit by the status of one file, and then opens it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import orjson

from mappings.errors import Damaged, NotFound
from search.engines.embedded.integrity.files import check_sample
from search.engines.embedded.layout import translate_errors
from search.engines.embedded.schema import EmbeddedIndexDescription, open_index
from search.engines.embedded.snapshot import Snapshot
from search.engines.names import split_index

_Stamp = tuple[int, int, int]


def unreadable(index: str) -> str:
    """What to say of an index that could not be read, before the cause."""
    collection, _ = split_index(index)
    return (
        f"could not read index {index} (if `medley index verify {collection}` finds it damaged, run "
        f"`medley index rebuild {collection}`)"
    )


class IndexReader:
    """Follows the commits of the index in `folder`; earlier snapshots stay valid while they are in use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._index: Any = None
        self._description: EmbeddedIndexDescription | None = None
        self._current: tuple[_Stamp, Snapshot] | None = None
        self._damaged: tuple[_Stamp, Damaged] | None = None

    @property
    def exists(self) -> bool:
        """Whether the index still exists."""
        return self._folder.is_dir()

    def snapshot(self) -> Snapshot:
        """The newest commit. Raises `NotFound` when the index does not exist, or no longer."""
        stamp = self._stamp()
        current = self._current
        if current is not None and current[0] == stamp:
            return current[1]
        with self._lock:
            if self._current is None or self._current[0] != stamp:
                # The stamp is older than what is opened now: a commit in between causes another opening, and is never missed.
                self._check(stamp)
                self._current = (stamp, self._open())
            return self._current[1]

    def _check(self, stamp: _Stamp) -> None:
        """Raise `Damaged` for a damaged commit; again each time, although a sample finds it only by chance."""
        if self._damaged is not None and self._damaged[0] == stamp:
            raise self._damaged[1]
        try:
            with translate_errors(unreadable(self._folder.name)):
                EmbeddedIndexDescription.load(self._folder)
                check_sample(self._folder)
        except Damaged as error:
            self._damaged = (stamp, error)
            raise

    def _open(self) -> Snapshot:
        try:
            return self._read()
        except FileNotFoundError:  # dropped between the check and the opening
            raise NotFound(f"there is no index {self._folder.name!r}", field="index") from None

    def _read(self) -> Snapshot:
        content = (self._folder / "words" / "meta.json").read_bytes()
        with translate_errors(unreadable(self._folder.name)):
            commit = int(orjson.loads(content)["opstamp"])
            if self._description is None:
                self._description = EmbeddedIndexDescription.load(self._folder)
                self._index = open_index(self._folder)
            self._index.reload()
            earlier = self._current[1] if self._current else None
            return Snapshot(self._folder, self._description, self._index, commit, earlier)

    def _stamp(self) -> _Stamp:
        try:
            status = (self._folder / "words" / "meta.json").stat()
        except FileNotFoundError:
            raise NotFound(f"there is no index {self._folder.name!r}", field="index") from None
        return status.st_ino, status.st_mtime_ns, status.st_size
