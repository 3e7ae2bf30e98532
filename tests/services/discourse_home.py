"""A home of articles whose kind asks the leg `discourse`, by the untrained model of `discourse_model`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discourse_model import write_discourse_model

from mappings.collection import SHIPPED_KINDS
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.settings import Settings
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest_all

NAME = "articles"
WEIGHTS = "weights = { bm25 = 0.35, dense = 0.65 }"
ARTICLES = {
    "gout": ("Gout is joint pain.", "Allopurinol is treatment. Give rest.", "Urate is in the joint of patients."),
    "asthma": ("Asthma is wheeze and cough.", "Give the inhaler. Rest is treatment.", "Dust is in the history."),
    "migraine": ("Migraine is pain by light.", "The triptan is treatment."),
}


def article(name: str, texts: Sequence[str], label: str = "public") -> Document:
    sections = tuple(Section(f"Part {number}", text) for number, text in enumerate(texts))
    return Document(name, name.title(), sections, frozenset({label}), {"source": "test"})


def write_kind(folder: Path, weight: float, further: str = "") -> None:
    """The kind of articles, with a weight for the leg and without reranking."""
    text = (SHIPPED_KINDS / "articles.toml").read_text(encoding="utf-8")
    weights = f"weights = {{ bm25 = 0.3, dense = 0.2, discourse = {weight} }}"
    folder.mkdir(exist_ok=True)
    (folder / "articles.toml").write_text(
        f'{text.replace(WEIGHTS, weights)}\n[discourse]\nmodel = "by-words"\n{further}'
    )


def settings_in(folder: Path, weight: float = 0.5, further: str = "") -> Settings:
    """Settings of a new home in `folder`, with the model and the kind beside it."""
    write_discourse_model(folder / "models" / "by-words")
    write_kind(folder / "kinds", weight, further)
    return Settings(
        home=folder / "home",
        models=folder / "models",
        collections=folder / "kinds",
        encoder="hashing-256",
        reranker="none",
    )


def fill(settings: Settings, *more: Document) -> Medley:
    """The articles, indexed."""
    medley = Medley.open(settings)
    medley.collections.create(NAME)
    medley.collections.store(NAME).put([*(article(name, texts) for name, texts in ARTICLES.items()), *more])
    ingest_all(Indexer.of(medley, NAME))
    return medley
