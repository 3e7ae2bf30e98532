"""The gate at export: the graph against torch, every shipped form against the unrounded graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoders.artifact import Artifact
from encoders.pooling import pool, unit
from encoders.runtime import BiEncoder, CrossEncoder, cores, open_session
from encoders.text import ModelTokenizer, Tokens, pad
from encoders.training.export.graphs import result
from mappings.errors import ModelError

PARITY = 0.9999
"""Least cosine (vectors) or correlation (logits) between the fp32 graph and torch."""
RANKS = 0.99
"""Least Spearman correlation between a shipped form and the unrounded fp32 graph."""
LOSS = 0.005
"""Largest loss of nDCG@10 on held-out judgements; how like the ranks are is Spearman's to say."""
FEWEST = 16


@dataclass(frozen=True, slots=True)
class Judged:
    """A held-out query with candidate passages and their gains."""

    query: str
    passages: tuple[str, ...]
    gains: tuple[float, ...]


def check(
    model: Any, artifact: Artifact, plain: Path, pairs: Sequence[tuple[str, str]], judged: Sequence[Judged]
) -> dict[str, Any]:
    """The figures of the gate, by form; forms that fail are left out. Raises `ModelError` when none is left."""
    if len(pairs) < FEWEST:
        raise ModelError(
            f"the gate needs at least {FEWEST} real (query, passage) pairs, not {len(pairs)}", field="pairs"
        )
    reference = _Graph(artifact, plain)
    parity = reference.parity(model, pairs)
    if not parity >= PARITY:  # NaN, too
        raise ModelError(
            f"the ONNX graph agrees with torch to {parity:.6f}; at least {PARITY} is needed", field="checkpoint"
        )
    forms: dict[str, Any] = {}
    failed: dict[str, Any] = {}
    before = _quality(reference, artifact.kind == "bi-encoder", judged)
    for form in artifact.forms:
        shipped = _runtime(artifact, form)
        figures = _figures(reference, shipped, pairs)
        if judged:
            after = _quality(shipped, artifact.kind == "bi-encoder", judged)
            figures |= {"ndcg_reference": round(before, 5), "ndcg_change": round(after - before, 5)}
        (forms if passes(figures) else failed)[form] = figures
    if "fp32" not in forms:
        raise ModelError(
            f"the stored weights rank unlike the checkpoint: {failed}; Spearman must reach {RANKS}", field="checkpoint"
        )
    return {"pairs": len(pairs), "judged": len(judged), "torch": parity, "forms": forms, "failed": failed}


def passes(figures: Mapping[str, float]) -> bool:
    """Whether a form ranks as the reference does: by Spearman and, where queries were judged, no worse by nDCG@10."""
    return figures["spearman"] >= RANKS and figures.get("ndcg_change", 0.0) >= -LOSS


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    """Rank correlation; tied values share their mean rank. 0 where a value is no number: nothing is ranked."""
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return 0.0
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def ndcg(scores: np.ndarray, gains: Sequence[float], depth: int = 10) -> float:
    """The nDCG with linear gains; ties in score keep input order. 0 where a score is no number: nothing is ranked."""
    if not np.isfinite(scores).all():
        return 0.0
    values = np.asarray(gains, dtype=float)
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    best = np.sort(values)[::-1][:depth]
    got = values[np.argsort(-scores, kind="stable")][:depth]
    ideal = float(best @ discounts[: len(best)])
    return float(got @ discounts[: len(got)]) / ideal if ideal else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


class _Graph:
    """The unrounded graph, run as the runtime would run it: the reference of every comparison."""

    def __init__(self, artifact: Artifact, plain: Path) -> None:
        self._artifact = artifact
        self._session = open_session(plain, cores())
        self._inputs = [item.name for item in self._session.get_inputs()]
        self._tokenizer = ModelTokenizer(artifact.folder / "tokenizer.json", artifact.reading)

    def parity(self, model: Any, pairs: Sequence[tuple[str, str]]) -> float:
        """Least cosine over vectors, or the correlation of logits, between this graph and torch."""
        tokens = self._tokenizer.tokenize_inputs(self._artifact.kind, pairs)
        mine, theirs = self._outputs(tokens, self._onnx), self._outputs(tokens, lambda arrays: _torch(model, arrays))
        if self._artifact.kind == "bi-encoder":
            return float((unit(mine) * unit(theirs)).sum(axis=1).min())
        return float(np.corrcoef(mine, theirs)[0, 1])

    def scores(self, queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
        """Similarities of all queries with all passages (bi-encoder)."""
        left = self._outputs(self._tokenizer.tokenize_queries(queries), self._onnx)
        return left @ self._outputs(self._tokenizer.tokenize_passages(passages), self._onnx).T

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Logits of a query's passages (cross-encoder)."""
        return self._outputs(self._tokenizer.tokenize_pairs(query, passages), self._onnx)

    def _outputs(self, tokens: Sequence[Tokens], run: Any) -> np.ndarray:
        parts = []
        for start in range(0, len(tokens), 8):
            rows = range(start, min(start + 8, len(tokens)))
            batch = pad(tokens, list(rows))
            arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
            raw = run({name: arrays[name] for name in self._inputs})
            parts.append(self._pooled(raw, batch.mask) if self._artifact.kind == "bi-encoder" else _sound(raw))
        return np.concatenate(parts)

    def _pooled(self, hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
        reading = self._artifact.reading
        vectors = _sound(pool(hidden, mask, reading.pooling))  # before `unit`, which makes a direction of NaN
        return unit(vectors) if reading.normalise else vectors

    def _onnx(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(self._session.run(None, dict(arrays))[0])


def _sound(values: np.ndarray) -> np.ndarray:
    """The values as they are. Raises `ModelError` for what is no number."""
    if not np.isfinite(values).all():
        raise ModelError("the checkpoint's outputs are no numbers; train it anew", field="checkpoint")
    return values


def _torch(model: Any, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    with torch.inference_mode():
        return result(model(**{name: torch.from_numpy(array) for name, array in arrays.items()})).numpy()


def _runtime(artifact: Artifact, form: str) -> BiEncoder | CrossEncoder:
    return BiEncoder(artifact, form=form) if artifact.kind == "bi-encoder" else CrossEncoder(artifact, form=form)


def _figures(reference: _Graph, shipped: Any, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Spearman over the pairs."""
    if isinstance(shipped, BiEncoder):
        queries, passages = [query for query, _ in pairs], [passage for _, passage in pairs]
        right = shipped.encode_queries(queries) @ shipped.encode_passages(passages).T
        left = reference.scores(queries, passages)
    else:
        left = np.concatenate([reference.score(query, [passage]) for query, passage in pairs])
        right = np.concatenate([shipped.score(query, [passage]) for query, passage in pairs])
    return {"spearman": round(spearman(left.ravel(), right.ravel()), 6)}


def _quality(model: Any, vectors: bool, judged: Sequence[Judged]) -> float:
    """Mean nDCG@10 over the judged queries; 0 without any."""
    return float(np.mean([ndcg(_score(model, vectors, item), item.gains) for item in judged])) if judged else 0.0


def _score(model: Any, vectors: bool, item: Judged) -> np.ndarray:
    if not vectors:
        return np.asarray(model.score(item.query, item.passages))
    if isinstance(model, _Graph):
        return model.scores([item.query], item.passages)[0]
    return np.asarray((model.encode_queries([item.query]) @ model.encode_passages(item.passages).T)[0])
