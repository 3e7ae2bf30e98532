"""Fills one index with its pending documents, as a pipeline: batches are read and analysed, encoded, and written.

Where many wait, each round first writes them without vectors, which takes little of the time: they are found by their words
at once, and stay pending until they are written again with vectors.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Set
from contextlib import closing
from functools import partial
from typing import Final

from search.protocols import IndexMeta
from search.storage import State
from search.tracing import spans
from workers.indexing.batches import DocumentBatch, Outcome, read_batches
from workers.indexing.encoding import BatchEncoder, KnownVectors
from workers.indexing.indexer import Indexer
from workers.indexing.prefetch import prefetch
from workers.indexing.second_process import analyse_beside
from workers.indexing.tokens.passages import find_tokens
from workers.indexing.writing import BatchWriter, OpenWriter

_ROUND: Final = 20_000
WORDS_FIRST_FROM: Final = 64
"""How many documents have to wait for vectors to be written without them first; fewer are encoded in seconds."""


def fill(
    indexer: Indexer,
    meta: IndexMeta,
    ids: Set[str] | None = None,
    known: KnownVectors | None = None,
    open_writer: OpenWriter | None = None,
    words_first: bool = False,
) -> Iterator[Outcome]:
    """Index everything pending in an index, or only `ids`, with the indexer's encoders, until nothing is pending.

    `open_writer` opens the writer for each commit; without it, the engine's writer is opened as soon as it is free,
    within `indexer.options.wait` seconds. `words_first`: new documents are first written without vectors, if many wait.
    """
    options = indexer.options
    tokens = find_tokens(indexer, meta)
    encoder = BatchEncoder(indexer.encoders, meta.windows, known, options.statistics, tokens)
    open_writer = open_writer or partial(indexer.engine.writer, meta.index, options.wait)
    writer = BatchWriter(indexer.store, meta.index, open_writer)
    done = 0
    # A round contains each document at most once.
    while names := [name for name, _ in indexer.store.pending(meta.index, _ROUND, ids)]:
        total = done + len(names)
        if words_first and (indexer.encoders or tokens) and len(names) >= WORDS_FIRST_FROM:
            _write_words(indexer, writer, names)
        with closing(_prepare(indexer, encoder, names)) as batches:
            for batch in batches:
                outcomes = writer.write(batch)
                options.statistics.documents += len(outcomes)
                options.statistics.failed += sum(outcome.state is State.FAILED for outcome in outcomes)
                yield from outcomes
                done += len(batch)
                if options.on_progress is not None:
                    options.on_progress(done, total)


def _write_words(indexer: Indexer, writer: BatchWriter, names: list[str]) -> None:
    """Write pending documents without vectors. Nothing is recorded: whatever ends this, they are still pending."""
    batches = read_batches(indexer.store, names)
    for batch in analyse_beside(batches, indexer.collection, indexer.reader, len(names)):
        writer.write_words(batch)


def _prepare(indexer: Indexer, encoder: BatchEncoder, names: list[str]) -> Generator[DocumentBatch, None, None]:
    """Batches ready to be written.

    If there is an encoder, reading and analysing, encoding, and writing each run in their own thread and wait only for
    their next batch.
    """
    # Without an encoder all work is Python code, which threads cannot run in parallel; `analyse_beside` uses a process.
    step = prefetch if indexer.encoders or encoder.tokens else _pass_on
    batches = read_batches(indexer.store, names)
    analysed = step(spans.each("index.read", analyse_beside(batches, indexer.collection, indexer.reader, len(names))))
    with closing(analysed), closing(step(encoder.encode(batch) for batch in analysed)) as encoded:
        yield from encoded


def _pass_on(items: Iterable[DocumentBatch]) -> Generator[DocumentBatch, None, None]:
    yield from items
