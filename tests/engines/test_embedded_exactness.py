"""The embedded legs against independent references: BM25 as published, and inner products in float32."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mappings.analysis.words import terms
from mappings.collection import load
from mappings.documents import Access, Passage
from search.engines.embedded.engine import EmbeddedEngine
from search.engines.embedded.schema import spread
from search.engines.embedded.slots import columns as slot_columns
from search.engines.embedded.slots import reader as slot_reader
from search.engines.embedded.slots import writer as slot_writer
from search.engines.embedded.slots.rows import is_empty, is_unwritten, quantise
from search.engines.embedded.vectors import scans
from search.engines.embedded.vectors.codes import pack_signs
from search.engines.embedded.vectors.nearest import Preselection, nearest
from search.engines.embedded.vectors.signs import SignBits, Signs, nearest_by_signs
from search.protocols import IndexEntry, LegsRequest
from search.query import LexicalQuery

EVERYBODY = Access("tester", frozenset({"*"}))
K1, B = 1.2, 0.75
WORDS = [f"word{number}" for number in range(400)]
WEIGHTS = [1 / (number + 3) for number in range(400)]


@cache
def kept_length(length: int) -> int:
    """A field's length as both Lucene and tantivy keep it in one byte: exact to 40, then in steps of an eighth."""
    table = list(range(24)) + [24 + (n if n < 8 else ((n & 7) | 8) << ((n >> 3) - 1)) for n in range(232)]
    return max(value for value in table if value <= length)


def bm25(texts: list[list[str]], query: list[str]) -> list[float]:
    """Robertson's BM25 with Lucene's idf, never negative; (k1 + 1) stays in the numerator, as in tantivy."""
    average = sum(map(len, texts)) / len(texts)
    frequency = Counter(term for text in texts for term in set(text))
    scores = []
    for text in texts:
        counts, score = Counter(text), 0.0
        for term in query:
            idf = math.log(1 + (len(texts) - frequency[term] + 0.5) / (frequency[term] + 0.5))
            norm = K1 * (1 - B + B * kept_length(len(text)) / average)
            score += idf * counts[term] * (K1 + 1) / (counts[term] + norm)
        scores.append(score)
    return scores


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """(engine, index, texts): 400 passages of 5 to 200 words, in several segments, without title boost."""
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS, WEIGHTS, k=rng.randint(5, 200))) for _ in range(400)]
    plain = replace(load("abstracts"), title_boost=0.0)
    home = tmp_path_factory.mktemp("bm25")
    (home / "collections" / "abstracts").mkdir(parents=True)
    engine = EmbeddedEngine(home, lambda name: plain)
    meta = engine.create("abstracts", {})
    with engine.writer(meta.index) as writer:
        for start in range(0, 400, 100):
            writer.write([entry(f"{start + n:03}", text) for n, text in enumerate(texts[start : start + 100])])
            writer.commit()
    return engine, meta.index, texts


def entry(name: str, text: str) -> IndexEntry:
    return IndexEntry(name, 1, frozenset({"public"}), {}, (Passage(name, 1, 0, "", "", text),), {})


@pytest.mark.parametrize("seed", range(8))
def test_the_lexical_leg_is_bm25(corpus, seed):
    engine, index, texts = corpus
    query = random.Random(seed).choices(WORDS, WEIGHTS, k=1 + seed % 8)
    lexical = LexicalQuery(tuple((term, 1.0) for term in terms(" ".join(query))))
    leg = engine.legs(LegsRequest(index, lexical, {}, EVERYBODY, 50)).rankings["bm25"]
    scores = bm25([terms(text) for text in texts], terms(" ".join(query)))
    expected = sorted(((-round(score, 4), f"{number:03}@1#0") for number, score in enumerate(scores) if score > 0))[:50]
    assert [item.score for item in leg] == pytest.approx([-score for score, _ in expected], abs=3e-4)
    by_name = {name: -score for score, name in expected}
    agreed = sum(item.passage in by_name for item in leg)
    assert agreed >= 0.98 * len(expected)
    assert all(by_name[item.passage] == pytest.approx(item.score, abs=3e-4) for item in leg if item.passage in by_name)


def unit_rows(seed: int, rows: int, dimension: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [1.0, 0.6, 0.1, 0.01])
@pytest.mark.parametrize("library", ["numkong", "numpy"])
def test_nearest_neighbours_are_those_of_float32(share, library, monkeypatch):
    if library == "numpy":
        monkeypatch.setattr(scans, "numkong", None)
    vectors = unit_rows(1, 3_000, 96)
    parts = quantise(vectors)
    allowed = np.sort(np.random.default_rng(2).permutation(3_000)[: int(3_000 * share)])
    recalls = []
    for query in unit_rows(3, 10, 96):
        found, scores = nearest(parts, allowed, query, 100)
        exact = vectors[allowed] @ query
        expected = allowed[np.argsort(-exact)[:100]]
        assert scores == pytest.approx(vectors[found] @ query, abs=2e-3)
        recalls.append(len(set(found) & set(expected)) / len(expected))
    assert np.mean(recalls) >= 0.995


