"""The runtime on models small enough to compute by hand, and on the shipped ones where they are."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import VOCABULARY, WIDTH, sentences, write_artifact

from encoders import runtime
from encoders.artifact import SHIPPED, TOKENIZER, WEIGHTS, Artifact, Reading, find, seal
from encoders.runtime import BiEncoder, CrossEncoder
from mappings.errors import ModelError
from search.protocols import Encoder, Reranker

TEXTS = ["aspirin fever", "", "stroke of the heart in patients with renal risk", "fever", "\ud800\x00 fever"]


def table(artifact: Artifact, width: int) -> np.ndarray:
    return np.frombuffer((artifact.folder / WEIGHTS).read_bytes(), dtype=np.float32).reshape(-1, width)


def test_vectors_are_the_mean_of_the_rows_of_the_words(bi: Artifact) -> None:
    encoder = BiEncoder(bi, form="fp32")
    assert isinstance(encoder, Encoder)
    rows = table(bi, WIDTH)[[VOCABULARY[word] for word in ("[CLS]", "aspirin", "fever", "[SEP]")]].mean(axis=0)
    vectors = encoder.encode_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), WIDTH)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors[0], rows / np.linalg.norm(rows), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[3], vectors[4])


def test_scores_are_logits_in_input_order_and_know_the_segments(cross: Artifact) -> None:
    encoder = CrossEncoder(cross, form="fp32")
    assert isinstance(encoder, Reranker)
    values = table(cross, 1)[:, 0]
    scores = encoder.score("stroke", TEXTS)
    query = values[VOCABULARY["[CLS]"]] + values[VOCABULARY["stroke"]] + values[VOCABULARY["[SEP]"]]
    words = [VOCABULARY[word] for word in ("aspirin", "fever", "[SEP]")]
    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert scores[0] == pytest.approx(query + 2 * values[words].sum(), abs=1e-5)
    assert scores[3] == scores[4]


def test_nothing_in_nothing_out(bi: Artifact, cross: Artifact) -> None:
    assert BiEncoder(bi).encode_queries([]).shape == (0, WIDTH)
    assert CrossEncoder(cross).score("fever", []).shape == (0,)


@given(st.permutations(range(12)), st.integers(1, 12), st.integers(1, 3))
def test_an_answer_does_not_depend_on_its_batch_mates(order: list[int], count: int, threads: int) -> None:
    encoder, texts = _shared(threads), sentences(12)
    alone = np.concatenate([encoder.score("renal risk", [text]) for text in texts])
    chosen = order[:count]
    together = encoder.score("renal risk", [texts[index] for index in chosen])
    assert np.allclose(together, alone[chosen], atol=1e-5)


def test_large_batches_are_split_by_their_budget(bi: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sentences(40)
    whole = BiEncoder(bi, form="fp32").encode_passages(texts)
    monkeypatch.setattr(runtime, "BATCH_TOKENS", 40)
    split = BiEncoder(bi, threads=3, form="fp32").encode_passages(texts)
    assert np.allclose(whole, split, atol=1e-6)


def test_threads_may_share_a_model(cross: Artifact) -> None:
    encoder, texts = CrossEncoder(cross, threads=2), sentences(20)
    expected = encoder.score("fever", texts)
    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(lambda _: encoder.score("fever", texts), range(40)):
            assert np.allclose(scores, expected, atol=1e-5)


def test_a_first_token_model_without_normalisation(tmp_path: Path) -> None:
    artifact = write_artifact(tmp_path / "cls", reading=Reading("cls", False, 16, 32))
    vector = BiEncoder(artifact).encode_queries(["fever"])[0]
    assert np.allclose(vector, table(artifact, WIDTH)[VOCABULARY["[CLS]"]])


def test_the_wrong_kind_form_or_threads_is_said(bi: Artifact, cross: Artifact) -> None:
    with pytest.raises(ModelError, match="tiny-cross is a cross-encoder; a bi-encoder is needed"):
        BiEncoder(cross)
    with pytest.raises(ModelError, match="tiny-bi is a bi-encoder; a cross-encoder is needed"):
        CrossEncoder(bi)
    with pytest.raises(ModelError, match="has no numeric form 'bf16'"):
        BiEncoder(bi, form="bf16")
    with pytest.raises(ModelError, match="threads is 0"):
        BiEncoder(bi, threads=0)


def test_a_graph_that_does_not_run_is_named(bi: Artifact) -> None:
    (bi.folder / "fp32.onnx").write_bytes(b"no graph")
    again = seal(bi.folder, {key: value for key, value in bi.manifest.items() if key not in ("files", "fingerprint")})
    with pytest.raises(ModelError, match=r"fp32\.onnx can't be run by ONNX Runtime"):
        BiEncoder(again, form="fp32")
    (bi.folder / TOKENIZER).write_text("{}")
    broken = seal(bi.folder, {key: value for key, value in bi.manifest.items() if key not in ("files", "fingerprint")})
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a valid tokenizer file"):
        BiEncoder(broken, form="int8")


def test_serving_never_loads_torch() -> None:
    code = "import sys, encoders.runtime, encoders.cache, encoders.hashing; print({'torch','transformers','onnx'} & {*sys.modules})"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "set()"


def _shipped(kind: str) -> Artifact:
    for path in sorted(SHIPPED.glob("*/model.json")):
        artifact = Artifact.open(path.parent)
        if artifact.kind == kind:
            return artifact
    pytest.skip(f"no {kind} is shipped yet")


def test_the_shipped_bi_encoder_knows_meanings_and_is_quick() -> None:
    encoder = BiEncoder(_shipped("bi-encoder"), threads=1, form="int8")
    query = encoder.encode_queries(["does aspirin prevent strokes?"])[0]
    near, far = encoder.encode_passages(
        ["Acetylsalicylic acid reduced cerebrovascular events.", "The roof of the church was restored in 1890."]
    )
    assert query @ near > query @ far + 0.2
    times = []
    for number in range(30):
        start = time.thread_time()
        encoder.encode_queries([f"does aspirin prevent strokes in group {number}?"])
        times.append(time.thread_time() - start)
    assert sorted(times)[15] < 0.02


def test_the_shipped_cross_encoder_knows_meanings_and_ignores_company() -> None:
    encoder = CrossEncoder(_shipped("cross-encoder"), form="int8")
    texts = [
        "In a randomised trial, low-dose aspirin prevented one in five recurrent strokes.",
        "The roof of the church was restored in 1890 with slate from Wales.",
        "Aspirin tablets are white.",
    ]
    scores = encoder.score("does aspirin prevent strokes?", texts)
    assert scores.argmax() == 0
    assert scores.argmin() == 1
    # In int8 each text is quantised by itself: the same score, to the bit, in any company.
    assert np.array_equal(scores[:1], encoder.score("does aspirin prevent strokes?", texts[:1]))


def test_shipped_models_are_found_by_name() -> None:
    name = _shipped("bi-encoder").name
    assert find(name, [SHIPPED]) == SHIPPED / name


_ENCODERS: dict[int, CrossEncoder] = {}


def _shared(threads: int) -> CrossEncoder:
    if threads not in _ENCODERS:
        import tempfile

        folder = Path(tempfile.mkdtemp()) / "shared"
        _ENCODERS[threads] = CrossEncoder(write_artifact(folder, "cross-encoder"), threads, "fp32")
    return _ENCODERS[threads]
