"""Where a model runs: on the GPU when ONNX Runtime has one for it, or on the processor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from mappings.errors import ModelError

CPU: Final = "CPUExecutionProvider"
CUDA: Final = "CUDAExecutionProvider"
DEVICES: Final = ("", "cpu", "cuda")

_log = logging.getLogger(__name__)


def providers(device: str, available: Sequence[str]) -> list[str]:
    """The execution providers to ask for. Raises `ModelError` for an unknown device, or for 'cuda' where there is none."""
    if device not in DEVICES:
        raise ModelError(
            f"the device {device!r} is unknown; known are 'cpu', 'cuda' and '' (automatic)", field="device"
        )
    if device == "cuda" and CUDA not in available:
        raise ModelError(
            f"the device 'cuda' is asked for, and this ONNX Runtime has only {', '.join(available)}: "
            "install onnxruntime-gpu in the place of onnxruntime",
            field="device",
        )
    return [CUDA, CPU] if CUDA in available and device != "cpu" else [CPU]


def settled(device: str, asked: Sequence[str], actual: Sequence[str]) -> str:
    """The device that a session really runs on, 'cpu' or 'cuda'.

    ONNX Runtime falls back to the processor in silence when a driver or a library is missing, so what it was asked
    for proves nothing. Raises `ModelError` when the GPU was demanded.
    """
    on_gpu = bool(actual) and actual[0] == CUDA
    if asked[0] == CUDA and not on_gpu:
        message = (
            f"ONNX Runtime fell back to {', '.join(actual) or 'nothing'}: its CUDA libraries or the driver are missing"
        )
        if device == "cuda":
            raise ModelError(f"the device 'cuda' is asked for, and {message}", field="device")
        _log.warning("%s; the model runs on the processor", message)
    return "cuda" if on_gpu else "cpu"
