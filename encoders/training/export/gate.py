"""The export gate: compare the ONNX graph with torch, and every numeric form with the unrounded graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoders.artifact import TOKENIZER, Artifact
from encoders.devices import cores
from encoders.pooling import pool, unit
from encoders.runtime import BiEncoder, CrossEncoder, open_session
from encoders.stances import StanceClassifier, apply_head, claim_inputs, load_head, support_odds
from encoders.text import ModelTokenizer, Tokens, group_by_length, pad
from encoders.training.export.graphs import get_result
from mappings.errors import ModelError
from mappings.stances import ClaimPassage

PARITY = 0.9999
"""Minimum cosine (vectors) or correlation (logits) between the fp32 graph and torch."""
RANKS = 0.99
"""Minimum Spearman correlation between a numeric form and the unrounded fp32 graph."""
LOSS = 0.005
"""Maximum loss of nDCG@10 on held-out judgements; Spearman measures how similar the rankings are."""
MIN_PAIRS = 16
_POOLED = ("bi-encoder", "stance-classifier")
"""Kinds whose graph returns hidden states, which are compared as they are pooled."""
BATCH_TOKENS = 4096
"""The most tokens of a batch, padding included; texts of like length share one."""


@dataclass(frozen=True, slots=True)
class GateQuery:
    """A held-out query with candidate passages and their gains."""

    query: str
    passages: tuple[str, ...]
    gains: tuple[float, ...]


def require_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Raise `ModelError` if there are too few to compare on."""
    if len(pairs) < MIN_PAIRS:
        raise ModelError(
            f"the gate needs at least {MIN_PAIRS} real (query, passage) pairs, not {len(pairs)}", field="pairs"
        )


def check(
    model: Any, artifact: Artifact, plain: Path, pairs: Sequence[tuple[str, str]], judged: Sequence[GateQuery]
) -> dict[str, Any]:
    """The figures of each numeric form, split into passed and failed ones. Raises `ModelError` if fp32 fails."""
    reference = _Graph(artifact, plain)
    parity = reference.parity(model, pairs)
    if not parity >= PARITY:  # NaN, too
        raise ModelError(
            f"the agreement of the ONNX graph with torch is {parity:.6f}; it must be at least {PARITY}",
            field="checkpoint",
        )
    forms: dict[str, Any] = {}
    failed: dict[str, Any] = {}
    before = _mean_ndcg(reference, artifact.kind == "bi-encoder", judged)
    for form in artifact.forms:
        shipped = _open_runtime(artifact, form)
        figures = _compare(reference, shipped, pairs)
        if judged:
            after = _mean_ndcg(shipped, artifact.kind == "bi-encoder", judged)
            figures |= {"ndcg_reference": round(before, 5), "ndcg_change": round(after - before, 5)}
        (forms if passes(figures) else failed)[form] = figures
    if "fp32" not in forms:
        raise ModelError(
            f"the stored weights rank differently from the checkpoint: {failed}; Spearman must reach {RANKS}",
            field="checkpoint",
        )
    return {"pairs": len(pairs), "judged": len(judged), "torch": parity, "forms": forms, "failed": failed}


