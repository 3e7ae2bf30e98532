"""The models that take part in a loss without being trained: a teacher and a prior.

A teacher is a cross-encoder from whose scores the model learns; that of a stance classifier is another stance classifier. A
prior is the bi-encoder that ranks before a reranker: its cosines are added to the reranker's scores in the loss, because in
a search the two are combined. A reranker that is trained without it learns what the first stage already knows, and errs
where that errs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from encoders.artifact import Artifact, Kind
from encoders.pooling import Floats
from encoders.runtime import BiEncoder, CrossEncoder
from encoders.stances import StanceClassifier
from encoders.training.architectures.bases import is_artifact, resolve_base
from encoders.training.data.batches import Example
from encoders.training.data.checkpoint_teachers import (
    checkpoint_kind,
    fingerprint_checkpoint,
    is_run_checkpoint,
    load_reader,
    load_scorer,
)
from encoders.training.data.frozen_readings import FrozenReadings, ReadClaims, TaughtReading, read_batches
from encoders.training.data.frozen_scores import FrozenScores, QueryTexts, ScoreTexts, score_batches
from encoders.training.recipe import Recipe
from mappings.analysis.passages import placed_windows
from mappings.analysis.window_text import alone
from mappings.documents import Passage
from mappings.errors import ModelError
from mappings.stances import ClaimPassage

WINDOW_WORDS = 60
"""The length of a window, in words, as in the collections of abstracts."""


Scores = TypeVar("Scores", FrozenScores, FrozenReadings)
Asked = TypeVar("Asked", ScoreTexts, ReadClaims)
Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class FrozenModel(Generic[Asked, Scores]):
    """A role that a recipe can give to a model of one `kind`: a model directory, or in some roles a run's checkpoint.

    `load` makes the function that asks a model directory, `load_run` the one that asks a checkpoint, and `ask` asks it once
    for every example.
    """

    role: str
    kind: Kind
    load: Callable[[Artifact, Recipe], Asked]
    ask: Callable[[Iterable[Sequence[Example]], Path, Callable[[], Asked], Log], Scores]
    load_run: Callable[[Path, Recipe], Asked] | None = None

    def open_artifact(self, recipe: Recipe) -> Artifact | None:
        """The model directory in this role; None if the recipe names none, or a checkpoint. Raises `ModelError` for others."""
        name = getattr(recipe, self.role)
        if not name:
            return None
        if self._is_run(name):
            self._check_kind(name, checkpoint_kind(Path(name)))
            return None
        if not is_artifact(name):
            raise ModelError(f"the {self.role} {name!r} is not a model directory; export it first", field=self.role)
        artifact = Artifact.open(Path(resolve_base(name)))
        self._check_kind(name, artifact.kind)
        return artifact

    def score(self, recipe: Recipe, batches: Iterable[Sequence[Example]], run: Path, log: Log) -> Scores | None:
        """What the model says of every example in `batches`, stored in the folder `run`; None if the recipe names none.

        Raises `ModelError` as `open_artifact` does.
        """
        name = getattr(recipe, self.role)
        load_run = self.load_run
        if name and load_run is not None and self._is_run(name):
            path = run / f"{self.role}-{fingerprint_checkpoint(Path(name))}.bin"
            return self.ask(batches, path, lambda: load_run(Path(name), recipe), log)
        artifact = self.open_artifact(recipe)
        if artifact is None:
            return None
        form = f"-{recipe.teacher_form}" if self.role == "teacher" else ""
        path = run / f"{self.role}-{artifact.fingerprint[:12]}{form}.bin"
        return self.ask(batches, path, lambda: self.load(artifact, recipe), log)

    def _check_kind(self, name: str, kind: str) -> None:
        if kind != self.kind:
            raise ModelError(f"the {self.role} {name!r} is a {kind}; it must be a {self.kind}", field=self.role)

    def _is_run(self, name: str) -> bool:
        return self.load_run is not None and is_run_checkpoint(name)


def _load_teacher(artifact: Artifact, recipe: Recipe) -> ScoreTexts:
    model = CrossEncoder(artifact, recipe.threads, recipe.teacher_form)

    def score(group: Sequence[QueryTexts]) -> Floats:
        tokenize = model.model.tokenizer.tokenize_pairs
        return model.logits([item for query, texts in group for item in tokenize(query, [*map(alone, texts)])])

    return score


def _load_prior(artifact: Artifact, recipe: Recipe) -> ScoreTexts:
    """A passage scores as its best window, because that is how a collection serves it."""
    model = BiEncoder(artifact, recipe.threads)

    def score(group: Sequence[QueryTexts]) -> Floats:
        texts = dict(zip(dict.fromkeys(chain.from_iterable(found for _, found in group)), count()))
        cut = [placed_windows(Passage("", 0, 0, "", "", alone(text)), WINDOW_WORDS) for text in texts]
        vectors = model.encode_passages(list(chain.from_iterable(cut)))
        starts = np.cumsum([0, *map(len, cut[:-1])])
        queries = model.encode_queries([query for query, _ in group])
        best = np.maximum.reduceat(vectors @ queries.T, starts, axis=0)  # (texts, queries)
        rows = [(texts[text], column) for column, (_, found) in enumerate(group) for text in found]
        return np.asarray(best[tuple(np.array(rows).T)], dtype=np.float32)

    return score


def _load_stance_teacher(artifact: Artifact, recipe: Recipe) -> ReadClaims:
    model = StanceClassifier(artifact, recipe.threads, recipe.teacher_form)

    def read(claims: Sequence[str], passages: Sequence[ClaimPassage]) -> list[TaughtReading]:
        found = [model.read(claim, [passage])[0] for claim, passage in zip(claims, passages, strict=True)]
        return [
            TaughtReading(
                np.log(np.maximum(np.array(item.probabilities, dtype=np.float32), 1e-9)),
                np.array(item.evidence, dtype=np.float32),
            )
            for item in found
        ]

    return read


TEACHER = FrozenModel("teacher", "cross-encoder", _load_teacher, score_batches, load_scorer)
STANCE_TEACHER = FrozenModel("teacher", "stance-classifier", _load_stance_teacher, read_batches, load_reader)
PRIOR = FrozenModel("prior", "bi-encoder", _load_prior, score_batches)


def teacher_role(recipe: Recipe) -> FrozenModel[Any, Any]:
    """The role of a recipe's teacher: another stance classifier for a stance classifier, otherwise a cross-encoder."""
    return STANCE_TEACHER if recipe.kind == "stance-classifier" else TEACHER
