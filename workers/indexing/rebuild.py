"""The rebuild of an index aside, as one sequence of steps, whoever takes them.

create → fill → check → publish → catch up → retire what was replaced, after a grace period; or discard.

`rebuild` takes all of them in this process, and holds the writer of the new index meanwhile; a kill leaves an index that
the next rebuild drops. By queue, `begin` creates, workers `fill_aside`, whichever finds nothing left to fill calls
`publish_when_complete`, and the sweeper announces what is still to be caught up with and calls `retire`. A job in the
store says that the queue fills an index, so any kill is resumed: what is missing is a query on the store. Meanwhile
documents that arrive are indexed where searches are answered; they are pending in the new index too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Final

from encoders.late.surrounded import is_surrounded
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.collection import DISCOURSE
from mappings.documents import Passage
from mappings.errors import Conflict, MedleyError, NotFound
from search.engines.administration import IndexWriter
from search.engines.names import split_index
from search.protocols import IndexMeta, Vectors
from search.storage import DocumentStore, Job, State
from workers.indexing.batches import Outcome
from workers.indexing.encoding import KnownVectors
from workers.indexing.filling import fill
from workers.indexing.indexer import Indexer, find_encoders
from workers.indexing.inspection import verify

_log = logging.getLogger("medley.worker")

GRACE_SECONDS: Final = 10.0
"""How long a replaced index stays, so that searches under way end on it.