def passes(figures: Mapping[str, float]) -> bool:
    """Whether a form ranks like the reference: by Spearman and, if there were judged queries, by nDCG@10."""
    return figures["spearman"] >= RANKS and figures.get("ndcg_change", 0.0) >= -LOSS


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    """Rank correlation; tied values share their mean rank. 0 if a value is NaN or infinite."""
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return 0.0
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def ndcg(scores: np.ndarray, gains: Sequence[float], depth: int = 10) -> float:
    """The nDCG with linear gains; ties keep input order. 0 if a score is NaN or infinite."""
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
    """The unrounded graph, run like the runtime: the reference of every comparison."""

    def __init__(self, artifact: Artifact, plain: Path) -> None:
        self._artifact = artifact
        self._session = open_session(plain, cores())
        self._inputs = [item.name for item in self._session.get_inputs()]
        self._tokenizer = ModelTokenizer(artifact.folder / TOKENIZER, artifact.reading)

    def parity(self, model: Any, pairs: Sequence[tuple[str, str]]) -> float:
        """The minimum cosine of vectors, or the correlation of logits, between this graph and torch."""
        tokens = self._tokenizer.tokenize_inputs(self._artifact.kind, pairs)
        ours = self._outputs(tokens, self._run)
        theirs = self._outputs(tokens, lambda arrays: _run_torch(model, arrays))
        if self._artifact.kind in _POOLED:
            return float((unit(ours) * unit(theirs)).sum(axis=1).min())
        return float(np.corrcoef(ours, theirs)[0, 1])

    def scores(self, queries: Sequence[str], passages: Sequence[str]) -> np.ndarray:
        """The similarities of all queries with all passages (bi-encoder): shape (queries, passages)."""
        left = self._outputs(self._tokenizer.tokenize_queries(queries), self._run)
        return left @ self._outputs(self._tokenizer.tokenize_passages(passages), self._run).T

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """One logit per passage (cross-encoder, stance classifier)."""
        if self._artifact.kind == "stance-classifier":
            return self._support_odds(query, passages)
        return self._outputs(self._tokenizer.tokenize_pairs(query, passages), self._run)

    def _support_odds(self, claim: str, passages: Sequence[str]) -> np.ndarray:
        head, split = load_head(self._artifact), [ClaimPassage.of(text) for text in passages]
        inputs = claim_inputs(self._tokenizer.underlying, self._artifact.reading, [claim] * len(split), split)
        found = []
        for item, passage in zip(inputs, split, strict=True):
            batch = pad([item.tokens], [0])
            arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
            states = self._run({name: arrays[name] for name in self._inputs})[0]
            found.append(support_odds(apply_head(head, states, item.places, len(passage.spans))))
        return np.array(found)

    def _outputs(self, tokens: Sequence[Tokens], run: Any) -> np.ndarray:
        rows: list[int] = []
        parts = []
        for group in group_by_length([len(item) for item in tokens], BATCH_TOKENS):
            batch = pad(tokens, group)
            arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
            raw = run({name: arrays[name] for name in self._inputs})
            rows.extend(batch.rows)
            parts.append(self._pooled(raw, batch.mask) if self._artifact.kind in _POOLED else _check_finite(raw))
        return np.concatenate(parts)[np.argsort(rows)]

    def _pooled(self, hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
        reading = self._artifact.reading
        vectors = _check_finite(pool(hidden, mask, reading.pooling))  # before `unit`, which turns NaN into a direction
        return unit(vectors) if reading.normalise else vectors

    def _run(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(self._session.run(None, dict(arrays))[0])


def _check_finite(values: np.ndarray) -> np.ndarray:
    """Return the values unchanged. Raises `ModelError` for NaN or infinite ones."""
    if not np.isfinite(values).all():
        raise ModelError("the checkpoint's outputs are NaN or infinite; train it again", field="checkpoint")
    return values


def _run_torch(model: Any, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    with torch.inference_mode():
        return get_result(model(**{name: torch.from_numpy(array) for name, array in arrays.items()})).numpy()


def _open_runtime(artifact: Artifact, form: str) -> BiEncoder | CrossEncoder | StanceClassifier:
    if artifact.kind == "stance-classifier":
        return StanceClassifier(artifact, form=form)
    return BiEncoder(artifact, form=form) if artifact.kind == "bi-encoder" else CrossEncoder(artifact, form=form)


def _compare(reference: _Graph, shipped: Any, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The Spearman correlation over the pairs."""
    if isinstance(shipped, BiEncoder):
        queries, passages = [query for query, _ in pairs], [passage for _, passage in pairs]
        right = shipped.encode_queries(queries) @ shipped.encode_passages(passages).T
        left = reference.scores(queries, passages)
    else:
        left = np.concatenate([reference.score(query, [passage]) for query, passage in pairs])
        right = np.concatenate([shipped.score(query, [passage]) for query, passage in pairs])
    return {"spearman": round(spearman(left.ravel(), right.ravel()), 6)}


def _mean_ndcg(model: Any, vectors: bool, judged: Sequence[GateQuery]) -> float:
    """The mean nDCG@10 over the judged queries; 0 if there are none."""
    return float(np.mean([ndcg(_score(model, vectors, item), item.gains) for item in judged])) if judged else 0.0


def _score(model: Any, vectors: bool, item: GateQuery) -> np.ndarray:
    if not vectors:
        return np.asarray(model.score(item.query, item.passages))
    if isinstance(model, _Graph):
        return model.scores([item.query], item.passages)[0]
    return np.asarray((model.encode_queries([item.query]) @ model.encode_passages(item.passages).T)[0])
