"""Models of more than one graph: a tower for queries beside the passages', and a poly-encoder's scorer beside both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoders.artifact import QUERIES, SCORER, Artifact, seal
from encoders.poly import PolyEncoder
from encoders.runtime import BiEncoder
from encoders.text import Reader, Tokens, pad
from encoders.training import gate
from encoders.training.architectures.bi_encoder import Towers
from encoders.training.architectures.families import inputs_of
from encoders.training.architectures.poly_encoder import PolyEncoder as TorchPolyEncoder
from encoders.training.checkpoint import Checkpoint
from mappings.errors import ModelError

COMPARED = 24
"""How many queries are compared with as many passages, each with each."""


def write(
    ready: Checkpoint,
    write_graph: Callable[..., Artifact],
    folder: Path,
    pairs: Sequence[tuple[str, str]],
    judged: Sequence[gate.Judged],
) -> None:
    """Write the artifact of a bi-encoder or poly-encoder to `folder`, each tower through the gate, then the whole.

    Raises `ModelError` when the whole does not rank as torch does.
    """
    model = ready.model
    whole = model.queries is None and not isinstance(model, TorchPolyEncoder)
    passages = Checkpoint(model.passages, ready.tokenizer, ready.architecture)
    manifest = dict(write_graph(passages, "bi-encoder", folder, judged=judged if whole else ()).manifest)
    if whole:
        return
    if model.queries is not None:
        queries = Checkpoint(model.queries, ready.tokenizer)
        manifest[QUERIES] = write_graph(queries, "bi-encoder", folder / QUERIES).fingerprint
    if isinstance(model, TorchPolyEncoder):
        np.save(folder / SCORER, model.head.weight.detach().float().cpu().numpy())
        manifest |= {"kind": "poly-encoder", "sharpness": model.head.sharpness}
    artifact = seal(folder, manifest)
    agreement = agreements(model, artifact, pairs)
    if agreement["fp32"] < gate.RANKS:
        raise ModelError(
            f"the exported towers rank unlike the checkpoint: {agreement}; Spearman must reach {gate.RANKS}",
            field="checkpoint",
        )
    seal(folder, {**manifest, "gate": {**manifest["gate"], "whole": agreement}})


def agreements(model: Towers, artifact: Artifact, pairs: Sequence[tuple[str, str]]) -> Mapping[str, float]:
    """Spearman between torch's scores and each form's, over some queries and passages, each with each."""
    queries, passages = ([*islice(texts, COMPARED)] for texts in zip(*pairs, strict=True))
    expected = _torch(model, artifact, queries, passages)
    return {
        form: round(gate.spearman(expected.ravel(), _runtime(artifact, form, queries, passages).ravel()), 6)
        for form in artifact.forms
    }


def _torch(model: Towers, artifact: Artifact, queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    reader = Reader(artifact.folder / "tokenizer.json", artifact.reading)
    asked, answers = (_arrays(model, tokens) for tokens in (reader.queries(queries), reader.passages(passages)))
    with torch.inference_mode():
        found: np.ndarray = model.eval().similarities(asked, answers).numpy()  # type: ignore[operator]
    return found


def _arrays(model: Any, tokens: Sequence[Tokens]) -> dict[str, torch.Tensor]:
    batch = pad(tokens, range(len(tokens)))
    arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
    return {name: torch.from_numpy(arrays[name]) for name in inputs_of(model)}


def _runtime(artifact: Artifact, form: str, queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    if artifact.kind == "poly-encoder":
        poly = PolyEncoder(artifact, form=form)
        tokens = poly.encode_passages(passages)
        return np.stack([poly.score(vector, tokens) for vector in poly.encode_queries(queries)])
    encoder = BiEncoder(artifact, form=form)
    return encoder.encode_queries(queries) @ encoder.encode_passages(passages).T
