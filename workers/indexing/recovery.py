"""What no living worker has in hand, found by comparing the store with the queue: requeued, finished or dropped.

The store knows what is pending; the queue knows what was announced and what is claimed. A document that is pending and
neither queued nor claimed is orphaned, whatever was killed or emptied: it is announced again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Protocol

from workers.indexing.indexer import Indexer
from workers.indexing.rebuild import building, publish_when_complete, retire
from workers.messages import MESSAGE_IDS, QueueTarget

SPLIT: Final = 8
"""Into how many messages the ids of one are split after its worker died: three deaths lead to one document of 512."""

ALONE_AFTER: Final = 3
"""After so many workers died while they had claimed it, a document is announced alone: 512, 64, 8, 1."""

SWEPT_DOCUMENTS: Final = 50_000
"""Documents that one sweep looks at, the oldest first."""

_log = logging.getLogger("medley.worker")


class Announcements(Protocol):
    """The part of the queue that recovery needs."""

    def announce(self, target: QueueTarget, ids: Sequence[str], request: str = "", size: int = MESSAGE_IDS) -> bool:
        """Queue documents that are not queued yet, in messages of `size` ids."""
        ...

    def find_orphaned(self, target: QueueTarget, ids: Sequence[str]) -> list[str]:
        """Those that are neither queued nor claimed by a living worker."""
        ...

    def deaths(self, target: QueueTarget, ids: Sequence[str]) -> list[int]:
        """How many workers died while they had claimed each of these."""
        ...


def recover(indexer: Indexer, queue: Announcements) -> int:
    """Announce a collection's orphaned documents, and take the next step of its rebuilds; how many were announced.

    Rebuilds that are filled are published, and what they replaced is dropped after the grace period.
    """
    index = indexer.engine.published(indexer.name) or ""  # nothing was indexed yet: everything is pending
    announced = _requeue(queue, QueueTarget(indexer.name), _pending(indexer, index))
    for index in building(indexer):
        pending = _pending(indexer, index)
        if pending:
            announced += _requeue(queue, QueueTarget(indexer.name, index), pending)
        else:
            announced += publish_and_catch_up(indexer, queue, index)
    for index in retire(indexer):
        _log.info("%s: %s was replaced, and is dropped", indexer.name, index)
    return announced


def publish_and_catch_up(indexer: Indexer, queue: Announcements, index: str) -> int:
    """Publish a built index if it is complete, and announce what arrived at the last moment; how many documents."""
    if not publish_when_complete(indexer, index):
        return 0
    _log.info("%s answers from %s from now on", indexer.name, index)
    return _requeue(queue, QueueTarget(indexer.name), _pending(indexer, index))


def _pending(indexer: Indexer, index: str) -> list[str]:
    return [name for name, _ in indexer.store.pending(index, SWEPT_DOCUMENTS)]


def _requeue(queue: Announcements, target: QueueTarget, pending: Sequence[str]) -> int:
    orphaned = queue.find_orphaned(target, pending) if pending else []
    if orphaned:
        _log.info("%s: %d pending documents are orphaned: they are announced again", target, len(orphaned))
        # The more workers died over a document, the fewer others share its message.
        for deaths, names in _group_by_deaths(orphaned, queue.deaths(target, orphaned)).items():
            queue.announce(target, names, size=max(1, MESSAGE_IDS // SPLIT**deaths))
    return len(orphaned)


def _group_by_deaths(ids: Sequence[str], deaths: Sequence[int]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for name, count in zip(ids, deaths, strict=True):
        groups.setdefault(min(count, ALONE_AFTER), []).append(name)
    return groups
