"""Indexes stored documents into the published index, until nothing is pending.

Every step can be repeated: documents that a kill interrupts are still pending in the store and are indexed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from mappings.collection import DISCOURSE
from mappings.errors import MedleyError
from search.discourse.models import IndexEncoder
from search.protocols import IndexMeta
from workers.indexing.batches import Outcome
from workers.indexing.filling import fill
from workers.indexing.indexer import Indexer, IndexingOptions
from workers.indexing.rebuild import rebuild

_HANDOVER_SECONDS: Final = 60.0
_COMPACT_ABOVE: Final = 50_000


def ingest(indexer: Indexer, ids: Iterable[str] | None = None) -> Iterator[Outcome]:
    """Index everything pending in the published index, or only `ids`; the first index is created and published if needed.

    A new index is filled with the indexer's encoders. An index that was built with other encoders keeps using those, if
    `options.find_encoder` finds them: documents keep arriving during and after a rebuild that changes the model.

    Raises `Conflict` if another process is still writing after `options.wait` seconds, `ModelError` if the index was built
    with other encoders or another analysis, `Unavailable` if the disk is full; no accepted document is lost then.
    """
    wanted = None if ids is None else frozenset(ids)
    meta: IndexMeta | None = None
    wait = indexer.options.wait
    while meta is None or indexer.engine.published(indexer.name) != meta.index:
        # A rebuild can publish another index while this one is filled; documents that arrived since are pending there, too.
        wait = wait if meta is None else max(wait, _HANDOVER_SECONDS)
        meta = ensure_index(indexer)
        indexer = _with_own_encoders(indexer, meta)
        indexer.check_index(meta)
        writer = partial(indexer.engine.writer, meta.index, wait)
        yield from fill(indexer, meta, wanted, open_writer=writer, words_first=True)
    if wanted is None and indexer.engine.dead(meta.index) > max(_COMPACT_ABOVE, indexer.engine.meta(meta.index).rows):
        # Most vectors that a search reads are of replaced or deleted passages; removing them needs no encoder.
        for _ in rebuild(replace(indexer, options=IndexingOptions())):
            pass


def ingest_all(indexer: Indexer) -> None:
    """Index everything that is pending. Raises `MedleyError` for the first document that could not be indexed."""
    for outcome in ingest(indexer):
        if outcome.cause:
            raise MedleyError(f"{outcome.id} could not be indexed: {outcome.cause}", field="id")


def delete(indexer: Indexer, ids: Iterable[str]) -> Iterator[Outcome]:
    """Delete `ids` from the store, then from the index. Unknown ids have no outcome."""
    changed = {accepted.id for accepted in indexer.store.delete(ids) if accepted.changed}
    if changed:
        yield from ingest(indexer, changed)


def ensure_index(indexer: Indexer) -> IndexMeta:
    """The published index; creates and publishes the first one if there is none.

    Of several processes that create a first index at once, one publishes its own; the others drop theirs.
    """
    meta = indexer.published()
    if meta is None:
        created = indexer.create()
        indexer.engine.publish(created.index, first=True)
        meta = indexer.published() or created
        if meta.index != created.index:  # another process was first; its index is already being searched
            indexer.drop(created.index)
    return meta


def _with_own_encoders(indexer: Indexer, meta: IndexMeta) -> Indexer:
    """The indexer with the encoders that filled the index, where they are found; otherwise with its own.

    The leg `discourse` is optional: an index that has none gets none, and one that has it keeps it, whatever the settings say
    now.
    """
    find = indexer.options.find_encoder
    own: dict[str, IndexEncoder] = dict(indexer.encoders)
    if DISCOURSE not in meta.encoders:
        own.pop(DISCOURSE, None)
    for name, fingerprint in meta.encoders.items():
        ours = own.get(name)
        is_other = ours.fingerprint != fingerprint if ours else name == DISCOURSE
        if is_other and find is not None and (found := find(name, fingerprint)):
            own[name] = found
    return replace(indexer, encoders=own)
