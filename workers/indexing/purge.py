"""Removes replaced and deleted documents for ever: from the store, from the index, and from the files of both.

Each step can be repeated after a kill: first the rows of the store go, then the index is written anew if its files still
hold replaced or deleted passages, whoever left them there, then the files of the store are cleared of what rows leave.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from encoders.cache import clear
from mappings.errors import Conflict
from search.models.registry import VECTORS
from search.settings import Settings
from search.storage import Job, Purged
from workers.indexing.indexer import Indexer, find_encoders
from workers.indexing.rebuild import begin, building, drop_unused, rebuild

DAY_SECONDS: Final = 86_400.0

_log = logging.getLogger("medley.worker")


def purge(indexer: Indexer, before: float, ids: Collection[str] | None = None, grace: float | None = None) -> Purged:
    """Remove what was replaced or deleted at or before `before` (seconds since 1970), or only `ids`, and every trace.

    The newest version of a document that is not deleted stays, and is found throughout. An embedded index is rebuilt
    where its files hold traces, and the old one dropped after `grace` seconds. Raises `Conflict` where the workers are
    building an index: what it holds can be cleared only when it is published. Raises the errors of `rebuild`.
    """
    _check_nothing_is_built(indexer)
    purged = indexer.store.purge(before, _live_indexes(indexer), ids)
    _clear_index(indexer, grace)
    indexer.store.wipe()
    return purged


def apply_retention(indexer: Indexer, settings: Settings, queued: bool = False) -> Purged | None:
    """Purge what was replaced or deleted `settings.retention_days` ago, once a day; None where it is not due, or 0 days.

    With `queued` the workers of the queue rebuild the index.
    """
    name, now, days = f"{indexer.name}.retention", time.time(), settings.retention_days
    last = indexer.store.job(name) if days else None
    if not days or (last is not None and now - last.started < DAY_SECONDS):
        return None
    indexer.store.keep_job(Job(name, now))  # first: what fails is tried again tomorrow, not every few seconds
    purged = indexer.store.purge(now - days * DAY_SECONDS, _live_indexes(indexer))
    if queued:
        _begin_clearing(indexer)
    else:
        _clear_index(indexer, None)
    if purged.versions or purged.tombstones or (last is not None and not last.finished):  # the last one was killed
        clear_vector_cache(settings.home)
        indexer.store.wipe()
    indexer.store.keep_job(Job(name, now, time.time(), deleted=purged.versions + purged.tombstones))
    _log.info("%s: removed %d replaced versions, %d tombstones", indexer.name, purged.versions, purged.tombstones)
    return purged


def clear_vector_cache(home: Path) -> None:
    """Remove the cached vectors of all texts that this machine encoded: the cache does not know which text is gone."""
    clear(home / VECTORS)


def _live_indexes(indexer: Indexer) -> list[str]:
    """The indexes that must have processed a deletion before its tombstone can go."""
    published = indexer.engine.published(indexer.name)
    return [*([published] if published else []), *building(indexer)]


def _clear_index(indexer: Indexer, grace: float | None) -> None:
    _check_nothing_is_built(indexer)
    drop_unused(indexer)
    wanted = _to_be_rewritten(indexer)
    if wanted is not None:
        for _ in rebuild(wanted, grace):
            pass


def _check_nothing_is_built(indexer: Indexer) -> None:
    if unfinished := building(indexer):
        raise Conflict(
            f"the workers are building {unfinished[0]}: purge {indexer.name!r} again when it is published, or discard it "
            f"with `medley index drop {unfinished[0]}`",
            field="index",
        )


def _begin_clearing(indexer: Indexer) -> None:
    """Let the workers rebuild the index where it holds traces; one that they are building anyway holds fewer."""
    if not building(indexer):
        wanted = _to_be_rewritten(indexer)
        if wanted is not None:
            begin(wanted)


def _to_be_rewritten(indexer: Indexer) -> Indexer | None:
    """The indexer with the encoders of the published index, if that must be rebuilt to clear it; else None."""
    index = indexer.engine.published(indexer.name)
    if index is None or indexer.engine.erase(index):
        return None
    meta = indexer.engine.meta(index)
    own = {name: encoder.fingerprint for name, encoder in indexer.encoders.items()}
    return indexer if own == dict(meta.encoders) else replace(indexer, encoders=find_encoders(indexer, meta))
