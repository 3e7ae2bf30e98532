"""The one import of onnxruntime: it reports its use to its maker unless it is told not to before it is imported."""

from __future__ import annotations

import os

# By default it keeps a lasting id of the machine in the home, and sends paths and timings. Nothing here may report anything.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort

__all__ = ["ort"]
