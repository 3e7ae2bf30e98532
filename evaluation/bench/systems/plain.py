"""The plain loop: one vector a document by sentence-transformers, an index of its words by bm25s, fused in numpy.

Vectors, words and ids lie on disk, which is the least that a searchable collection needs. A score is the sum of both, each a
fraction between the query's worst and best.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

TOP = 10


def build(documents: Sequence[tuple[str, str]], folder: Path, model: str) -> None:
    """Encode and index documents of (id, text) into `folder`. Shape of the vectors: (documents, 384)."""
    import bm25s
    from sentence_transformers import SentenceTransformer

    texts = [text for _, text in documents]
    folder.mkdir()
    np.save(folder / "vectors.npy", SentenceTransformer(model).encode_document(texts, show_progress_bar=False))
    words = bm25s.BM25()
    words.index(_tokenize(texts), show_progress=False)
    words.save(str(folder / "words"))
    (folder / "ids.json").write_text(json.dumps([identifier for identifier, _ in documents]), encoding="utf-8")


def open_search(folder: Path, model: str) -> Callable[[str], tuple[list[str], dict[str, float]]]:
    """What answers a query with the ids of the ten best documents, best first."""
    import bm25s
    from sentence_transformers import SentenceTransformer

    encoder, words = SentenceTransformer(model), bm25s.BM25.load(str(folder / "words"))
    vectors = np.load(folder / "vectors.npy")
    ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))

    def answer(query: str) -> tuple[list[str], dict[str, float]]:
        lexical = words.get_scores(_tokenize([query], ids=False)[0])
        fused = _scaled(lexical) + _scaled(vectors @ encoder.encode_query(query, show_progress_bar=False))
        return [ids[place] for place in np.argsort(-fused, kind="stable")[:TOP]], {}

    return answer


def _tokenize(texts: Sequence[str], ids: bool = True) -> Any:
    import bm25s
    import Stemmer

    return bm25s.tokenize(
        list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=ids, show_progress=False
    )


def _scaled(scores: Any) -> Any:
    low, high = scores.min(), scores.max()
    return (scores - low) / ((high - low) or 1.0)
