"""The matching networks of papers, trained by `medley train`, on the very candidates of a task."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from encoders.words.vectors import has_word
from evaluation.measures import Run, ordered
from evaluation.stages import Progress
from evaluation.task import Task
from mappings.errors import Unavailable

INSTALL: Final = "pip install -e '.[cpu,train,eval]'"


def describe_matchers(folder: Path) -> dict[str, str]:
    """The SHA-256 of each trained network in a folder, by name. Raises `Unavailable`, and as `load_matcher` does.

    Each is loaded once, so that a damaged one is told before anything is ranked.
    """
    checkpoint = _load_training()
    for place in checkpoint.find_matchers(folder).values():
        checkpoint.load_matcher(place)
    return {
        name: sha256(
            b"".join((place / file).read_bytes() for file in (checkpoint.MATCHER, checkpoint.WEIGHTS))
        ).hexdigest()
        for name, place in checkpoint.find_matchers(folder).items()
    }


def rank_matchers(
    task: Task, folder: Path, chosen: Mapping[str, Collection[str]], progress: Progress | None = None
) -> Iterator[tuple[str, Run]]:
    """(name, question → document ids, best first) of each network in `folder`, among the `chosen` of a question.

    A network reads the words of a question, such as entity and aspect, and a document's text, as in training without its
    title; documents without a word come last. Raises as `describe_matchers` does, and `ModelError` for a damaged checkpoint
    or other vectors of words than it was trained with.
    """
    checkpoint = _load_training()
    texts = {
        document.id: " ".join(item.text for item in document.sections).strip() for document in task.corpus.documents()
    }
    worded = {key for key, text in texts.items() if has_word(text)}
    for name, place in checkpoint.find_matchers(folder).items():
        ranker, found = checkpoint.load_matcher(place), {}
        for number, question in enumerate(task.questions, 1):
            keys = [key for key in sorted(chosen[question.id]) if key in worded]
            scores = ranker.score(question.words, [texts[key] for key in keys]) if keys else ()
            silent = dict.fromkeys(set(chosen[question.id]) - worded, -math.inf)
            found[question.id] = ordered(dict(zip(keys, map(float, scores), strict=True)) | silent)
            if progress:
                progress(number, len(task.questions))
        yield name, found


def _load_training() -> Any:
    """The module that reads checkpoints, with torch."""
    try:
        from encoders.training.matching import checkpoint
    except ImportError as error:
        raise Unavailable(f"matching networks need {error.name}: {INSTALL}") from error
    return checkpoint
