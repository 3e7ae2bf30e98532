"""Teachers that are checkpoints of Medley's own runs, read by torch on the run's device: a large one needs no export."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from encoders.artifact import Kind, digest
from encoders.pooling import Floats
from encoders.training.architectures.bases import WEIGHTS
from encoders.training.architectures.checkpoint import ARCHITECTURE, HEAD, load_checkpoint
from encoders.training.architectures.claims import read_claims
from encoders.training.architectures.scoring import autocast, score_pairs
from encoders.training.data.frozen_readings import ReadClaims, TaughtReading
from encoders.training.data.frozen_scores import QueryTexts, ScoreTexts
from encoders.training.loop.precision import choose_device
from encoders.training.recipe import Recipe
from mappings.analysis.window_text import alone
from mappings.stances import ClaimPassage

CLAIMS_AT_ONCE: Final = 128


def is_run_checkpoint(name: str) -> bool:
    """Whether `name` is the folder of a checkpoint that a run of Medley wrote."""
    return (Path(name) / ARCHITECTURE).is_file()


def checkpoint_kind(folder: Path) -> str:
    """The kind of the model in a checkpoint that a run of Medley wrote."""
    return str(json.loads((folder / ARCHITECTURE).read_text(encoding="utf-8"))["kind"])


def fingerprint_checkpoint(folder: Path) -> str:
    """A digest of the weights, those of a head of ours included."""
    files = [folder / name for name in (*WEIGHTS, HEAD) if (folder / name).is_file()]
    return "".join(digest(file)[:12] for file in files)


def load_scorer(folder: Path, recipe: Recipe) -> ScoreTexts:
    """A cross-encoder's logits; it reads as many tokens as the student does. Raises `ModelError`."""
    model, tokenizer, read = _load(folder, "cross-encoder", recipe)

    @torch.inference_mode()
    def score(group: Sequence[QueryTexts]) -> Floats:
        queries = [query for query, texts in group for _ in texts]
        texts = [alone(text) for _, found in group for text in found]
        with autocast(model, read):
            found = score_pairs(model, tokenizer, queries, texts, read)
        return np.asarray(found.float().cpu().numpy(), dtype=np.float32)

    return score


def load_reader(folder: Path, recipe: Recipe) -> ReadClaims:
    """A stance classifier's readings; it reads as many tokens as the student does. Raises `ModelError`."""
    model, tokenizer, read = _load(folder, "stance-classifier", recipe)

    @torch.inference_mode()
    def read_all(claims: Sequence[str], passages: Sequence[ClaimPassage]) -> list[TaughtReading]:
        readings = list[TaughtReading]()
        for start in range(0, len(claims), CLAIMS_AT_ONCE):
            part = slice(start, start + CLAIMS_AT_ONCE)
            with autocast(model, read):
                found = read_claims(model, tokenizer, claims[part], passages[part], read)
            evidence = found.evidence.float().masked_fill(~found.known, float("-inf")).cpu().numpy()
            rows = zip(found.stances.float().cpu().numpy(), evidence, passages[part], strict=True)
            readings += [TaughtReading(stances, own[: len(one.spans)]) for stances, own, one in rows]
        return readings

    return read_all


def _load(folder: Path, kind: Kind, recipe: Recipe) -> tuple[Any, Any, Recipe]:
    """The model on the run's device, its tokenizer, and the recipe by which it reads."""
    ready = load_checkpoint(folder, kind)
    ready.model.to(choose_device(recipe)).eval()
    plan = ready.architecture
    changes = {} if plan is None else {"markers": plan.markers, "cut": plan.cut}
    return ready.model, ready.tokenizer, replace(recipe, **changes)
