import logging
import shutil
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from onnx_bytes import model, node, tensor, value
from tiny import sentences, write_artifact

from encoders.artifact import Artifact, seal
from encoders.devices import CPU, CUDA, actual_device, has_vnni, providers
from encoders.onnx import ort
from encoders.runtime import GPU_BATCH_TOKENS, GPU_RUNS, BiEncoder, open_session
from mappings.errors import ModelError

BOTH = ["TensorrtExecutionProvider", CUDA, CPU]


@pytest.mark.parametrize(
    ("device", "available", "asked"),
    [("", [CPU], [CPU]), ("", BOTH, [CUDA, CPU]), ("cpu", BOTH, [CPU]), ("cuda", BOTH, [CUDA, CPU])],
)
def test_the_gpu_is_asked_for_where_there_is_one(device, available, asked):
    assert providers(device, available) == asked


def test_a_device_that_is_not_there_is_said():
    with pytest.raises(ModelError, match="only AzureExecutionProvider, CPUExecutionProvider: install onnxruntime-gpu"):
        providers("cuda", ["AzureExecutionProvider", CPU])
    with pytest.raises(ModelError, match="the device 'tpu' is unknown"):
        providers("tpu", BOTH)


@pytest.mark.parametrize(
    ("flags", "has"),
    [("fpu avx2 avx512f", False), ("avx2 avx512_vnni", True), ("avx2 avx_vnni fma", True), ("avx_vnni_int8", False)],
)
def test_instructions_for_int8_are_read_from_the_processor(flags, has):
    assert has_vnni({"model name": "any", "flags": flags}) == has
    assert not has_vnni({})


@pytest.mark.parametrize("vnni", [None, False])
def test_products_of_int8_are_exact_on_this_machine(tmp_path, monkeypatch, vnni):
    """Sums beyond 16 bits, by the kind of products for this processor and by the one for processors without VNNI."""
    if vnni is not None:
        monkeypatch.setattr("encoders.devices.has_vnni", lambda fields: vnni)
    weights = np.random.default_rng(0).integers(-128, 128, (192, 48), dtype=np.int8)
    weights[:, :2] = (127, -128)
    file = tmp_path / "product.onnx"
    product = node("MatMulInteger", ["a", "w"], "y")
    file.write_bytes(
        model([product], [tensor("w", weights)], [value("a", "uint8", ["n", "k"])], value("y", "int32", ["n", "m"]))
    )
    for rows in (1, 7, 64):
        activations = np.full((rows, 192), 255, dtype=np.uint8)
        (found,) = open_session(file).run(None, {"a": activations})
        assert np.array_equal(found, activations.astype(np.int64) @ weights.astype(np.int64))


def test_a_silent_fallback_is_refused_or_told(caplog):
    assert actual_device("cuda", [CUDA, CPU], [CUDA, CPU]) == "cuda"
    assert actual_device("", [CPU], [CPU]) == "cpu"
    with pytest.raises(ModelError, match="fell back to CPUExecutionProvider"):
        actual_device("cuda", [CUDA, CPU], [CPU])
    with caplog.at_level(logging.WARNING):
        assert actual_device("", [CUDA, CPU], [CPU]) == "cpu"
    assert "the model runs on the CPU" in caplog.text


@pytest.mark.skipif(CUDA in ort.get_available_providers(), reason="this machine has a GPU")
def test_a_model_refuses_a_gpu_that_is_not_there(bi: Artifact):
    with pytest.raises(ModelError, match="the device 'cuda' was requested"):
        BiEncoder(bi, device="cuda")
    assert BiEncoder(bi, device="cpu").model.device == "cpu"


@pytest.fixture
def with_half(tmp_path: Path) -> Artifact:
    """A model with an fp16 form, which here is fp32's graph once more."""
    bi = write_artifact(tmp_path / "half")
    forms = dict(bi.forms) | {"fp16": "fp16.onnx"}
    shutil.copy(bi.folder / "fp32.onnx", bi.folder / "fp16.onnx")
    return seal(bi.folder, dict(bi.manifest) | {"forms": forms})


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_model_that_falls_back_takes_a_form_for_the_processor(with_half: Artifact, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, CPU])
    model = BiEncoder(with_half).model
    assert (model.device, model.budget >= 1) == ("cpu", True)
    assert model.form in ("fp32", "int8")
    assert BiEncoder(with_half, form="fp16").form == "fp16"
    with pytest.raises(ModelError, match="fell back to"):
        BiEncoder(with_half, device="cuda")


def test_on_a_processor_half_precision_is_not_raced(with_half: Artifact):
    assert with_half.processor_forms == ["fp32", "int8"]
    assert BiEncoder(with_half).form in ("fp32", "int8")


class OnGpu(ort.InferenceSession):
    """A session that says it runs on a GPU."""

    opened: ClassVar[list] = []

    def __init__(self, path, options, providers, disabled_optimizers):
        self.opened.append((path, providers, disabled_optimizers))
        super().__init__(path, options, providers=[CPU])

    def get_providers(self):
        return [CUDA, CPU]


def test_on_a_gpu_the_fp16_form_runs_with_fused_norms(with_half: Artifact, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(ort, "InferenceSession", OnGpu)
    encoder = BiEncoder(with_half)
    model = encoder.model
    assert (model.form, model.device, model.threads, model.budget) == ("fp16", "cuda", GPU_RUNS, GPU_BATCH_TOKENS)
    assert OnGpu.opened == [(str(with_half.folder / "fp16.onnx"), [CUDA, CPU], [])]
    texts = sentences(40)
    model.budget = 60  # more than one batch, so that two run at once
    assert np.array_equal(
        BiEncoder(with_half, form="fp32", device="cpu").encode_passages(texts), encoder.encode_passages(texts)
    )
