"""A teacher: a cross-encoder whose scores of every example are part of its student's loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from encoders.pooling import Floats
from encoders.runtime import CrossEncoder
from encoders.training.data.batches import Example
from encoders.training.data.frozen_scores import Judge, Scores, artifact, scored
from encoders.training.recipe import Recipe


def teach(
    recipe: Recipe, batches: Iterable[Sequence[Example]], run: Path, log: Callable[[dict[str, Any]], None]
) -> Scores | None:
    """The recipe's teacher, asked about every example of the plan; None where the recipe has none.

    Raises `ModelError` for a teacher that is no cross-encoder's model directory.
    """
    if not recipe.teacher:
        return None
    found = artifact(recipe.teacher, "cross-encoder", "teacher")
    path = run / f"teacher-{found.fingerprint[:12]}-{recipe.teacher_form}.bin"
    return scored(batches, path, lambda: _judge(CrossEncoder(found, recipe.threads, recipe.teacher_form)), log)


def _judge(model: CrossEncoder) -> Judge:
    def judge(group: Sequence[tuple[str, Sequence[str]]]) -> Floats:
        return model.logits(
            [item for query, texts in group for item in model.model.tokenizer.tokenize_pairs(query, texts)]
        )

    return judge
