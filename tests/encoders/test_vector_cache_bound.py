"""The bound of the cache of passage vectors: never exceeded, the oldest go first, and no answer changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders import cache
from encoders.cache import CachedEncoder, VectorStore, _alone, cached_bytes, text_key
from encoders.hashing import HashingEncoder

DIMENSION = 384
FIRST_FORM = "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


def vectors(first: int, count: int, dimension: int = DIMENSION) -> dict[bytes, np.ndarray]:
    return {text_key(str(n)): np.full(dimension, n, np.float32) for n in range(first, first + count)}


def known(store: VectorStore, first: int, count: int) -> list[int]:
    found = store.get(list(vectors(first, count)))
    assert all(np.array_equal(found[key], vector) for key, vector in vectors(first, count).items() if key in found)
    return [n for n in range(first, first + count) if text_key(str(n)) in found]


def test_the_oldest_vectors_go_and_the_file_stays_within_the_bound(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "a.sqlite", DIMENSION, bound=1_000_000)
    for first in range(0, 2_000, 50):
        store.put(vectors(first, 50))
        assert cached_bytes(tmp_path) <= 1_000_000
        assert known(store, first, 50) == list(range(first, first + 50))
    left = known(store, 0, 2_000)
    assert left == list(range(2_000 - len(left), 2_000))
    assert len(left) * DIMENSION * 4 > 600_000


def test_a_vector_that_is_stored_again_is_as_young_as_the_others(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "a.sqlite", DIMENSION, bound=1_000_000)
    for first in range(0, 2_000, 50):
        store.put(vectors(first, 50) | vectors(0, 1))
    assert known(store, 0, 51) == [0]


def test_without_a_bound_nothing_goes(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "a.sqlite", DIMENSION)
    for first in range(0, 1_000, 50):
        store.put(vectors(first, 50))
    assert known(store, 0, 1_000) == list(range(1_000))


@pytest.mark.parametrize("bound", [1, 10_000, 50_000])
def test_what_the_bound_has_no_room_for_is_encoded_each_time(tmp_path: Path, bound: int) -> None:
    encoder = HashingEncoder(DIMENSION)
    cached = CachedEncoder(encoder, tmp_path, bound)
    texts = [f"text {number}" for number in range(300)]
    for _ in range(2):
        assert np.array_equal(cached.encode_passages(texts), encoder.encode_passages(texts))
    assert cached_bytes(tmp_path) == 0


def test_the_largest_file_of_the_folder_gives_way(tmp_path: Path) -> None:
    large, small = (VectorStore(tmp_path / f"{name}.sqlite", DIMENSION, bound=1_000_000) for name in ("a", "b"))
    for first in range(0, 1_000, 50):
        large.put(vectors(first, 50))
    before = known(large, 0, 1_000)
    for first in range(0, 1_000, 50):
        small.put(vectors(first, 50))
        assert cached_bytes(tmp_path) <= 1_000_000
        assert known(small, first, 50) == list(range(first, first + 50))
    left, own = known(large, 0, 1_000), known(small, 0, 1_000)
    assert left == before[-len(left) :]
    assert own == list(range(1_000 - len(own), 1_000))
    assert 0.6 < len(left) / len(own) < 1.7


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 400), st.integers(1, 120), st.integers(20_000, 400_000)),
        max_size=20,
    )
)
def test_whatever_is_stored_the_bound_holds(tmp_path_factory, steps) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    sizes = {"a": 8, "b": 384, "c": 1_024}
    for name, first, count, bound in steps:
        store = VectorStore(folder / f"{name}.sqlite", sizes[name], bound)
        before = cached_bytes(folder)
        store.put(vectors(first, count, sizes[name]))
        assert cached_bytes(folder) <= max(bound, before)
        found = store.get(list(vectors(first, count, sizes[name])))
        assert all(
            np.array_equal(found[key], vector)
            for key, vector in vectors(first, count, sizes[name]).items()
            if key in found
        )


def test_a_bound_that_was_lowered_is_reached_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_DROPPED", 100)
    VectorStore(tmp_path / "a.sqlite", DIMENSION).put(vectors(0, 1_000))
    store, sizes = VectorStore(tmp_path / "a.sqlite", DIMENSION, bound=500_000), [cached_bytes(tmp_path)]
    while sizes[-1] > 500_000:
        store.put(vectors(2_000, 1))
        sizes.append(cached_bytes(tmp_path))
        assert sizes[-1] < sizes[-2]
    assert len(sizes) > 5
    store.put(vectors(2_000, 1))
    assert known(store, 2_000, 1) == [2_000]
    assert known(store, 990, 10) == list(range(990, 1_000))


def test_a_cache_of_the_first_form_is_taken_over_and_gets_smaller(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    VectorStore(path, DIMENSION).put(vectors(0, 500))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        rows = database.execute("SELECT key, vector FROM vectors").fetchall()
        for statement in ("DROP TABLE vectors", FIRST_FORM, "PRAGMA user_version = 0"):
            database.execute(statement)
        database.execute("BEGIN")
        database.executemany("INSERT INTO vectors VALUES (?, ?)", rows)
        database.execute("COMMIT")
    before = cached_bytes(tmp_path)
    store = VectorStore(path, DIMENSION, bound=700_000)
    assert known(store, 0, 500) == list(range(500))
    assert cached_bytes(tmp_path) < 0.6 * before
    store.put(vectors(1_000, 50))
    assert cached_bytes(tmp_path) <= 700_000
    assert known(store, 1_000, 50) == list(range(1_000, 1_050))


def test_a_damaged_file_beside_it_is_replaced_and_costs_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "b.sqlite").write_bytes(b"not a database at all" * 50_000)
    store = VectorStore(tmp_path / "a.sqlite", DIMENSION, bound=1_000_000)
    store.put(vectors(0, 50))
    assert known(store, 0, 50) == list(range(50))
    assert f"the vector cache {tmp_path / 'b.sqlite'} was damaged and is replaced" in caplog.text
    assert not (tmp_path / "b.sqlite").exists()


def fill(folder: Path, name: str, first: int) -> None:
    store = VectorStore(folder / f"{name}.sqlite", DIMENSION, bound=1_000_000)
    for number in range(first, first + 1_000, 20):
        store.put(vectors(number, 20))


@pytest.mark.slow
def test_several_processes_keep_within_the_bound_together(tmp_path: Path) -> None:
    context = get_context("spawn")
    started = (("a", 0), ("a", 1_000), ("b", 0), ("b", 500))
    workers = [context.Process(target=fill, args=(tmp_path, *each)) for each in started]
    for worker in workers:
        worker.start()
    largest = 0
    while any(worker.is_alive() for worker in workers):
        with _alone(tmp_path):  # the sizes of both files as of one moment
            largest = max(largest, cached_bytes(tmp_path))
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert 500_000 < largest <= 1_000_000
    for name in "ab":
        assert known(VectorStore(tmp_path / f"{name}.sqlite", DIMENSION), 0, 2_000)