@pytest.mark.parametrize("library", ["numkong", "numpy"])
@pytest.mark.parametrize("share", [1.0, 0.9, 0.3, 0.01])
def test_signs_choose_among_many_rows_and_change_hardly_anything(share, library, monkeypatch):
    if library == "numpy":
        monkeypatch.setattr(scans, "numkong", None)
    centres = unit_rows(5, 40, 96)
    vectors = centres[np.arange(90_000) % 40] + 0.9 * unit_rows(6, 90_000, 96)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[::1_000] = np.nan
    parts, known = quantise(vectors), Preselection(96)
    allowed = np.sort(np.random.default_rng(7).permutation(90_000)[: int(90_000 * share)])
    recalls = []
    for query in centres[:8] + 0.5 * unit_rows(8, 8, 96):
        found, scores = nearest(parts, allowed, query, 100, known)
        expected, _ = nearest(parts, allowed, query, 100)
        assert np.all(np.diff(scores) <= 0)
        assert not np.isnan(scores).any()
        recalls.append(len(set(found) & set(expected)) / len(expected))
    assert np.mean(recalls) >= 0.98


def test_signs_grow_with_the_slots_and_serve_older_snapshots():
    vectors = unit_rows(9, 500, 20)
    vectors[[3, 400]] = np.nan
    _, coarse, scale = quantise(vectors)
    known = SignBits(20)
    first, _, empty, *_ = known.of(coarse[:300], scale[:300])
    assert (first.shape, empty.tolist()) == ((1, 300), [3])
    first = first.copy()
    every, _, empty, *_ = known.of(coarse, scale)
    assert (every.shape, empty.tolist()) == ((1, 500), [3, 400])
    assert np.array_equal(unpacked(every.T)[:, :20], coarse > 0)
    older, _, empty, *_ = known.of(coarse[:300], scale[:300])
    assert (np.array_equal(older, first), empty.tolist()) == (True, [3])


