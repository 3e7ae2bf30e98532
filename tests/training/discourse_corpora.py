"""Invented health articles, word vectors and a recipe, small enough to train a discourse model on in a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from encoders.labels.pairs import Text, write_lines
from encoders.training.discourse.recipe import DiscourseRecipe
from encoders.words.vectors import WordVectors

ENTITIES = {
    "Bluefoot fever": "bluefoot",
    "Glass bone ache": "glass",
    "Night cough": "night",
    "Paper skin": "paper",
    "Salt gout": "salt",
    "Winter hives": "hives",
}
ASPECTS = {
    "symptoms": "Patients feel {0} pain. The pain is worse at night.",
    "treatment and prevention": "Give {0} drops each day. The drops heal most patients.",
    "causes": "A gene breaks in {0} cells. The gene comes from a parent.",
}
WIDTH = 12
RECIPE = DiscourseRecipe(
    "small", ("health",), ("definitions",), hidden=16, discourse=12, dimension=8, batch=2, epochs=150, decay=0.0,
    learning_rate=0.01, weight_decay=0.0, name_bits=64, name_hashes=3, name_batch=8, name_epochs=60, name_rate=0.01,
    name_dropout=0.0, save_every=50,
)  # fmt: skip


def used_words() -> list[str]:
    """Every word that the articles use."""
    text = " ".join((*ENTITIES, *ENTITIES.values(), *ASPECTS, *ASPECTS.values()))
    return sorted({word.strip(".{}0123456789").lower() for word in text.split()} - {""})


def write_words(path: Path, width: int = WIDTH) -> WordVectors:
    """Vectors of every word that the articles use, drawn at random."""
    words = used_words()
    draw = np.random.default_rng(7)
    vectors = WordVectors(
        words,
        draw.normal(size=(len(words), width)).astype(np.float16),
        draw.normal(size=(64, width)).astype(np.float16),
    )
    vectors.save(path)
    return vectors


def write_articles(labels: Path) -> None:
    """One article on each entity, with one passage on each aspect, and a corpus of explanations."""
    texts = [
        Text(f"{name}-{place}", name, heading, text.format(word))
        for name, word in ENTITIES.items()
        for place, (heading, text) in enumerate(ASPECTS.items())
    ]
    write_lines(labels / "corpora" / "health.jsonl", texts)
    told = [Text(f"term-{name}", name, "", f"A disease of {word} people.") for name, word in ENTITIES.items()]
    write_lines(labels / "corpora" / "definitions.jsonl", told)
