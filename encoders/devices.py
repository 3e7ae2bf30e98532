"""Choose where a model runs: on the GPU if ONNX Runtime can use one, otherwise on the CPU; and how many cores that has."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from mappings.errors import ModelError

CPU: Final = "CPUExecutionProvider"
CUDA: Final = "CUDAExecutionProvider"
DEVICES: Final = ("", "cpu", "cuda")
VNNI: Final = frozenset({"avx512_vnni", "avx_vnni"})
"""The names of one instruction set in `/proc/cpuinfo`, for vectors of 512 bits and for shorter ones."""

_log = logging.getLogger(__name__)


def cores() -> int:
    """The number of cores available to this process; in a container it can be less than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def processor_fields() -> Mapping[str, str]:
    """What Linux says of the first processor, such as `model name` and `flags`; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def has_vnni(fields: Mapping[str, str]) -> bool:
    """Whether the processor adds products of unsigned and signed int8 in 32 bits; others with AVX2 cut sums off at 16."""
    return not VNNI.isdisjoint(fields.get("flags", "").split())


def providers(device: str, available: Sequence[str]) -> list[str]:
    """The execution providers to request. Raises `ModelError` for an unknown device, or for 'cuda' if it is unavailable."""
    if device not in DEVICES:
        raise ModelError(
            f"the device {device!r} is unknown; known are 'cpu', 'cuda' and '' (automatic)", field="device"
        )
    if device == "cuda" and CUDA not in available:
        raise ModelError(
            f"the device 'cuda' was requested, but this ONNX Runtime has only {', '.join(available)}: "
            "install onnxruntime-gpu instead of onnxruntime",
            field="device",
        )
    return [CUDA, CPU] if CUDA in available and device != "cpu" else [CPU]


def actual_device(device: str, requested: Sequence[str], actual: Sequence[str]) -> str:
    """The device that a session really runs on, 'cpu' or 'cuda'.

    ONNX Runtime silently falls back to the CPU if a driver or a library is missing, so the requested providers prove
    nothing. Raises `ModelError` if `device` is 'cuda' and the session does not run there.
    """
    on_gpu = bool(actual) and actual[0] == CUDA
    if requested[0] == CUDA and not on_gpu:
        message = (
            f"ONNX Runtime fell back to {', '.join(actual) or 'nothing'}: its CUDA libraries or the driver are missing"
        )
        if device == "cuda":
            raise ModelError(f"the device 'cuda' was requested, but {message}", field="device")
        _log.warning("%s; the model runs on the CPU", message)
    return "cuda" if on_gpu else "cpu"
