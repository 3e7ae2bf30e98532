"""A suite's corpus as a real collection in a cache home: built once, used until corpus, models or analysis change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

from evaluation.corpus.indexing import index_all
from evaluation.task import Corpus
from mappings import collection as kinds
from mappings.analysis.words import ANALYSIS_VERSION
from mappings.clinical.reading import shipped_reader
from mappings.collection import Collection
from mappings.documents import Document
from mappings.errors import NotFound
from search.bootstrap import Medley
from search.engines.embedded.layout import exclusive, write_atomic
from search.home import open_home
from search.models.registry import Models
from search.settings import Settings

BATCH: Final = 500
MARK: Final = "corpus.json"
BUILD_SECONDS: Final = 4 * 3600.0
"""How long to wait for another process that builds the same corpus."""


def home(settings: Settings) -> Settings:
    """The settings with the cache home of evaluation, on the embedded engine, instead of the user's."""
    return replace(settings, home=settings.home / "evaluation", opensearch="")


def open_corpus(corpus: Corpus, settings: Settings) -> Medley:
    """A Medley whose collection `corpus.name` holds exactly the corpus, indexed by the encoder of `settings`.

    Whoever opens it while it is built waits. Raises `MedleyError` when a document could not be indexed.
    """
    if settings.opensearch:
        return _open_on_cluster(corpus, settings)
    settings = home(settings)
    open_home(settings.home)
    with exclusive(settings.home / f"{corpus.name}.lock", f"the corpus {corpus.name}", BUILD_SECONDS):
        return _open_embedded(corpus, settings)


def _open_embedded(corpus: Corpus, settings: Settings) -> Medley:
    folder = settings.home / "collections" / corpus.name
    decided = mark(corpus, settings)
    if folder.exists() and (_read(folder / MARK) != decided or not _is_of_kind(Medley.open(settings), corpus)):
        shutil.rmtree(folder)
    medley = Medley.open(settings)
    if not (folder / MARK).is_file():
        _build(medley, corpus)
        write_atomic(folder / MARK, json.dumps(decided).encode())
    return medley


def _open_on_cluster(corpus: Corpus, settings: Settings) -> Medley:
    """The corpus under a prefix of its own that names all that decides it: a complete one is used again."""
    decided = [mark(corpus, home(settings)), corpus.kind]
    suffix = sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:12]
    cluster = replace(
        home(settings), opensearch=settings.opensearch, opensearch_prefix=f"{settings.opensearch_prefix}-{suffix}"
    )
    medley = Medley.open(cluster)
    if not _is_complete(medley, corpus.name):
        _build(medley, corpus)
    return medley


def _is_of_kind(medley: Medley, corpus: Corpus) -> bool:
    """Whether the collection was created with this kind: two kinds can share one index, but their weights differ."""
    found = medley.engines.catalog.read(corpus.name)
    return found is not None and found.kind == corpus.kind


def _is_complete(medley: Medley, name: str) -> bool:
    try:
        index = medley.engine.resolve(name).index
        return not medley.collections.store(name).pending(index, 1)
    except NotFound:
        return False


def _build(medley: Medley, corpus: Corpus) -> None:
    medley.collections.create(corpus.name, corpus.kind)
    store = medley.collections.store(corpus.name)
    documents = iter(corpus.documents())
    while batch := list(islice(documents, BATCH)):
        store.put(batch)
    index_all(medley, corpus.name)


def mark(corpus: Corpus, settings: Settings) -> dict[str, Any]:
    """All that decides the index: when any of it changes, the collection is built again."""
    collection = kinds.load(corpus.name, corpus.kind, settings.collections)
    encoders = Models(settings).index_encoders(collection)
    return {
        "documents": digest(corpus.documents()),
        "encoders": {name: encoder.fingerprint for name, encoder in sorted(encoders.items())},
        "analysis": ANALYSIS_VERSION,
        "reading": shipped_reader().version if collection.concepts else "",
        "passages": _splitting(collection),
    }


def _splitting(collection: Collection) -> list[Any]:
    return [
        collection.granularity,
        collection.max_words,
        collection.window_words,
        list(collection.context),
        collection.sections,
    ]


def digest(documents: Iterable[Document]) -> str:
    """SHA-256 of ids, titles, sections and fields, in order."""
    state = sha256()
    for document in documents:
        parts = [document.id, document.title, *(f"{item.heading}\x1e{item.text}" for item in document.sections)]
        parts.append(repr(sorted(document.fields.items())))
        state.update("\x1f".join(parts).encode("utf-8", "replace") + b"\x1d")
    return state.hexdigest()


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