It is the longest that one read of a cluster takes (`Connection.read_seconds`), and far above any search of an embedded
index. A search that is slower still, such as for a deep page, loses its index and is repeated on the new one.
"""

_ROUNDS: Final = 10
_DISCARD_SECONDS: Final = 60.0
_RETIRE_SECONDS: Final = 600.0


class _NeverPublished(Conflict):
    """An index that was built must not be published, now or later."""


# Drivers


def rebuild(indexer: Indexer, grace: float | None = None) -> Iterator[Outcome]:
    """Build a new generation aside and publish it in one step, in this process; searches and ingestion go on undisturbed.

    Vectors that the old index holds for the same passage by the same encoder are taken over; an old one that is damaged,
    or in another version's format, is only replaced. It is dropped after `grace` seconds (`GRACE_SECONDS`), in which
    searches under way end. Any error, and closing the generator early, discards the half-built one; the next rebuild
    drops what a kill left behind.

    Raises `Conflict` when the new index can't be published, since most documents failed or a newer one was published.
    """
    replaced = indexer.engine.published(indexer.name)
    drop_unused(indexer)
    meta = indexer.create()
    try:
        known = find_known_vectors(indexer, meta)
        with indexer.engine.writer(meta.index) as writer:
            yield from _fill_completely(indexer, meta, known, writer)
            _publish(indexer, meta.index)
            yield from fill(indexer, meta, None, known, lambda: nullcontext(writer))
    except BaseException:
        _discard(indexer, meta.index)
        raise
    if replaced is not None:
        time.sleep(GRACE_SECONDS if grace is None else grace)
        if indexer.engine.published(indexer.name) == meta.index:  # else whoever replaced ours drops both
            retire(indexer, 0.0, _RETIRE_SECONDS)


def _fill_completely(
    indexer: Indexer, meta: IndexMeta, known: KnownVectors | None, writer: IndexWriter
) -> Iterator[Outcome]:
    """Fill a new index until it can be published; what arrives meanwhile can take some rounds."""
    problems: Sequence[str] = ()
    for _ in range(_ROUNDS):
        yield from fill(indexer, meta, None, known, lambda: nullcontext(writer))
        problems = _check_complete(indexer, meta.index)
        if not problems:
            return
    raise Conflict(f"the rebuilt index {meta.index} is not complete: {'; '.join(problems)}", field="index")


def begin(indexer: Indexer) -> str:
    """The index that the queue is to fill: one that it already fills for these encoders, or a new one."""
    for index in building(indexer):
        with suppress(MedleyError):
            if _is_as_wanted(indexer, indexer.engine.meta(index)):
                return index
    index = indexer.create().index
    indexer.store.keep_job(Job(job_name(indexer.name, index), time.time()))
    return index


def fill_aside(indexer: Indexer, index: str, ids: Iterable[str]) -> Iterator[Outcome]:
    """Index `ids` in an index that is not published, by the encoders that it was created for.

    Vectors that the published index holds for the same passage by the same encoder are taken over. Raises `NotFound` when
    the index was dropped, `ModelError` when `options.find_encoder` does not find its encoders.
    """
    meta = indexer.engine.meta(index)
    indexer = replace(indexer, encoders=find_encoders(indexer, meta))
    indexer.check_index(meta)
    return fill(indexer, meta, frozenset(ids), find_known_vectors(indexer, meta))


def publish_when_complete(indexer: Indexer, index: str) -> bool:
    """Publish an index that the queue has filled; whether it was. One that can never be published is discarded."""
    try:
        _check_newest(indexer, index)
        if indexer.store.pending(index, 1):
            return False
        problems = _check_complete(indexer, index)
    except _NeverPublished as error:
        _log.error("%s is discarded: %s", index, error.message)
        _discard(indexer, index, error.message)
        return False
    if problems:
        _log.warning("%s is filled but not complete yet: %s", index, "; ".join(problems))
        return False
    _publish(indexer, index)
    return True


def forget(indexer: Indexer, index: str) -> None:
    """Record that an index, which a user dropped, is not to be filled any more."""
    _finish_job(indexer, index, "it was dropped")
    indexer.store.forget(index)


# State


def building(indexer: Indexer) -> list[str]:
    """The indexes of the collection that the queue fills."""
    published = indexer.engine.published(indexer.name)
    return [
        index for index in indexer.engine.names(indexer.name) if index != published and _is_building(indexer, index)
    ]


def job_name(collection: str, index: str) -> str:
    """The name of the job that says that the queue fills an index, and when it was published or why it was discarded."""
    return f"{collection}.{index}"


def _is_building(indexer: Indexer, index: str) -> bool:
    job = indexer.store.job(job_name(indexer.name, index))
    return job is not None and not job.finished


def _finish_job(indexer: Indexer, index: str, cause: str) -> None:
    job = indexer.store.job(job_name(indexer.name, index))
    if job is not None and not job.finished:
        indexer.store.keep_job(replace(job, finished=time.time(), cause=cause))


# Steps


def find_known_vectors(indexer: Indexer, new: IndexMeta, old: IndexMeta | None = None) -> KnownVectors | None:
    """Finds vectors in the published index, or in `old`, of those fields that the same encoder filled from the same windows.

    None for an index with damaged files: its vectors would come into the new one.
    """
    old, engine = old or indexer.readable(), indexer.engine
    if old is None or (old.windows, old.analysis) != (new.windows, new.analysis):
        return None
    if any(problem.is_damage for problem in indexer.engine.file_problems(old.index, again=False)):
        _log.warning("%s is damaged: none of its vectors are taken over", old.index)
        return None
    same = [
        name
        for name, encoder in indexer.encoders.items()
        # Of a model that reads whole documents an unchanged passage can have another vector.
        if name != DISCOURSE
        and not is_surrounded(encoder.fingerprint)
        and old.encoders.get(name) == encoder.fingerprint
    ]
    index = old.index

    def find(passages: Sequence[Passage]) -> Mapping[str, Mapping[str, Vectors]]:
        with suppress(NotFound):  # dropped meanwhile by another process
            return {key: {name: rows[name] for name in same} for key, rows in engine.vectors(index, passages).items()}
        return {}

    return find if same else None


def _check_complete(indexer: Indexer, index: str) -> list[str]:
    """What is still missing in a filled index. Raises `_NeverPublished`."""
    _check_newest(indexer, index)
    problems = verify(indexer, index)
    if not problems:
        _check_failures(indexer.store, index)
    return problems


def _check_newest(indexer: Indexer, index: str) -> None:
    """Raise `_NeverPublished` when a newer generation is already published: an older one must not replace it."""
    published = indexer.engine.published(indexer.name)
    if published is not None and _generation(published) > _generation(index):
        raise _NeverPublished(
            f"the rebuilt index {index} is not published: {published} was published meanwhile", field="index"
        )


def _check_failures(store: DocumentStore, index: str) -> None:
    """Raise `_NeverPublished` when most documents failed: then the model or the settings are at fault, not they."""
    states = store.counts(index).states
    failed = states.get(State.FAILED, 0)
    if failed > states.get(State.INDEXED, 0):
        cause = store.states(index, State.FAILED, limit=1)[0].cause
        raise _NeverPublished(
            f"the rebuilt index {index} is not published: {failed:,} documents failed, the first with {cause!r}",
            field="index",
        )


def _publish(indexer: Indexer, index: str) -> None:
    """Let searches be answered from an index, and note since when: the grace period of what it replaces begins."""
    indexer.engine.publish(index)
    now = time.time()
    job = indexer.store.job(job_name(indexer.name, index)) or Job(job_name(indexer.name, index), now)
    indexer.store.keep_job(replace(job, finished=now))


def _discard(indexer: Indexer, index: str, cause: str = "") -> None:
    """Delete a half-built index, unless the error came after it was published."""
    if indexer.engine.published(indexer.name) == index:
        return
    indexer.engine.drop(index, wait=_DISCARD_SECONDS)
    indexer.store.forget(index)
    _finish_job(indexer, index, cause)


def retire(indexer: Indexer, grace: float | None = None, wait: float = 0.0) -> list[str]:
    """Drop the indexes that the published one replaced at least `grace` seconds ago; their names.

    One that another process still fills after `wait` seconds is left to the next call. A first index, which `ingest`
    published, replaced nothing.
    """
    published = indexer.engine.published(indexer.name)
    job = indexer.store.job(job_name(indexer.name, published)) if published else None
    if published is None or job is None:
        return []
    if not job.finished:  # the process was killed between publishing and noting it
        indexer.store.keep_job(replace(job, finished=time.time()))
        return []
    if time.time() - job.finished < (GRACE_SECONDS if grace is None else grace):
        return []
    replaced = [
        index
        for index in indexer.engine.names(indexer.name)
        # One of a higher generation has just been created.
        if _generation(index) < _generation(published) and not _is_building(indexer, index)
    ]
    return [index for index in replaced if indexer.drop(index, wait)]


def drop_unused(indexer: Indexer) -> None:
    """Drop what a killed rebuild left: every index that is neither published nor being filled, here or by the queue."""
    published = indexer.engine.published(indexer.name)
    for index in indexer.engine.names(indexer.name):
        if index != published and not _is_building(indexer, index):
            indexer.drop(index)  # refused while another process holds its writer


def _is_as_wanted(indexer: Indexer, meta: IndexMeta) -> bool:
    own = {name: encoder.fingerprint for name, encoder in indexer.encoders.items()}
    current = (meta.analysis, meta.reading, meta.tokens) == (ANALYSIS_VERSION, indexer.reading, indexer.token_format)
    return dict(meta.encoders) == own and current and not indexer.engine.drift(meta.index)


def _generation(index: str) -> int:
    return split_index(index)[1]
