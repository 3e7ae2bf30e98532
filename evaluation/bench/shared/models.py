"""The models that benches measure, and the report of a bench that compares one with its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from encoders.artifact import SHIPPED, Artifact, find
from encoders.onnx import ort
from encoders.text import ModelTokenizer
from evaluation.bench.shared.figures import Report, bench_report
from mappings.errors import InvalidInput
from search.settings import Settings

ENCODER: Final = "medley-biencoder"
RERANKER: Final = "medley-crossencoder"
REFERENCE: Final = "sentence_transformers"
"""The reference's name among the runs and the figures."""


def model_folders(settings: Settings) -> list[Path]:
    """The folders that models are looked up in, in order."""
    return [folder for folder in (settings.models, SHIPPED) if folder is not None]


def open_artifact(settings: Settings, name: str, kind: str) -> Artifact:
    """The verified directory of a model. Raises `NotFound`, `InvalidInput` for one of another kind."""
    artifact = Artifact.open(find(name, model_folders(settings)))
    if artifact.kind != kind:
        raise InvalidInput(f"this bench measures a {kind}; {name} is a {artifact.kind}", field="model")
    return artifact


def speed_figures(seconds: Mapping[str, float], chosen: str, texts: int) -> dict[str, float]:
    """Texts per second of each run, and `speed_ratio` of the `chosen` numeric form to the reference."""
    rates = {f"{name}_per_second": texts / value for name, value in seconds.items()}
    return {"speed_ratio": seconds[REFERENCE] / seconds[chosen], **rates}


def model_report(
    name: str, artifact: Artifact, form: str, pairs: Sequence[tuple[str, str]], figures: Mapping[str, float]
) -> Report:
    """The report of a bench over `pairs` of query and passage, with their lengths in tokens and the form's export gate."""
    tokenizer = ModelTokenizer(Path(artifact.folder) / "tokenizer.json", artifact.reading)
    lengths = [len(tokens) for tokens in tokenizer.tokenize_inputs(artifact.kind, pairs)]
    gate = artifact.manifest.get("gate", {}).get("forms", {}).get(form, {})
    whole = {**figures, "tokens_mean": float(np.mean(lengths)), "tokens_longest": float(max(lengths))}
    if "spearman" in gate:
        whole["gate_spearman"] = gate["spearman"]
    return bench_report(name, whole, {"model": artifact.name, "form": form, "onnxruntime": ort.__version__})
