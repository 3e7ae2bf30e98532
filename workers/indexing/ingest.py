"""From stored documents to the published index: generators that work until nothing is pending.

Every step can be repeated: what a kill interrupts is still pending in the store, and is done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from search.protocols import Encoder, IndexMeta
from workers.indexing.batches import Outcome
from workers.indexing.filling import fill
from workers.indexing.indexer import Indexer, IndexingOptions
from workers.indexing.rebuild import rebuild

_HANDOVER_SECONDS: Final = 60.0
_COMPACT_ABOVE: Final = 50_000


def ingest(indexer: Indexer, ids: Iterable[str] | None = None) -> Iterator[Outcome]:
    """Index everything pending in the published index, or only `ids`; a first index is created and published.

    A new index is filled by the indexer's encoders. One that was built by others keeps its own, when
    `options.find_encoder` finds them: documents keep arriving while a rebuild moves the collection to another model, and
    after it.

    Raises `Conflict` when another process still writes after `options.wait` seconds, `ModelError` when the index was built
    by other encoders or another analysis, `Unavailable` when the disk is full; nothing accepted is lost then.
    """
    wanted = None if ids is None else frozenset(ids)
    meta: IndexMeta | None = None
    wait = indexer.options.wait
    while meta is None or indexer.engine.published(indexer.name) != meta.index:
        # A rebuild may publish another index while this one is filled: what arrived meanwhile is pending there too.
        wait = wait if meta is None else max(wait, _HANDOVER_SECONDS)
        meta = ensure_index(indexer)
        indexer = _with_own_encoders(indexer, meta)
        indexer.check_index(meta)
        yield from fill(indexer, meta, wanted, open_writer=partial(indexer.engine.writer, meta.index, wait))
    if wanted is None and indexer.engine.dead(meta.index) > max(_COMPACT_ABOVE, indexer.engine.meta(meta.index).rows):
        # Most vectors that a search reads were replaced or deleted since; no encoder is needed to leave them out.
        for _ in rebuild(replace(indexer, options=IndexingOptions())):
            pass


def delete(indexer: Indexer, ids: Iterable[str]) -> Iterator[Outcome]:
    """Delete `ids` from the store, then from the index. Unknown ids have no outcome."""
    changed = {accepted.id for accepted in indexer.store.delete(ids) if accepted.changed}
    if changed:
        yield from ingest(indexer, changed)


def ensure_index(indexer: Indexer) -> IndexMeta:
    """The published index; the first one is created and published when there is none.

    Of several processes that create a first index at once, one publishes its own; the others drop theirs.
    """
    meta = indexer.published()
    if meta is None:
        created = indexer.create()
        indexer.engine.publish(created.index, first=True)
        meta = indexer.published() or created
        if meta.index != created.index:  # another process was first, and its index is already being searched
            indexer.drop(created.index)
    return meta


def _with_own_encoders(indexer: Indexer, meta: IndexMeta) -> Indexer:
    """The indexer with the encoders that filled the index, where they can be found; else with those that it has."""
    find = indexer.options.find_encoder
    own: dict[str, Encoder] = dict(indexer.encoders)
    for name, fingerprint in meta.encoders.items():
        if name in own and own[name].fingerprint != fingerprint and find is not None:
            own[name] = find(fingerprint) or own[name]
    return replace(indexer, encoders=own)
