"""txtai's hybrid search: `hybrid=True`, which keeps a BM25 index beside the vectors, at equal weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

TOP = 10


def build(documents: Sequence[tuple[str, str]], folder: Path, model: str) -> None:
    """Index documents of (id, text) into `folder`."""
    from txtai import Embeddings

    embeddings = Embeddings(hybrid=True, path=model)
    embeddings.index(documents)
    embeddings.save(str(folder))


def open_search(folder: Path, model: str) -> Callable[[str], tuple[list[str], dict[str, float]]]:
    """What answers a query with the ids of the ten best documents, best first. The index names its model itself."""
    from txtai import Embeddings

    embeddings = Embeddings()
    embeddings.load(str(folder))
    return lambda query: ([identifier for identifier, _ in embeddings.search(query, TOP)], {})
