"""The second step of indexing: vectors for the windows of every passage, encoded together across documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from encoders.late.surrounded import SurroundedEncoder
from mappings.analysis.passages import placed_windows
from mappings.analysis.window_text import place_in_document
from mappings.documents import Passage
from mappings.errors import Unavailable
from search.discourse.models import IndexEncoder, WholeDocumentEncoder
from search.protocols import Encoder, IndexEntry, Vectors
from search.tracing import spans
from workers.indexing.batches import DocumentBatch, describe_error, isolate_failures
from workers.indexing.indexer import IndexingStatistics
from workers.indexing.tokens.passages import PassageTokens
from workers.indexing.whole_documents import encode_whole_documents

KnownVectors = Callable[[Sequence[Passage]], Mapping[str, Mapping[str, Vectors]]]
"""Passages -> passage id -> vector field -> rows of shape (windows, d), for those whose vectors need no encoder."""

_PROBE: Final = "Every encoder can read this."


@dataclass(frozen=True, slots=True)
class BatchEncoder:
    """Encodes batches: `encoders` maps a vector field to its encoder, `window_words` is the most words in a window.

    Most encoders read one window at a time; a `WholeDocumentEncoder` reads all passages of a document together.
    `known` finds vectors that need not be encoded again; `statistics` counts the texts, tokens and seconds. `tokens` adds
    what a poly-encoder reads of passages, where the index stores it.
    """

    encoders: Mapping[str, IndexEncoder]
    window_words: int = 0
    known: KnownVectors | None = None
    statistics: IndexingStatistics = field(default_factory=IndexingStatistics)
    tokens: PassageTokens | None = None

    def encode(self, batch: DocumentBatch) -> DocumentBatch:
        """The batch with vectors, encoded together: a large batch sorts by length and wastes little.

        Raises `Unavailable` when an encoder is at fault, and not a document.
        """
        started, tokens = time.perf_counter(), self._count_tokens()
        try:
            with spans.span("index.encode", {"medley.documents": len(batch.entries)}):
                encoded = isolate_failures(batch.entries, self._add_vectors)
        finally:
            self.statistics.encoding_seconds += time.perf_counter() - started
            self.statistics.tokens += self._count_tokens() - tokens
        if encoded.failed and not encoded.entries:
            self._check_encoders()
        return DocumentBatch(deleted=batch.deleted, failed=batch.failed) + encoded

    def _check_encoders(self) -> None:
        """Raise `Unavailable` when an encoder can't read any text: then no document is to blame."""
        for name, encoder in self.encoders.items():
            try:
                if isinstance(encoder, WholeDocumentEncoder):
                    encoder.encode_documents([[_PROBE]])
                else:
                    encoder.encode_queries([_PROBE])  # passages may come from the cache on disk, and prove nothing
            except Exception as error:  # whatever the library of a device raises
                raise Unavailable(f"the encoder of {name!r} cannot read any text: {describe_error(error)}") from error

    def _count_tokens(self) -> int:
        """How many tokens were read so far, by those encoders that count them."""
        return sum(int(getattr(encoder, "tokens_run", 0)) for encoder in self.encoders.values())

    def _add_vectors(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        every = [passage for entry in entries for passage in entry.passages]
        known = self.known(every) if self.known else {}
        texts = [placed_windows(passage, self.window_words) for passage in every]
        readers = [item for item in self.encoders.values() if not isinstance(item, WholeDocumentEncoder)]
        if readers and all(isinstance(encoder, SurroundedEncoder) for encoder in readers):
            texts = [(passage.model_text,) for passage in every]
        rows = {
            name: _encode_surrounded(encoder, entries, texts)
            if isinstance(encoder, SurroundedEncoder)
            else _encode_unknown(encoder, texts, [known.get(passage.id, {}).get(name) for passage in every])
            for name, encoder in self.encoders.items()
            if not isinstance(encoder, WholeDocumentEncoder)
        }
        self.statistics.texts += sum(map(len, texts)) * len(rows)
        encoded, start = [], 0
        for entry in entries:
            own = slice(start, start + len(entry.passages))
            vectors = {name: np.concatenate(found[own]) for name, found in rows.items()}
            encoded.append(replace(entry, vectors=vectors, windows=tuple(map(len, texts[own]))))
            start = own.stop
        whole = self._add_whole(encoded)
        return self.tokens.add(whole) if self.tokens else whole

    def _add_whole(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """The entries with the vectors of what reads whole documents, beside those of their windows."""
        encoded = list(entries)
        for name, encoder in self.encoders.items():
            if isinstance(encoder, WholeDocumentEncoder):
                rows = [entry.rows for entry in encoded]
                found = encode_whole_documents(encoder, encoded, rows, self.statistics)
                encoded = [
                    replace(entry, vectors={**entry.vectors, name: own})
                    for entry, own in zip(encoded, found, strict=True)
                ]
        return encoded


def _encode_surrounded(
    encoder: Encoder, entries: Sequence[IndexEntry], texts: Sequence[tuple[str, ...]]
) -> list[Vectors]:
    """For each passage the vector that it has in its document, shape (windows, d): the same for each of its windows.

    Vectors of other indexes are not taken over, since an unchanged passage can have other neighbours there. The cache on disk
    goes by all that is read.
    """
    placed = [
        text
        for entry in entries
        for text in place_in_document(
            [item.text for item in entry.passages], [item.model_text for item in entry.passages]
        )
    ]
    vectors = encoder.encode_passages(placed)
    return [np.repeat(vector[None], len(own), axis=0) for vector, own in zip(vectors, texts, strict=True)]


def _encode_unknown(
    encoder: Encoder, texts: Sequence[tuple[str, ...]], known: Sequence[Vectors | None]
) -> list[Vectors]:
    """For each passage its rows, shape (windows, d); only those that are not known are encoded."""
    usable = [
        rows if rows is not None and len(rows) == len(own) else None for own, rows in zip(texts, known, strict=True)
    ]
    missing = [text for own, rows in zip(texts, usable, strict=True) if rows is None for text in own]
    fresh = encoder.encode_passages(missing) if missing else np.empty((0, encoder.dimension), np.float32)
    every, start = [], 0
    for own, rows in zip(texts, usable, strict=True):
        if rows is None:
            rows = fresh[start : start + len(own)]
            start += len(own)
        every.append(rows)
    return every
