"""Export models of several parts: separate towers for passages and queries, and a poly-encoder's scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoders.artifact import BASIS, QUERIES, SCORER, TOKENIZER, Artifact, seal
from encoders.poly import PolyEncoder
from encoders.runtime import BiEncoder
from encoders.text import ModelTokenizer, Tokens, pad
from encoders.tokens.codec import find_basis
from encoders.training.architectures.bi_encoder import Towers
from encoders.training.architectures.checkpoint import Checkpoint
from encoders.training.architectures.families import inputs_of
from encoders.training.architectures.poly_encoder import PolyEncoderModule
from encoders.training.export import gate
from mappings.errors import ModelError

COMPARED = 24
"""The number of queries, and of passages, that are all compared with one another."""


def write(
    ready: Checkpoint,
    write_graph: Callable[..., Artifact],
    folder: Path,
    pairs: Sequence[tuple[str, str]],
    judged: Sequence[gate.GateQuery],
) -> None:
    """Write the artifact of a bi-encoder or poly-encoder to `folder`, each tower and then the whole through the gate.

    Raises `ModelError` if the whole does not rank like torch.
    """
    model = ready.model
    is_single = model.queries is None and not isinstance(model, PolyEncoderModule)
    passages = Checkpoint(model.passages, ready.tokenizer, ready.architecture)
    manifest = dict(write_graph(passages, "bi-encoder", folder, gate_queries=judged if is_single else ()).manifest)
    if is_single:
        return
    if model.queries is not None:
        queries = Checkpoint(model.queries, ready.tokenizer)
        manifest[QUERIES] = write_graph(queries, "bi-encoder", folder / QUERIES).fingerprint
    if isinstance(model, PolyEncoderModule):
        np.save(folder / SCORER, model.scorer().numpy())
        manifest |= {"kind": "poly-encoder", "codes": model.codes, "sharpness": model.head.sharpness}
    artifact = seal(folder, manifest)
    if isinstance(model, PolyEncoderModule):
        passages_read = PolyEncoder(artifact, form="fp32").encode_passages([passage for _, passage in pairs])
        np.save(folder / BASIS, find_basis(passages_read))
        artifact = seal(folder, manifest)
    expected = _score_by_torch(model, artifact, pairs, judged)
    figures = {form: _compare(expected, artifact, form, pairs, judged) for form in _common_forms(artifact)}
    passed = {form for form, found in figures.items() if gate.passes(found)}
    if "fp32" not in passed:
        raise ModelError(
            f"the exported towers rank differently from the checkpoint: {figures}; Spearman must reach {gate.RANKS}",
            field="checkpoint",
        )
    forms = {form: file for form, file in manifest["forms"].items() if form in passed}
    for file in set(manifest["forms"].values()) - set(forms.values()):
        (folder / file).unlink()
    seal(folder, {**manifest, "forms": forms, "gate": {**manifest["gate"], "whole": figures}})


def _common_forms(artifact: Artifact) -> list[str]:
    """The numeric forms that every tower has."""
    others = artifact.queries().forms
    return [form for form in artifact.forms if form in others]


def _texts(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """The queries and passages that are all compared with one another."""
    return [query for query, _ in pairs[:COMPARED]], [passage for _, passage in pairs[:COMPARED]]


def _score_by_torch(
    model: Towers, artifact: Artifact, pairs: Sequence[tuple[str, str]], judged: Sequence[gate.GateQuery]
) -> tuple[np.ndarray, list[float]]:
    """Torch's scores of shape (queries, passages), and its nDCG@10 for each judged query."""
    found = _torch(model, artifact, *_texts(pairs))
    return found, [gate.ndcg(_torch(model, artifact, [item.query], item.passages)[0], item.gains) for item in judged]


def _compare(
    expected: tuple[np.ndarray, list[float]],
    artifact: Artifact,
    form: str,
    pairs: Sequence[tuple[str, str]],
    judged: Sequence[gate.GateQuery],
) -> dict[str, float]:
    """The Spearman correlation of torch's scores with the form's and, with judgements, the change of nDCG@10."""
    scores, before = expected
    score = _open_runtime(artifact, form)
    figures = {"spearman": round(gate.spearman(scores.ravel(), score(*_texts(pairs)).ravel()), 6)}
    if judged:
        after = [gate.ndcg(score([item.query], item.passages)[0], item.gains) for item in judged]
        figures["ndcg_change"] = round(float(np.mean(after) - np.mean(before)), 5)
    return figures


def _torch(model: Towers, artifact: Artifact, queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    """Shape (queries, passages)."""
    tokenizer = ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)
    left = _arrays(model, tokenizer.tokenize_queries(queries))
    right = _arrays(model, tokenizer.tokenize_passages(passages))
    with torch.inference_mode():
        found: np.ndarray = model.eval().similarities(left, right).numpy()  # type: ignore[operator]
    return found


def _arrays(model: Any, tokens: Sequence[Tokens]) -> dict[str, torch.Tensor]:
    batch = pad(tokens, range(len(tokens)))
    arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
    return {name: torch.from_numpy(arrays[name]) for name in inputs_of(model)}


def _open_runtime(artifact: Artifact, form: str) -> Callable[[Sequence[str], Sequence[str]], np.ndarray]:
    """The exported model as a function of queries and passages: shape (queries, passages)."""
    if artifact.kind != "poly-encoder":
        encoder = BiEncoder(artifact, form=form)
        return lambda queries, passages: encoder.encode_queries(queries) @ encoder.encode_passages(passages).T
    poly = PolyEncoder(artifact, form=form)

    def score(queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
        tokens = poly.encode_passages(passages)
        return np.stack([poly.score(vector, tokens) for vector in poly.encode_queries(queries)])

    return score
