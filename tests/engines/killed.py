"""The work of the kill test's children until they are killed, and the log that the parent checks them against."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from encoders.hashing import HashingEncoder
from mappings.collection import load
from mappings.documents import Document, Section
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.store import EmbeddedStore
from search.storage import StoredDocument
from workers.indexing import batches
from workers.indexing.batches import Outcome
from workers.indexing.indexer import Indexer
from workers.indexing.ingest import ingest
from workers.indexing.rebuild import rebuild

COLLECTION = replace(load("notes"), max_words=8)
ENCODERS = {"dense": HashingEncoder(32)}
DOCUMENTS = 60
batches.BATCH_DOCUMENTS = 8  # many commits, so that many kills fall between and into them


def open_world(home: Path) -> tuple[EmbeddedStore, EmbeddedEngine]:
    return EmbeddedStore(home / "collections" / COLLECTION.name), EmbeddedEngine(home, lambda name: COLLECTION)


def content(name: str, seed: int) -> Document:
    """A document of one to five passages with its seed in the words."""
    words = [f"{name} seed{seed} word{number}." for number in range(random.Random(seed).randint(1, 12))]
    return Document(name, f"Note {name}", (Section("PLAN", " ".join(["heart.", *words])),), frozenset({"clinical"}))


def work(home: Path, mode: str, seed: int) -> None:
    """Change documents and index them, or rebuild, for ever. Each accepted change is logged after its acceptance."""
    rng = random.Random(seed)
    store, engine = open_world(home)
    (home / "ready").touch()
    while True:
        _change(home, store, rng, mode)
        indexer = Indexer(store, engine, ENCODERS, COLLECTION)
        steps: Iterator[Outcome] = rebuild(indexer, grace=0.05) if mode == "rebuild" else ingest(indexer)
        for _ in steps:
            if mode == "rebuild" and rng.random() < 0.05:
                _change(home, store, rng, mode)


def _change(home: Path, store: EmbeddedStore, rng: random.Random, mode: str) -> None:
    names = [f"d{number}" for number in rng.sample(range(DOCUMENTS), rng.randint(1, 20))]
    if mode == "delete" and rng.random() < 0.7:
        accepted = store.delete(names)
    else:
        accepted = store.put(content(name, rng.randrange(1_000)) for name in names)
    lines = "".join(f"{item.id} {item.version}\n" for item in accepted if item.version)
    descriptor = os.open(home / "accepted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, lines.encode())
    os.close(descriptor)


def accepted(home: Path) -> dict[str, int]:
    """The highest version of each document in the log of accepted changes."""
    found: dict[str, int] = {}
    if (home / "accepted").exists():
        for line in (home / "accepted").read_text().splitlines():
            name, version = line.split()
            found[name] = max(found.get(name, 0), int(version))
    return found


def stored(store: EmbeddedStore) -> dict[str, StoredDocument]:
    return dict(store.latest([f"d{number}" for number in range(DOCUMENTS)]))


def serve() -> None:
    """Fork a child for each line "home mode seed"; print its process id, then the signal that ended it.

    Everything is imported once, so that a child starts working within milliseconds.
    """
    for line in sys.stdin:
        home, mode, seed = line.split()
        child = os.fork()
        if child == 0:
            try:
                work(Path(home), mode, int(seed))
            finally:
                os._exit(1)
        print(child, flush=True)  # noqa: T201
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
