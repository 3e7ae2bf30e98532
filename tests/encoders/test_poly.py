"""The poly-encoder at run time, on an artifact written by hand: no torch."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tiny import WIDTH, sentences, write_artifact

from encoders.artifact import BASIS, QUERIES, SCORER, Artifact, seal
from encoders.poly import PolyEncoder, PolyReranker, attend
from encoders.runtime import BiEncoder
from mappings.errors import ModelError

TEXTS = sentences(7, seed=2)


def poly(folder: Path, separate: bool = False, codes: str = "", basis: int = 0) -> Artifact:
    """The tiny bi-encoder as a poly-encoder's towers, with a random scorer; without `codes` as of before there were any.

    `basis` is how many directions it has for compressed token vectors; 0 as of before.
    """
    manifest = dict(write_artifact(folder).manifest)
    rows = WIDTH + (codes == "tokens")
    np.save(folder / SCORER, np.random.default_rng(5).normal(size=(rows, WIDTH)).astype(np.float32))
    manifest |= {"kind": "poly-encoder", "sharpness": 2.0} | ({"codes": codes} if codes else {})
    if basis:
        np.save(folder / BASIS, np.linalg.qr(np.random.default_rng(6).normal(size=(WIDTH, basis)))[0].astype("f4"))
    if separate:
        manifest[QUERIES] = write_artifact(folder / QUERIES).fingerprint
    return seal(folder, manifest)


def by_hand(query: np.ndarray, tokens: np.ndarray, weight: np.ndarray) -> float:
    products = [2.0 * float(token @ query) for token in tokens]
    total = sum(map(math.exp, products))
    y = sum(math.exp(product) / total * token for product, token in zip(products, tokens, strict=True))
    return float(np.maximum(weight @ y, 0) @ query)


@pytest.mark.parametrize("separate", [False, True])
def test_scores_are_the_papers_formula(tmp_path: Path, separate: bool) -> None:
    artifact = poly(tmp_path / "poly", separate)
    encoder = PolyEncoder(artifact, threads=2, form="fp32")
    query, tokens = encoder.encode_query("heart pain"), encoder.encode_passages(TEXTS)
    assert [item.shape[1] for item in tokens] == [WIDTH] * 7
    assert len({len(item) for item in tokens}) > 1
    assert np.allclose(np.linalg.norm(np.concatenate(tokens), axis=1), 1, atol=1e-6)
    weight = np.load(artifact.folder / SCORER)
    expected = [by_hand(query, item, weight) for item in tokens]
    assert encoder.score(query, tokens) == pytest.approx(expected, abs=1e-5)
    assert encoder.score(query, []).shape == (0,)


@pytest.mark.parametrize("separate", [False, True])
def test_each_token_of_a_query_may_attend(tmp_path: Path, separate: bool) -> None:
    artifact = poly(tmp_path / "poly", separate, "tokens")
    encoder = PolyEncoder(artifact, threads=2, form="fp32")
    query, tokens = encoder.encode_query("heart pain"), encoder.encode_passages(TEXTS)
    assert query.shape == (encoder.encode_query("heart").shape[0] + 1, WIDTH)
    scorer = np.load(artifact.folder / SCORER)
    shares = [math.exp(float(token @ scorer[WIDTH])) for token in query]
    expected = []
    for own in tokens:
        total = 0.0
        for share, token in zip(shares, query, strict=True):
            products = [math.exp(2.0 * float(item @ token)) for item in own]
            y = sum(product / sum(products) * item for product, item in zip(products, own, strict=True))
            total += share / sum(shares) * float(token @ scorer[:WIDTH] @ y)
        expected.append(total)
    assert encoder.score(query, tokens) == pytest.approx(expected, abs=1e-4)
    compressed = encoder.score_compressed(query, encoder.compress_passages(TEXTS))
    assert compressed == pytest.approx(expected, abs=0.5 * np.ptp(expected))
    assert np.array_equal(PolyReranker(encoder).score("heart pain", TEXTS), compressed)
    assert artifact.fingerprint != poly(tmp_path / "other", separate).fingerprint


def test_a_tower_for_queries_reads_them(tmp_path: Path) -> None:
    artifact = poly(tmp_path / "poly", separate=True)
    queries = BiEncoder(artifact.queries(), form="fp32").encode_queries(TEXTS)
    assert np.array_equal(PolyEncoder(artifact, form="fp32").encode_queries(TEXTS), queries)


def test_as_a_reranker_it_scores_alike_whatever_it_kept(tmp_path: Path) -> None:
    encoder = PolyEncoder(poly(tmp_path / "poly"), form="fp32")
    expected = encoder.score_compressed(encoder.encode_query("heart"), encoder.compress_passages(TEXTS))
    for kept in (0, 3, 100):
        reranker = PolyReranker(encoder, kept)
        for texts in (TEXTS, TEXTS[::-1], TEXTS + TEXTS[:2]):
            wanted = [expected[TEXTS.index(text)] for text in texts]
            assert reranker.score("heart", texts) == pytest.approx(wanted, abs=1e-4)
        assert len(reranker._kept) == min(kept, len(set(TEXTS)))
    assert reranker.score("heart", []).shape == (0,)
    assert reranker.fingerprint == encoder.fingerprint


@pytest.mark.parametrize("codes", ["vector", "tokens"])
def test_stored_token_vectors_need_no_model(tmp_path: Path, codes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = PolyEncoder(poly(tmp_path / "poly", codes=codes, basis=16), form="fp32")
    expected = PolyReranker(encoder).score("heart", TEXTS)
    contents = encoder.compress_passages(TEXTS)
    read: list[str] = []
    encode = encoder.encode_passages
    monkeypatch.setattr(encoder, "encode_passages", lambda texts: read.extend(texts) or encode(texts))
    stored = dict(zip(TEXTS, contents, strict=True))
    for _ in range(2):
        assert PolyReranker(encoder).over(stored).score("heart", TEXTS) == pytest.approx(expected, abs=1e-5)
    assert read == []
    # A missing, an empty and a damaged one are computed again, and nothing else.
    broken = {**stored, TEXTS[1]: b"", TEXTS[4]: contents[4][:-1]}
    del broken[TEXTS[0]]
    assert PolyReranker(encoder).over(broken).score("heart", TEXTS) == pytest.approx(expected, abs=1e-4)
    assert read == [TEXTS[0], TEXTS[1], TEXTS[4]]


def test_the_basis_is_part_of_the_model(tmp_path: Path) -> None:
    before, basis = (
        PolyEncoder(poly(tmp_path / "a"), form="fp32"),
        PolyEncoder(poly(tmp_path / "b", basis=8), form="fp32"),
    )
    assert before.fingerprint != basis.fingerprint
    assert before.format.codec == f"mean-{WIDTH}x1"
    assert basis.format.codec.startswith("mean-8x2-")
    assert not basis.can_read(before.compress_passages(["heart"])[0])


def test_large_products_do_not_overflow() -> None:
    tokens = np.array([[1e4, 0], [0, 1e4]], dtype=np.float32)
    assert np.array_equal(attend(np.array([1, 0], dtype=np.float32), tokens), tokens[0])


def test_the_fingerprint_follows_the_scorer_and_the_queries_tower(tmp_path: Path) -> None:
    shared, separate = poly(tmp_path / "a"), poly(tmp_path / "b", separate=True)
    assert shared.fingerprint != separate.fingerprint
    np.save(shared.folder / SCORER, np.zeros((WIDTH, WIDTH), dtype=np.float32))
    with pytest.raises(ModelError, match=r"scorer\.npy was altered"):
        Artifact.open(shared.folder)
    path = separate.folder / "model.json"
    manifest = json.loads(path.read_text())
    seal(separate.folder, {**manifest, QUERIES: "0" * 64})
    with pytest.raises(ModelError, match="is not the model that"):
        PolyEncoder(Artifact.open(separate.folder))


def test_a_poly_encoder_is_not_taken_for_another_kind(tmp_path: Path, bi: Artifact) -> None:
    with pytest.raises(ModelError, match="is a poly-encoder; a bi-encoder is needed here"):
        BiEncoder(poly(tmp_path / "poly"))
    with pytest.raises(ModelError, match="is a bi-encoder; a poly-encoder is needed here"):
        PolyEncoder(bi)
