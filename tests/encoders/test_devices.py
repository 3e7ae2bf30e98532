import logging

import onnxruntime as ort
import pytest

from encoders.artifact import Artifact
from encoders.devices import CPU, CUDA, providers, settled
from encoders.runtime import BiEncoder
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
    assert settled("cuda", [CUDA, CPU], [CUDA, CPU]) == "cuda"
    assert settled("", [CPU], [CPU]) == "cpu"
    with pytest.raises(ModelError, match="fell back to CPUExecutionProvider"):
        settled("cuda", [CUDA, CPU], [CPU])
    with caplog.at_level(logging.WARNING):
        assert settled("", [CUDA, CPU], [CPU]) == "cpu"
    assert "the model runs on the processor" in caplog.text


@pytest.mark.skipif(CUDA in ort.get_available_providers(), reason="this machine has a GPU")
def test_a_model_refuses_a_gpu_that_is_not_there(bi: Artifact):
    with pytest.raises(ModelError, match="the device 'cuda' is asked for"):
        BiEncoder(bi, device="cuda")
    assert BiEncoder(bi, device="cpu").model.device == "cpu"
