"""Vectors of a few words, a table of them, and pairs of texts of different lengths for matching networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from encoders.labels.pairs import Pair, Text, write_lines
from encoders.training.matching.inputs import Frequencies, MatchBatch, WordTable
from encoders.words.vectors import WordVectors

WORDS = ["fever", "cough", "asthma", "gout", "pain", "signs", "cure", "cause", "in", "the", "young", "old"]
ENTITIES, ASPECTS = WORDS[:5], WORDS[5:8]
QUERIES = ["fever signs", "gout cause in the old"]
PASSAGES = [
    "Signs of fever. The young cough, the old do in pain.",
    "Gout. The cause of gout in the old is in the blood; cause, signs, cure. Asthma in the young. No pain in the end!",
]
MAX_QUERY, MAX_PASSAGE, DIMENSION = 6, 30, 6


def make_vectors(dimension: int = DIMENSION, seed: int = 3) -> WordVectors:
    draw = np.random.default_rng(seed)
    return WordVectors(
        WORDS,
        draw.normal(size=(len(WORDS), dimension)).astype(np.float16),
        draw.normal(size=(50, dimension)).astype(np.float16),
    )


def make_table(vectors: WordVectors | None = None) -> WordTable:
    return WordTable(vectors or make_vectors(), Frequencies.count(PASSAGES), MAX_QUERY, MAX_PASSAGE)


def both(table: WordTable | None = None) -> MatchBatch:
    """Two pairs in one batch, the first of which is padded in the query and in the passage."""
    return (table or make_table()).batch(QUERIES, PASSAGES)


def each(table: WordTable | None = None) -> list[MatchBatch]:
    """The same pairs alone, without padding."""
    table = table or make_table()
    return [table.batch([query], [passage]) for query, passage in zip(QUERIES, PASSAGES, strict=True)]


def write_matching_pairs(folder: Path) -> Path:
    """Asked by entity and aspect: the answer has both, the other passages another entity, aspect or both."""

    def text(entity: str, aspect: str) -> Text:
        return Text(f"{entity}-{aspect}", "", "", f"The {aspect} of {entity} in the young.")

    found = [
        Pair("slots", f"{split}:{entity}:{aspect}", f"{split} {entity}", split, "health", f"{start}{entity} {aspect}",
             (f"{entity}-{aspect}",), text(entity, aspect),
             tuple(text(*other) for other in [(entity, item) for item in ASPECTS if item != aspect]
                   + [(item, aspect) for item in ENTITIES if item != entity]))
        for split, start in (("train", "the "), ("held-out", ""))
        for entity in ENTITIES
        for aspect in ASPECTS
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "slots.jsonl", found)
    return folder