def unpacked(words: np.ndarray) -> np.ndarray:
    """The bits of words, shape (n, words), as shape (n, 64 words)."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1).astype(bool)


def test_rows_of_a_large_file_are_read_instead_of_mapped(tmp_path, monkeypatch):
    vectors = unit_rows(14, 300, 24)
    vectors[7] = np.nan
    writer = slot_writer.SlotWriter(tmp_path, {"dense": 24})
    writer.append([f"d{number}@1#0" for number in range(300)], {"dense": vectors})
    writer.sync()
    writer.close()
    mapped = slot_reader.SlotReader(tmp_path, {"dense": 24}, 300).vectors["dense"]
    monkeypatch.setattr(slot_columns, "MAPPED_BYTES", 1_000)
    read = slot_reader.SlotReader(tmp_path, {"dense": 24}, 300).vectors["dense"]
    assert isinstance(read[0], slot_columns.FileRows)
    assert len(read[0]) == 300
    runs = np.array([5, 6, 7, 3, 2, 298, 299])
    for chosen in (np.array([5, 299, 0, 5]), runs, np.array([], np.int64), slice(3, 9), slice(290, 400), slice(9, 3)):
        assert np.array_equal(read[0][chosen], mapped[0][chosen])
        assert read[0][chosen].shape == mapped[0][chosen].shape
    everything = np.arange(300)
    for query in unit_rows(15, 3, 24):
        found, expected = (nearest(parts, everything, query, 20) for parts in (read, mapped))
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_more_is_read_than_one_call_reads(tmp_path, monkeypatch):
    rows = np.arange(1_000, dtype=np.int8).reshape(-1, 4)
    (tmp_path / "rows").write_bytes(rows.tobytes())
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, parts, place: read(file, [parts[0][:300]], place))
    column = slot_columns.Column(tmp_path / "rows", np.dtype(np.int8), 4)
    assert np.array_equal(slot_columns.FileRows(column, 250)[10:240], rows[10:240])
    with pytest.raises(OSError, match="ends before"):
        slot_columns.FileRows(column, 260)[200:260]


@pytest.mark.parametrize("told", ["at once", "not at all", "never"])
def test_scattered_rows_are_read_from_memory_or_from_the_disk(tmp_path, monkeypatch, told):
    rows = np.random.default_rng(0).integers(0, 256, (5_000, 768), np.uint8)
    (tmp_path / "rows").write_bytes(rows.tobytes())
    places = np.random.default_rng(1).permutation(5_000)[:300]
    reads = []

    def never(file, buffers, place, flags=0):
        reads.append(flags)
        if flags:
            raise BlockingIOError
        return read(file, buffers, place)

    read = os.preadv
    if told == "not at all":
        monkeypatch.setattr(slot_columns, "_NOWAIT", None)
    if told == "never":
        monkeypatch.setattr(os, "preadv", never)
    with (tmp_path / "rows").open("rb") as file:
        content = slot_columns.read_scattered(file.fileno(), (places * 768).tolist(), [768] * 300)
        assert slot_columns.read_scattered(file.fileno(), [], []) == b""
        uneven = slot_columns.read_scattered(file.fileno(), [768, 0, 7_680], [768, 1_536, 100])
    assert uneven == rows[[1, 0, 1]].tobytes() + rows[10].tobytes()[:100]
    assert np.array_equal(np.frombuffer(content, np.uint8).reshape(-1, 768), rows[places])
    assert len(reads) == (606 if told == "never" else 0)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("dimension", [64, 100, 384, 500])
def test_distances_count_the_bits_that_differ(dimension, parts, monkeypatch):
    monkeypatch.setattr(scans, "_PART_ROWS", 70_000 // parts)
    monkeypatch.setattr(scans, "cores", lambda: 3)
    vectors, query = unit_rows(10, 70_000, dimension), unit_rows(11, 1, dimension)
    bits = np.ascontiguousarray(pack_signs(vectors).T)
    assert np.array_equal(unpacked(bits.T)[:, :dimension], vectors > 0)
    wanted = ((vectors > 0) != (query > 0)).sum(1)
    assert np.array_equal(scans.distances(bits, pack_signs(query)[0]), wanted)
    weights = np.random.default_rng(3).integers(0, 8, dimension)
    digits = pack_signs(weights >> np.arange(3)[:, None] & 1)
    weighed = ((vectors > 0) != (query > 0)) @ weights
    assert np.array_equal(scans.weighted_distances(bits, pack_signs(query)[0], digits), weighed)


@pytest.mark.parametrize("every", [2, 7])
def test_the_nearest_by_signs_are_all_up_to_one_distance(every):
    vectors, query = unit_rows(12, 70_000, 96), unit_rows(13, 1, 96)[0]
    empty, allowed = np.array([0, 14, 69_999]), np.arange(0, 70_000, every)
    bits = np.ascontiguousarray(pack_signs(vectors).T)
    own = ((vectors > 0) != (query > 0)).sum(1)
    own[empty] = 1_000
    signs = Signs(bits, np.empty(70_000, np.float32), empty, 70_000, None)
    found = nearest_by_signs(signs, allowed, query, 50)
    assert found.tolist() == allowed[own[allowed] <= np.sort(own[allowed])[49]].tolist()
    rest = nearest_by_signs(signs, allowed, query, len(allowed))
    assert rest.tolist() == np.setdiff1d(allowed, empty).tolist()  # rows without a vector are never needed
    assert nearest_by_signs(signs, allowed[:0], query, 50).tolist() == []


def test_float16_rows_are_widened_exactly(monkeypatch):
    every = np.arange(65_536, dtype=np.uint16).view(np.float16)
    rows = every[np.isfinite(every)][:63_488].reshape(-1, 8)
    wide = scans.widen(rows)
    assert (wide.dtype, wide.shape) == (np.float32, rows.shape)
    assert np.array_equal(wide, rows.astype(np.float32))
    assert scans.widen(rows[:0]).shape == (0, 8)
    monkeypatch.setattr(scans, "numkong", None)
    assert np.array_equal(scans.widen(rows), wide)


def test_an_empty_or_small_choice_is_answered_whole():
    parts = quantise(unit_rows(1, 10, 16))
    query = unit_rows(2, 1, 16)[0]
    assert nearest(parts, np.empty(0, np.int64), query, 5)[0].tolist() == []
    assert sorted(nearest(parts, np.arange(10), query, 50)[0].tolist()) == list(range(10))
    assert nearest(parts, np.arange(10), np.zeros(16, np.float32), 3)[1].tolist() == [0.0, 0.0, 0.0]


def test_equal_rows_score_equally_wherever_they_stand():
    row = unit_rows(4, 1, 384)
    parts = quantise(np.repeat(row, 1_001, axis=0))
    _, scores = nearest(parts, np.arange(1_001), row[0], 1_001)
    assert len(set(scores.tolist())) == 1


def test_rows_of_zeros_and_rows_that_were_not_written_are_kept_apart_and_never_rank():
    vectors = np.zeros((3, 8), np.float32)
    vectors[1], vectors[2, 0] = np.nan, 1.0
    exact, coarse, scale = quantise(vectors)
    assert (exact[:2].any(), coarse[:2].any()) == (False, False)
    assert (is_empty(scale[:, 0]).tolist(), is_unwritten(scale[:, 0]).tolist()) == (
        [True, True, False],
        [False, True, False],
    )
    slots, scores = nearest((exact, coarse, scale), np.arange(3), -vectors[2], 3)
    assert (slots.tolist(), scores.tolist()) == ([2], [-1.0])


def test_both_scans_give_the_same_products():
    if scans.numkong is None:
        pytest.skip("numkong is not installed here")
    _, coarse, _ = quantise(unit_rows(1, 20_000, 64))
    query = coarse[17]
    assert scans.plain_products(coarse, query).tolist() == scans.products(coarse, query).tolist()


@given(st.text(max_size=200))
@settings(max_examples=25)
def test_spread_text_is_the_terms_of_the_text(text):
    assert [part for part in spread(text).split(" ") if part not in ("\x01", "")] == terms(text)
