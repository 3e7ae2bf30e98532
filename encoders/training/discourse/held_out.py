"""How well a trained discourse model finds the passages of documents that it was not trained on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from encoders.discourse.encoder import DiscourseEncoder
from encoders.training.discourse.corpora import HeadedDocument
from encoders.training.loop.held_out import rank_first

CANDIDATES: Final = 64


def score_documents(folder: Path, documents: Sequence[HeadedDocument], seed: int) -> dict[str, Any]:
    """How well held-out passages are found by title and heading among `CANDIDATES`: the others of the document, and random ones.

    `{"queries", "RR", "Success@1"}`, with empty figures where nothing is held out. A tie counts against the passage, and one
    without a heading is not asked for. Raises `ModelError` where a score is NaN.
    """
    encoder = DiscourseEncoder.open(folder)
    read = encoder.encode_documents([item.passages for item in documents])
    owned = [item.passage_vectors(len(document.passages)) for item, document in zip(read, documents, strict=True)]
    every = np.concatenate(owned) if owned else np.zeros((0, 0), np.float32)
    starts = np.cumsum([0, *map(len, owned)])
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    ranks = []
    for number, document in enumerate(documents):
        own = range(starts[number], starts[number + 1])
        others = [place for place in draw.sample(range(len(every)), min(len(every), CANDIDATES)) if place not in own]
        chosen = [*own, *others][:CANDIDATES]
        for place, heading in zip(own, document.headings, strict=True):
            if place in chosen and heading:
                scores = every[[place, *(other for other in chosen if other != place)]]
                query = encoder.encode_query(document.title, heading)
                ranks.append(rank_first(torch.from_numpy(scores @ query), f"{document.title} {heading}"))
    if not ranks:
        return {"queries": 0}
    found = np.asarray(ranks, float)
    figures = {"RR": round(float((1 / found).mean()), 4), "Success@1": round(float((found == 1).mean()), 4)}
    return {"queries": len(ranks), **figures}
