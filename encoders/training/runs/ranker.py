"""The models of finished runs as rankers: torch scores texts for queries, each read as in training."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoders.artifact import Kind, digest
from encoders.training.architectures.checkpoint import ARCHITECTURE, load_checkpoint
from encoders.training.architectures.scoring import autocast, represent_texts, score_pairs
from encoders.training.loop.precision import choose_device
from encoders.training.loop.processes import pad_rows
from encoders.training.recipe import SINGLES, Recipe, parse_recipe
from encoders.training.run_folder import CHECKPOINT, REPORT
from mappings.errors import InvalidInput, ModelError

RANKING: Final = ("bi-encoder", "poly-encoder", "cross-encoder")
"""The kinds that rank passages."""
TEXTS_AT_ONCE: Final = 32
QUERIES_AT_ONCE: Final = 256
Floats = NDArray[np.float32]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunRanker:
    """The model of a run. `form` is the precision that it computes in."""

    recipe: Recipe
    model: Any
    tokenizer: Any
    fingerprint: str

    @property
    def form(self) -> str:
        """Of a reranker whose scores are kept: what else they depend on."""
        return f"torch {self.recipe.precision}"

    @property
    def shows_titles(self) -> bool:
        """Whether its passages had their titles before them, in some of the examples at least."""
        return any(share.context for share in self.recipe.tasks.values())

    @torch.inference_mode()
    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """A cross-encoder's logits for one query, shape (n,), in the order of the passages."""
        with autocast(self.model, self.recipe):
            found = score_pairs(self.model, self.tokenizer, [query] * len(passages), passages, self.recipe)
        return _floats(found)

    @torch.inference_mode()
    def compare(
        self, queries: Sequence[str], texts: Sequence[str], wanted: NDArray[np.bool_], progress: Progress | None = None
    ) -> Floats:
        """A bi-encoder's or poly-encoder's scores of b queries with m texts, shape (b, m); -inf where none is `wanted`.

        Each text that is wanted is read once, however many queries want it.
        """
        scores = np.full((len(queries), len(texts)), -np.inf, np.float32)
        asked = self._represent_queries(queries)
        order = sorted(np.flatnonzero(wanted.any(axis=0)), key=lambda at: len(texts[at]))
        for start in range(0, len(order), TEXTS_AT_ONCE):
            places = np.array(order[start : start + TEXTS_AT_ONCE])
            rows = np.flatnonzero(wanted[:, places].any(axis=1))
            read = self._represent([texts[at] for at in places], query=False)
            found = _floats(self.model.compare([item[torch.from_numpy(rows)] for item in asked], read))
            block = np.ix_(rows, places)
            scores[block] = np.where(wanted[block], found, -np.inf)
            if progress:
                progress(min(start + TEXTS_AT_ONCE, len(order)), len(order))
        return scores

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], query: bool) -> Floats:
        """A bi-encoder's vectors of queries or passages, shape (n, d)."""
        parts = [
            _floats(self._represent(texts[start : start + TEXTS_AT_ONCE], query)[0])
            for start in range(0, len(texts), TEXTS_AT_ONCE)
        ]
        return np.concatenate(parts)

    def _represent_queries(self, queries: Sequence[str]) -> list[Tensor]:
        """What the model compares of all queries: tensors (b, ...), padded alike."""
        parts = [
            self._represent(queries[start : start + QUERIES_AT_ONCE], query=True)
            for start in range(0, len(queries), QUERIES_AT_ONCE)
        ]
        joined = []
        for same in zip(*parts, strict=True):
            widest = [max(sizes) for sizes in zip(*(item.shape[1:] for item in same), strict=True)]
            joined.append(torch.cat([pad_rows(item, [len(item), *widest]) for item in same]))
        return joined

    def _represent(self, texts: Sequence[str], query: bool) -> tuple[Tensor, ...]:
        with autocast(self.model, self.recipe):
            found = represent_texts(self.model, self.tokenizer, texts, self.recipe, query)
        return tuple(item.float() if item.is_floating_point() else item for item in found)


def find_rankers(folder: Path) -> dict[str, Path]:
    """The finished runs in a folder, by the name of their subfolder, whose models rank passages. Raises `ModelError`."""
    found = {}
    for run in sorted(folder.iterdir()) if folder.is_dir() else ():
        finished = (run / CHECKPOINT / ARCHITECTURE).is_file() and (run / REPORT).is_file()
        if finished and _kind_of(run) in RANKING:
            found[run.name] = run
    return found


def _kind_of(run: Path) -> str:
    path = run / CHECKPOINT / ARCHITECTURE
    try:
        return str(json.loads(path.read_text(encoding="utf-8")).get("kind"))
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} is not the plan of a model: {error}", field=ARCHITECTURE) from None


def fingerprint_run(run: Path) -> str:
    """SHA-256 over what a run's scores depend on: the files of its checkpoint, and the recipe by which they read.

    Raises `ModelError` for a damaged report.
    """
    _recipe_of(run)
    state = sha256(json.dumps(_read_report(run)["recipe"], sort_keys=True).encode())
    for file in sorted(item for item in (run / CHECKPOINT).rglob("*") if item.is_file()):
        if file.suffix in (".json", ".safetensors", ".bin"):
            state.update(f"{file.relative_to(run)} {digest(file)}".encode())
    return state.hexdigest()


def load_ranker(run: Path) -> RunRanker:
    """The model of a run, on the device of its recipe. Raises `ModelError` for a damaged checkpoint or report."""
    recipe = _recipe_of(run)
    torch.set_num_threads(recipe.threads)
    ready = load_checkpoint(run / CHECKPOINT, cast(Kind, recipe.kind))
    ready.model.to(choose_device(recipe)).eval()
    return RunRanker(recipe, ready.model, ready.tokenizer, fingerprint_run(run))


def read_recipe_of(run: Path) -> dict[str, Any]:
    """The settings of a run. Raises `ModelError` for a damaged report."""
    return dict(_read_report(run)["recipe"])


def spell_run(run: Path) -> str:
    """The base of a run, how long it was and on what, in a few words. Raises `ModelError` for a damaged report."""
    report = _read_report(run)
    recipe = _recipe_of(run)
    what = "pairs" if recipe.objective in SINGLES else "queries"
    return f"from {Path(recipe.base).name}, {report.get('best_step', 0)} batches of {recipe.batch} {what} ({', '.join(recipe.tasks)})"


def read_training(run: Path) -> dict[str, Any]:
    """What a run was trained on: `training_pairs` by task beside what labelling counted, as in the card of its model."""
    report = _read_report(run)
    return {"training_pairs": report.get("pairs", {}), **report.get("data", {})}


def _recipe_of(run: Path) -> Recipe:
    try:
        return parse_recipe(_read_report(run)["recipe"], run.name)
    except InvalidInput as error:
        raise ModelError(f"{run / REPORT} is not the report of a run: {error.message}", field=REPORT) from None


def _read_report(run: Path) -> dict[str, Any]:
    try:
        report = json.loads((run / REPORT).read_text(encoding="utf-8"))
        return {**report, "recipe": dict(report["recipe"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{run / REPORT} is not the report of a run: {error}", field=REPORT) from None


def _floats(values: Tensor) -> Floats:
    return np.asarray(values.float().cpu().numpy(), dtype=np.float32)
