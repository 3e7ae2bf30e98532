"""What the embedded engine does for large indexes alone, on small ones: words beside vectors, and rows read from files."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from mappings.collection import load
from mappings.documents import Access, Passage
from search.engines.embedded import queries, snapshot
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.slots import columns as slot_columns
from search.engines.embedded.vectors import cells, nearest
from search.protocols import IndexEntry, LegsAnswer, LegsRequest
from search.query import LexicalQuery

EVERYBODY = Access("tester", frozenset({"*"}))
NAMES = [f"d{number:02}" for number in range(60)]


def rows(seed: int, count: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, 16)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def fill(tmp_path):
    """A function that fills a new home and returns (engine, index): 60 documents of two windows each."""

    def fill(home: str) -> tuple[EmbeddedEngine, str]:
        plain = replace(load("abstracts"), title_boost=0.0)
        (tmp_path / home / "collections" / "abstracts").mkdir(parents=True)
        engine = EmbeddedEngine(tmp_path / home, lambda name: plain)
        index = engine.create("abstracts", {"dense": ("f" * 64, 16)}).index
        entries = [
            IndexEntry(
                name, 1, frozenset({"public"}), {"year": 2000 + number % 3},
                (Passage(name, 1, 0, "", "", f"aspirin {'pain ' * (number % 7)}in the old"),),
                {"dense": rows(number, 2)}, (2,),
            )
            for number, name in enumerate(NAMES)
        ]  # fmt: skip
        with engine.writer(index) as writer:
            writer.write(entries)
            writer.commit()
        return engine, index

    return fill


def ask(engine: EmbeddedEngine, index: str, seed: int) -> LegsAnswer:
    lexical = LexicalQuery((("aspirin", 1.0), ("pain", 1.0)))
    return engine.legs(LegsRequest(index, lexical, {"dense": rows(seed, 1)[0]}, EVERYBODY, 10, facets=("year",)))


def test_words_beside_vectors_find_what_one_after_the_other_finds(fill, monkeypatch):
    engine, index = fill("home")
    apart = [ask(engine, index, seed) for seed in range(100, 105)]
    monkeypatch.setattr(snapshot, "_BESIDE_FROM", 0)
    beside = [ask(engine, index, seed) for seed in range(100, 105)]
    assert beside == apart
    assert len(apart[0].rankings["dense"]) == len(apart[0].rankings["bm25"]) == 10
    assert apart[0].total.value == len(NAMES)


def test_what_fails_beside_the_vectors_fails_the_search(fill, monkeypatch):
    engine, index = fill("home")
    monkeypatch.setattr(snapshot, "_BESIDE_FROM", 0)

    def broken(self: object, *_: object) -> None:
        raise ZeroDivisionError(threading.current_thread().name)

    monkeypatch.setattr(snapshot.Snapshot, "_by_words", broken)
    with pytest.raises(ZeroDivisionError, match=r"^words"):
        ask(engine, index, 100)


def test_cells_show_nobody_what_was_replaced_deleted_or_is_not_theirs(fill, monkeypatch):
    for module, name, value in (
        (nearest, "SIGNED", 10), (nearest, "_MANY", 1), (nearest, "CANDIDATES", 10), (nearest, "ESTIMATED", 10), (nearest, "_FINE", 2),
        (cells, "CELLS_FROM", 50), (cells, "_GROUPS", 4),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    engine, index = fill("home")
    ask(engine, index, 100)
    cells.await_cells()
    with engine.writer(index) as writer:
        moved = Passage(NAMES[0], 2, 0, "", "", "moved")
        secret = Passage(NAMES[1], 2, 0, "", "", "secret")
        writer.write([IndexEntry(NAMES[0], 2, frozenset({"public"}), {}, (moved,), {"dense": -rows(0, 2)}, (2,))])
        writer.write([IndexEntry(NAMES[1], 2, frozenset({"ward"}), {}, (secret,), {"dense": rows(1, 2)}, (2,))])
        writer.remove([NAMES[2]])
        writer.commit()
    reader = Access("reader", frozenset({"public"}))
    near = {}
    for number in range(4):
        request = LegsRequest(index, LexicalQuery(()), {"dense": rows(number, 2)[0]}, reader, 5)
        near[number] = [item.document for item in engine.legs(request).rankings["dense"]]
    assert NAMES[3] == near[3][0]
    assert NAMES[0] != near[0][0]
    assert not {NAMES[1], NAMES[2]} & {name for found in near.values() for name in found}


def test_rows_read_from_a_file_find_what_mapped_ones_find(fill, monkeypatch):
    mapped = ask(*fill("mapped"), 100)
    monkeypatch.setattr(slot_columns, "MAPPED_BYTES", 100)
    engine, index = fill("read")
    assert ask(engine, index, 100) == mapped
    passages = [Passage(NAMES[5], 1, 0, "", "", f"aspirin {'pain ' * 5}in the old")]
    stored = engine.vectors(index, passages)
    assert np.allclose(stored[passages[0].id]["dense"], rows(5, 2), atol=1e-3)


def test_many_values_find_what_few_looked_up_one_by_one_find(fill, monkeypatch):
    engine, index = fill("home")
    wanted = [*NAMES[::2], "unknown"]
    few = engine.fields(index, wanted, EVERYBODY)
    assert few.keys() == set(NAMES[::2])
    assert engine.fields(index, wanted, Access("stranger", frozenset({"secret"}))) == {}
    monkeypatch.setattr(queries, "_FEW", 0)
    assert engine.fields(index, wanted, EVERYBODY) == few
    assert engine.fields(index, [], EVERYBODY) == {}
