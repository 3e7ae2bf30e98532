"""Recovers work that no living worker has claimed: requeues orphaned documents, and finishes or retires rebuilds.

The store knows what is pending; the queue knows what was announced and what is claimed. A document that is pending and
neither queued nor claimed is orphaned, whatever the reason (a killed worker, an emptied Redis): it is announced again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Protocol

from workers.indexing.indexer import Indexer
from workers.indexing.rebuild import building, publish_when_complete, retire
from workers.messages import MESSAGE_IDS, QueueTarget

SPLIT: Final = 8
"""A message whose worker died is split into this many messages: three deaths isolate one document of 512."""

ALONE_AFTER: Final = 3
"""After this many deaths of workers that had claimed it, a document is announced alone: 512, 64, 8, 1."""

SWEPT_DOCUMENTS: Final = 50_000
"""How many pending documents one sweep checks, oldest first."""

_log = logging.getLogger("medley.worker")


class Announcements(Protocol):
    """The part of the queue that recovery needs."""

    def announce(self, target: QueueTarget, ids: Sequence[str], request: str = "", size: int = MESSAGE_IDS) -> bool:
        """Queue documents that are not queued yet, in messages of `size` ids."""
        ...

    def find_orphaned(self, target: QueueTarget, ids: Sequence[str]) -> list[str]:
        """Return those of `ids` that are neither queued nor claimed by a living worker."""
        ...

    def deaths(self, target: QueueTarget, ids: Sequence[str]) -> list[int]:
        """How many workers died while they had each of these claimed."""
        ...


def recover(indexer: Indexer, queue: Announcements) -> int:
    """Announce a collection's orphaned documents and advance its rebuilds. Returns how many documents were announced.

    A completely filled rebuild is published; the index that it replaced is dropped after the grace period.
    """
    index = indexer.engine.published(indexer.name) or ""  # empty before the first index: then everything is pending
    announced = _requeue(queue, QueueTarget(indexer.name), _pending(indexer, index))
    for index in building(indexer):
        pending = _pending(indexer, index)
        if pending:
            announced += _requeue(queue, QueueTarget(indexer.name, index), pending)
        else:
            announced += publish_and_catch_up(indexer, queue, index)
    for index in retire(indexer):
        _log.info("%s: dropped %s, which was replaced", indexer.name, index)
    return announced


def publish_and_catch_up(indexer: Indexer, queue: Announcements, index: str) -> int:
    """Publish an index if it is complete, and announce documents that arrived last. Returns how many were announced."""
    if not publish_when_complete(indexer, index):
        return 0
    _log.info("%s: published %s", indexer.name, index)
    return _requeue(queue, QueueTarget(indexer.name), _pending(indexer, index))


def _pending(indexer: Indexer, index: str) -> list[str]:
    return [name for name, _ in indexer.store.pending(index, SWEPT_DOCUMENTS)]


def _requeue(queue: Announcements, target: QueueTarget, pending: Sequence[str]) -> int:
    orphaned = queue.find_orphaned(target, pending) if pending else []
    if orphaned:
        _log.info("%s: announcing %d orphaned documents again", target, len(orphaned))
        # The more workers died while indexing a document, the fewer other documents share its message.
        for deaths, names in _group_by_deaths(orphaned, queue.deaths(target, orphaned)).items():
            queue.announce(target, names, size=max(1, MESSAGE_IDS // SPLIT**deaths))
    return len(orphaned)


def _group_by_deaths(ids: Sequence[str], deaths: Sequence[int]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for name, count in zip(ids, deaths, strict=True):
        groups.setdefault(min(count, ALONE_AFTER), []).append(name)
    return groups
