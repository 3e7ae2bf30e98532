"""The cache of passage vectors: the same answer, sooner, whatever happens to the disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.cache import AT_ONCE, CachedEncoder, VectorStore, text_key
from encoders.hashing import HashingEncoder
from search.protocols import Encoder

TEXTS = ["chest pain", "no pneumothorax", "", "chest pain", "\ud800 lone"]


@dataclass
class Counted:
    """The hashing encoder, with the texts it was asked for."""

    inner: HashingEncoder = field(default_factory=lambda: HashingEncoder(64))
    asked: list[str] = field(default_factory=list)
    form: str = "fp32"

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def encode_queries(self, texts: Sequence[str]) -> Any:
        return self.inner.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return self.inner.encode_passages(texts)


def file_of(folder: Path) -> Path:
    (file,) = folder.glob("*.sqlite")
    return file


def test_the_same_vectors_and_nothing_encoded_twice(tmp_path: Path) -> None:
    counted = Counted()
    cached = CachedEncoder(counted, tmp_path)
    assert isinstance(cached, Encoder)
    plain = counted.inner.encode_passages(TEXTS)
    assert np.array_equal(cached.encode_passages(TEXTS), plain)
    assert counted.asked == ["chest pain", "no pneumothorax", "", "\ud800 lone"]
    again = CachedEncoder(counted, tmp_path)
    assert np.array_equal(again.encode_passages([*TEXTS, "new"])[:5], plain)
    assert counted.asked[4:] == ["new"]
    assert np.array_equal(again.encode_queries(["q"]), counted.inner.encode_queries(["q"]))


def test_no_texts_no_vectors(tmp_path: Path) -> None:
    assert CachedEncoder(Counted(), tmp_path).encode_passages([]).shape == (0, 64)


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(codec=None), max_size=8), max_size=12))
def test_any_texts_in_any_order(texts: list[str]) -> None:
    encoder = HashingEncoder(16)
    assert np.array_equal(_shared().encode_passages(texts), encoder.encode_passages(texts))


def test_another_encoder_and_another_form_keep_their_own(tmp_path: Path) -> None:
    for counted in (Counted(), Counted(form="int8"), Counted(HashingEncoder(32))):
        CachedEncoder(counted, tmp_path).encode_passages(TEXTS)
        assert len(counted.asked) == 4
    assert len(list(tmp_path.glob("*.sqlite"))) == 3


def test_more_texts_than_one_query_takes(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(AT_ONCE * 2 + 3)]
    counted = Counted()
    CachedEncoder(counted, tmp_path).encode_passages(texts)
    vectors = CachedEncoder(counted, tmp_path).encode_passages(texts[::-1])
    assert len(counted.asked) == len(texts)
    assert np.array_equal(vectors, counted.inner.encode_passages(texts[::-1]))


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 400, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    counted = Counted()
    CachedEncoder(counted, tmp_path).encode_passages(TEXTS)
    file = file_of(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    file.write_bytes(content)
    cached = CachedEncoder(counted, tmp_path)
    assert np.array_equal(cached.encode_passages(TEXTS), counted.inner.encode_passages(TEXTS))
    assert ("was damaged" in caplog.text) == bool(content)
    before = len(counted.asked)
    cached.encode_passages(TEXTS)
    cached.encode_passages(TEXTS)
    assert len(counted.asked) - before <= 4


def test_a_damaged_row_is_encoded_again_and_mended(tmp_path: Path) -> None:
    counted = Counted()
    cached = CachedEncoder(counted, tmp_path)
    plain = cached.encode_passages(TEXTS)
    with sqlite3.connect(file_of(tmp_path)) as connection:
        row = bytearray(connection.execute("SELECT vector FROM vectors LIMIT 1").fetchone()[0])
        row[20] ^= 1
        connection.execute("UPDATE vectors SET vector = ? WHERE key = ?", (bytes(row), text_key("chest pain")))
        connection.execute("UPDATE vectors SET vector = x'00' WHERE key = ?", (text_key(""),))
    connection.close()
    counted.asked.clear()
    assert np.array_equal(cached.encode_passages(TEXTS), plain)
    assert counted.asked == ["chest pain", ""]
    cached.encode_passages(TEXTS)
    assert len(counted.asked) == 2


def test_a_folder_that_cannot_be_made_is_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    cached = CachedEncoder(Counted(), tmp_path / "file")
    for _ in range(2):
        assert np.array_equal(cached.encode_passages(TEXTS), HashingEncoder(64).encode_passages(TEXTS))
    assert len(caplog.records) == 1


def test_a_full_disk_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_connect = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = plain_connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 3")  # SQLite's own "database or disk is full"
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    texts = [f"text {number}" for number in range(200)]
    cached = CachedEncoder(Counted(), tmp_path)
    assert np.array_equal(cached.encode_passages(texts), HashingEncoder(64).encode_passages(texts))


def test_the_store_gives_back_what_it_got(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v.sqlite", 3)
    vector = np.array([1.5, -2.25, np.float32(1e-30)], dtype=np.float32)
    store.put({text_key("a"): vector})
    found = store.get([text_key("a"), text_key("b")])
    assert list(found) == [text_key("a")]
    assert np.array_equal(found[text_key("a")], vector)
    assert VectorStore(tmp_path / "v.sqlite", 4).get([text_key("a")]) == {}


def _fill(folder: Path, start: int, count: int = 200) -> None:
    cached = CachedEncoder(HashingEncoder(64), folder)
    for number in range(start, start + count, 20):
        cached.encode_passages([f"text {n}" for n in range(number, number + 20)])


@pytest.mark.slow
def test_several_processes_share_it(tmp_path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 100, 200, 300)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counted = Counted(form="only")
    CachedEncoder(counted, tmp_path).encode_passages([f"text {number}" for number in range(500)])
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert counted.asked == []


@pytest.mark.slow
def test_a_killed_process_leaves_sound_vectors(tmp_path: Path) -> None:
    context = get_context("spawn")
    texts = [f"text {number}" for number in range(4000)]
    for pause in (0.0, 0.02, 0.1):
        worker = context.Process(target=_fill, args=(tmp_path, 0, 4000))
        worker.start()
        while not list(tmp_path.glob("*.sqlite")):
            time.sleep(0.01)
        time.sleep(pause)
        os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
    counted = Counted(form="only")
    vectors = CachedEncoder(counted, tmp_path).encode_passages(texts)
    assert np.array_equal(vectors, counted.inner.encode_passages(texts))


_CACHED: list[CachedEncoder] = []


def _shared() -> CachedEncoder:
    if not _CACHED:
        import tempfile

        _CACHED.append(CachedEncoder(HashingEncoder(16), Path(tempfile.mkdtemp())))
    return _CACHED[0]
