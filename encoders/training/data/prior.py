"""What the stage before a reranker says already, added to its score in the loss: it learns what is missing.

A reranker's score is blended with the first stage's. One that is trained alone spends itself on what the first stage
knows, and errs where that errs. The first stage here is a bi-encoder; as a collection serves it, a passage is as near
as the nearest of its windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from encoders.pooling import Floats
from encoders.runtime import BiEncoder
from encoders.training.data.batches import Example
from encoders.training.data.frozen_scores import Judge, Scores, artifact, scored
from encoders.training.recipe import Recipe
from mappings.analysis.passages import windows
from mappings.documents import Passage

WORDS = 60
"""The length of a window, in words: what the collections of abstracts use."""


def first_stage(
    recipe: Recipe, batches: Iterable[Sequence[Example]], run: Path, log: Callable[[dict[str, Any]], None]
) -> Scores | None:
    """The cosines of the recipe's prior for every example of the plan; None where the recipe has none.

    Raises `ModelError` for a prior that is no bi-encoder's model directory.
    """
    if not recipe.prior:
        return None
    found = artifact(recipe.prior, "bi-encoder", "prior")
    path = run / f"prior-{found.fingerprint[:12]}.bin"
    return scored(batches, path, lambda: _judge(BiEncoder(found, recipe.threads)), log)


def _judge(model: BiEncoder) -> Judge:
    def judge(group: Sequence[tuple[str, Sequence[str]]]) -> Floats:
        texts = dict(zip(dict.fromkeys(chain.from_iterable(found for _, found in group)), count()))
        cut = [windows(Passage("", 0, 0, "", "", text), WORDS) for text in texts]
        vectors = model.encode_passages(list(chain.from_iterable(cut)))
        starts = np.cumsum([0, *map(len, cut[:-1])])
        queries = model.encode_queries([query for query, _ in group])
        nearest = np.maximum.reduceat(vectors @ queries.T, starts, axis=0)  # (texts, queries)
        rows = [(texts[text], column) for column, (_, found) in enumerate(group) for text in found]
        return np.asarray(nearest[tuple(np.array(rows).T)], dtype=np.float32)

    return judge
