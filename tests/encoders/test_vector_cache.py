from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np
import pytest

from encoders.cache import CachedEncoder
from encoders.hashing import HashingEncoder

TEXTS = ["chest pain", "no pneumothorax", "", "chest pain", "\ud800 lone"]


@dataclass
class Counted:
    """The hashing encoder, with the texts it was asked for."""

    inner: HashingEncoder = field(default_factory=lambda: HashingEncoder(64))
    asked: list[str] = field(default_factory=list)

    @property
    def fingerprint(self):
        return self.inner.fingerprint

    @property
    def dimension(self):
        return self.inner.dimension

    def encode_queries(self, texts):
        return self.inner.encode_queries(texts)

    def encode_passages(self, texts):
        self.asked += texts
        return self.inner.encode_passages(texts)


def test_the_same_vectors_and_nothing_encoded_twice(tmp_path):
    counted = Counted()
    cached = CachedEncoder(counted, tmp_path)
    plain = counted.inner.encode_passages(TEXTS)
    assert np.array_equal(cached.encode_passages(TEXTS), plain)
    assert counted.asked == ["chest pain", "no pneumothorax", "", "\ud800 lone"]
    again = CachedEncoder(counted, tmp_path)
    assert np.array_equal(again.encode_passages([*TEXTS, "new"])[:5], plain)
    assert counted.asked[4:] == ["new"]


def test_no_texts_no_vectors(tmp_path):
    assert CachedEncoder(Counted(), tmp_path).encode_passages([]).shape == (0, 64)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_a_damaged_cache_costs_time_and_nothing_else(tmp_path, content):
    counted = Counted()
    cached = CachedEncoder(counted, tmp_path)
    (tmp_path / f"{counted.fingerprint[:32]}.sqlite").write_bytes(content)
    plain = counted.inner.encode_passages(TEXTS)
    for _ in range(3):
        assert np.array_equal(cached.encode_passages(TEXTS), plain)
    assert len(counted.asked) <= 3 * 4 - 1


def test_a_folder_that_cannot_be_made_is_harmless(tmp_path):
    (tmp_path / "file").write_text("")
    cached = CachedEncoder(Counted(), tmp_path / "file")
    assert np.array_equal(cached.encode_passages(TEXTS), HashingEncoder(64).encode_passages(TEXTS))


def _fill(folder, start):
    CachedEncoder(HashingEncoder(64), folder).encode_passages(
        [f"text {number}" for number in range(start, start + 200)]
    )


@pytest.mark.slow
def test_several_processes_share_it(tmp_path):
    context = get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 100, 200, 300)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counted = Counted()
    CachedEncoder(counted, tmp_path).encode_passages([f"text {number}" for number in range(500)])
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert counted.asked == []
