"""Vectors that depend on a whole document: one for each passage, in the first of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.discourse.models import WholeDocumentEncoder
from search.protocols import IndexEntry, Vectors
from workers.indexing.indexer import IndexingStatistics


def encode_whole_documents(
    encoder: WholeDocumentEncoder,
    entries: Sequence[IndexEntry],
    windows: Sequence[Sequence[int]],
    statistics: IndexingStatistics,
) -> list[Vectors]:
    """For each entry its vectors, shape (rows, d); `windows` says how many rows each passage of it has.

    Every document is read anew, all its passages in order: a vector depends on the others, so none is known from before.
    The rows after the first of a passage are zero, and so are all rows of a passage without a sentence and of what is beyond
    the sentences that the model reads: they never rank. `statistics` counts those sentences.
    """
    read = encoder.encode_documents([[passage.text for passage in entry.passages] for entry in entries])
    statistics.cut += sum(document.read.left_out > 0 for document in read)
    statistics.unread += sum(document.read.left_out for document in read)
    return [
        _in_first_rows(document.passage_vectors(len(rows)), rows) for document, rows in zip(read, windows, strict=True)
    ]


def _in_first_rows(vectors: Vectors, rows: Sequence[int]) -> Vectors:
    spread = np.zeros((sum(rows), vectors.shape[1]), np.float32)
    spread[np.cumsum(rows) - rows] = vectors
    return spread
