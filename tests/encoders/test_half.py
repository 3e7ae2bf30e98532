"""The fp16 form: the same outputs as the graph it is made from, by the operators that a GPU is fast with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the train extra is not installed")
pytest.importorskip("torch", reason="the train extra is not installed")

from tiny_torch import CARD, FAMILIES, PAIRS, checkpoint  # noqa: E402

from encoders.artifact import HALF, WEIGHTS, Artifact, Reading  # noqa: E402
from encoders.onnx import ort  # noqa: E402
from encoders.runtime import BiEncoder, CrossEncoder  # noqa: E402
from encoders.text import MASK_INDEX, mask_index  # noqa: E402
from encoders.training.export import compact, gate, graphs, half  # noqa: E402
from encoders.training.export.writer import write_artifact  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # torch's exporter and transformers warn about their own internals
]
IDS = np.array([[1, 30, 31, 32, 33, 34, 2], [1, 40, 41, 2, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0]])
INPUTS = {"input_ids": IDS, "attention_mask": np.sign(IDS), "token_type_ids": (IDS > 32).astype(np.int64)}


def outputs(model: Any, starts: bool = True) -> np.ndarray:
    """Of texts of 7, 4 and 2 tokens in one batch."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = {item.name for item in session.get_inputs()}
    given = INPUTS | {MASK_INDEX: mask_index(INPUTS["attention_mask"], starts)}
    return np.asarray(session.run(None, {name: array for name, array in given.items() if name in wanted})[0])


def copied(model: Any) -> Any:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


@pytest.fixture(params=FAMILIES)
def fused(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return graphs.build_graph(checkpoint(request.param, True, 5).model, tmp_path)


@pytest.mark.parametrize("starts", [True, False])
def test_a_mask_of_lengths_says_the_same_with_starts_and_without(fused: Any, starts: bool) -> None:
    changed = half.use_mask_index(copied(fused))
    attentions = [node for node in changed.graph.node if node.op_type == "Attention"]
    assert [node.input[3] for node in attentions] == [MASK_INDEX] * 2
    assert np.abs(outputs(changed, starts) - outputs(fused)).max() < 1e-5


def test_the_first_token_alone_gives_the_same_score(fused: Any) -> None:
    changed = half.keep_first_token(copied(fused))
    early = [node for node in changed.graph.node if any(name.endswith(".first") for name in node.output)]
    # Of the last layer: two gathers, three products, two norms and the activation.
    assert sorted(node.op_type for node in early) == sorted(["Gather"] * 2 + ["MatMul"] * 3 + ["SkipLayerNormalization"] * 2 + ["BiasGelu"])  # fmt: skip
    assert len([node for node in changed.graph.node if node.op_type == "MatMul"]) == 6
    assert np.abs(outputs(changed) - outputs(fused)).max() < 1e-5


def test_hidden_states_are_all_kept(tmp_path: Path) -> None:
    fused = graphs.build_graph(checkpoint("Bert", False).model, tmp_path)
    assert half.keep_first_token(copied(fused)) == fused


def test_half_precision_changes_little_and_norms_stay_fused(fused: Any) -> None:
    changed = half.halve(fused)
    assert outputs(changed).dtype == np.float16
    assert np.abs(outputs(changed).astype(np.float32) - outputs(fused)).max() < 0.02
    assert len([node for node in changed.graph.node if node.op_type == "SkipLayerNormalization"]) == 4
    assert not [item.name for item in changed.graph.initializer if item.data_type == onnx.TensorProto.FLOAT]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["bi-encoder", "cross-encoder"])
def test_all_forms_read_the_same_weights(
    family: str, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "SMALL", 2048)  # so that the tiny products are stored as int8, smoothing and all
    monkeypatch.setattr(gate, "RANKS", 0.97)  # with nothing left in fp32, two of 24 alike texts may change places
    head = kind == "cross-encoder"
    reading = Reading("none", False, 32, 64) if head else Reading(passage_tokens=64)
    artifact = write_artifact(checkpoint(family, head, 5), kind, tmp_path / "tiny", CARD, PAIRS, reading)
    assert set(artifact.manifest["gate"]["forms"]) == {"fp32", "int8", HALF}
    assert np.abs(scores(artifact, HALF) - scores(artifact, "fp32")).max() < 0.02
    assert stored(artifact, HALF) == stored(artifact, "fp32")


def test_the_stored_weights_are_the_same_without_it(
    fused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "SMALL", 256)
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    plain = graphs.unfuse_norms(fused)
    compact.write_forms(plain, fused, tmp_path / "with")
    quantised = compact._quantise_weights(plain)
    two = {"fp32": compact._make_fp32(plain, quantised), "int8": compact._make_int8(plain, quantised)}
    compact._store_tensors(two, tmp_path / "without")
    assert (tmp_path / "with" / WEIGHTS).read_bytes() == (tmp_path / "without" / WEIGHTS).read_bytes()


def scores(artifact: Artifact, form: str) -> np.ndarray:
    texts = [passage for _, passage in PAIRS]
    if artifact.kind == "bi-encoder":
        return BiEncoder(artifact, form=form).encode_passages(texts)
    return CrossEncoder(artifact, form=form).score(PAIRS[0][0], texts)


def stored(artifact: Artifact, form: str) -> dict[str, str]:
    """Where the int8 values of each weight lie in the weights' file."""
    graph = onnx.load(artifact.form_path(form), load_external_data=False).graph
    places = {
        item.name: {entry.key: entry.value for entry in item.external_data}
        for item in graph.initializer
        if item.name.endswith(".int8")
    }
    assert {place["location"] for place in places.values()} == {WEIGHTS}
    return {name: place["offset"] for name, place in places.items()}
