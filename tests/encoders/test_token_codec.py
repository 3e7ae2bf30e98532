"""Compressed token vectors: their size, what they keep, and scores without rebuilding them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.poly import attend
from encoders.pooling import softmax, unit
from encoders.tokens import codec as module
from encoders.tokens.codec import BASIS_WIDTH, MOST_BYTES, TokenCodec, find_basis, rotation
from encoders.tokens.scoring import StoredTokenScorer
from mappings.errors import Damaged

DIMENSION = 48
SIGNS = "+--+++-++-+++--+-+++-+-+-++++---"


def passages(count: int, seed: int = 0, dimension: int = DIMENSION, most: int = 40) -> list[np.ndarray]:
    """Unit token vectors with a common direction in each passage, and of few further ones, as trained models have."""
    draw = np.random.default_rng(seed)
    directions = np.random.default_rng(99).normal(size=(12, dimension))
    made = []
    for _ in range(count):
        length = int(draw.integers(1, most))
        rows = draw.normal(size=(length, 12)) @ directions * 0.5 + draw.normal(size=dimension) * 3
        made.append(unit((rows + 0.1 * draw.normal(size=rows.shape)).astype(np.float32)))
    return made


def codecs() -> list[TokenCodec]:
    return [TokenCodec(DIMENSION), TokenCodec(DIMENSION, find_basis(passages(30, seed=9))[:, :16])]


@pytest.mark.parametrize("width", [1, 3, 32, 48, 128, 384])
def test_the_rotation_is_orthogonal_and_never_changes(width: int) -> None:
    turn = rotation(width)
    assert np.allclose(turn @ turn.T, np.eye(width), atol=1e-5)
    assert np.array_equal(turn, rotation(width))
    if width == 3:
        assert np.array_equal(np.abs(turn), np.eye(3))
    if width == 32:  # an index of today is read by tomorrow's program
        assert np.allclose(np.abs(turn), 1 / np.sqrt(32))
        assert "".join("+-"[int(row < 0)] for row in turn[:, 0]) == SIGNS


@pytest.mark.parametrize("codec", codecs(), ids=lambda codec: codec.name)
def test_what_is_compressed_is_near_to_what_it_was(codec: TokenCodec) -> None:
    for tokens in passages(20):
        content = codec.compress(tokens)
        assert codec.is_valid(content)
        found, counts = codec.decompress(content)
        assert found.shape == tokens.shape
        assert np.all(counts == 1)
        assert np.mean(np.sum(unit(found) * tokens, axis=1)) > 0.9


def test_two_bits_on_a_basis_keep_more_than_one_bit_of_everything_in_less() -> None:
    plain, based = codecs()
    error = {
        codec.name: np.mean(
            [np.square(codec.decompress(codec.compress(item))[0] - item).sum(-1).mean() for item in passages(40)]
        )
        for codec in (plain, based)
    }
    sizes = [sum(len(codec.compress(item)) for item in passages(40)) for codec in (plain, based)]
    assert error[based.name] < 0.6 * error[plain.name]
    assert sizes[1] < sizes[0]


def test_a_passage_takes_at_most_8_kb_and_its_far_tokens_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 8 + DIMENSION + 10 * (1 + 4))
    codec = TokenCodec(DIMENSION, find_basis(passages(30, seed=9))[:, :16])
    draw = np.random.default_rng(3)
    tokens = np.tile(draw.normal(size=DIMENSION), (25, 1)) + 0.01 * draw.normal(size=(25, DIMENSION))
    tokens[[4, 20]] += 2 * draw.normal(size=(2, 12)) @ np.random.default_rng(99).normal(size=(12, DIMENSION))
    content = codec.compress(tokens.astype(np.float32))
    assert len(content) <= module.MOST_BYTES
    found, counts = codec.decompress(content)
    assert counts.tolist() == [1.0] * 9 + [16.0]
    for far in (4, 20):
        assert max(np.corrcoef(tokens[far], row)[0, 1] for row in found) > 0.95


def test_the_usual_sizes() -> None:
    draw = np.random.default_rng(0)
    basis = np.linalg.qr(draw.normal(size=(384, BASIS_WIDTH)))[0].astype(np.float32)
    codec, tokens = TokenCodec(384, basis), unit(draw.normal(size=(512, 384)).astype(np.float32))
    assert len(codec.compress(tokens[:158])) == 8 + 384 + 158 * 33
    assert MOST_BYTES - 33 < len(codec.compress(tokens)) <= MOST_BYTES
    assert codec.compress(tokens[:0]) == b""


def by_hand(query: np.ndarray, tokens: np.ndarray, counts: np.ndarray, scorer: StoredTokenScorer) -> float:
    repeated = np.repeat(tokens, counts.astype(int), axis=0)
    if scorer.importance is None:
        return float(np.maximum(scorer.weight @ attend(query, repeated, scorer.sharpness), 0) @ query)
    shares = softmax(query @ scorer.importance)
    values = [row @ scorer.weight @ attend(row, repeated, scorer.sharpness) for row in query]
    return float(np.dot(shares, values))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), count=st.integers(1, 12), most=st.sampled_from([3, 20, 60]), by_token=st.booleans())
def test_scores_are_those_of_the_vectors_that_are_kept(seed: int, count: int, most: int, by_token: bool) -> None:
    draw = np.random.default_rng(seed)
    weight = draw.normal(size=(DIMENSION, DIMENSION)).astype(np.float32)
    scorer = StoredTokenScorer(weight, draw.normal(size=DIMENSION).astype(np.float32) if by_token else None, 5.0)
    query = unit(draw.normal(size=(3, DIMENSION)).astype(np.float32))
    query = query if by_token else query[0]
    for codec in codecs():
        codec._most = 15  # so that some vectors stand for several tokens
        contents = [codec.compress(item) for item in passages(count, seed, most=most)]
        expected = [by_hand(query, *codec.decompress(content), scorer) for content in contents]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("encoders.tokens.scoring._BLOCK", 30)
            assert scorer.score(query, codec.read(contents), codec) == pytest.approx(expected, abs=2e-4, rel=1e-3)


def test_other_bytes_are_damage() -> None:
    codec, other = codecs()
    content = codec.compress(passages(1)[0])
    for wrong in (b"", b"x", content[:-1], content + b"\0", other.compress(passages(1)[0])):
        assert not codec.is_valid(wrong)
        with pytest.raises(Damaged, match="stored token vectors have"):
            codec.read([content, wrong])


def test_equal_tokens_and_zeros_are_no_problem() -> None:
    for codec in codecs():
        for tokens in (np.ones((5, DIMENSION), np.float32), np.zeros((3, DIMENSION), np.float32)):
            found, _ = codec.decompress(codec.compress(tokens))
            assert np.allclose(found, tokens, atol=1e-3)
