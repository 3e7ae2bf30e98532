import logging
import shutil
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tiny import sentences, write_artifact

from encoders.artifact import Artifact, seal
from encoders.devices import CPU, CUDA, actual_device, providers
from encoders.onnx import ort
from encoders.runtime import GPU_BATCH_TOKENS, GPU_RUNS, BiEncoder
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
