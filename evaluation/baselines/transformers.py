"""Bi-, poly- and cross-encoders of papers on the very candidates of a task: finished runs, and model directories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from encoders.artifact import MANIFEST, Artifact
from evaluation.baselines.encoders import AROUND, compare_exported
from evaluation.baselines.matchers import INSTALL
from evaluation.corpus.index import home
from evaluation.measures import Run, ordered
from evaluation.score_cache import KeptScores
from evaluation.stages import Progress
from evaluation.task import Task
from mappings import collection as kinds
from mappings.analysis.passages import passages
from mappings.analysis.window_text import place_in_document
from mappings.errors import ModelError, Unavailable
from search.models.registry import Models
from search.protocols import Reranker, Vectors
from search.ranking.cascade import texts_to_read
from search.settings import Settings

SCORES: Final = "scores.sqlite"
BI_ENCODER: Final = "bi-encoder"


@dataclass(frozen=True, slots=True)
class TaskTexts:
    """The documents of a task by id, as models read them: with their titles, without, and in their whole documents."""

    titled: Mapping[str, str]
    bare: Mapping[str, str]
    whole: Sequence[Mapping[str, str]]

    @classmethod
    def of(cls, task: Task) -> TaskTexts:
        """The texts of a task's corpus; abstracts have the labels of their sections, as in training ("METHODS: …")."""
        bare, titled = {}, {}
        for document in task.corpus.documents():
            parts = (item.text for item in document.sections)
            text = document.labelled_text if task.corpus.kind == "abstracts" else " ".join(parts)
            bare[document.id] = text.strip()
            titled[document.id] = f"{document.title} {bare[document.id]}".strip()
        return cls(titled, bare, task.whole)

    def placed(self) -> dict[str, str]:
        """Each passage with what is around it in its document, where the task tells its documents."""
        placed = {
            key: text
            for document in self.whole
            for key, text in zip(document, place_in_document(list(document.values())), strict=True)
        }
        return {key: placed.get(key, text) for key, text in self.bare.items()}


def find_directories(folder: Path) -> dict[str, Path]:
    """The model directories in a folder, by name."""
    return {item.name: item for item in sorted(folder.iterdir()) if (item / MANIFEST).is_file()}


def describe_transformers(folder: Path) -> dict[str, str]:
    """The fingerprint of each model in a folder, by name. Raises `ModelError` for a damaged one, `Unavailable`."""
    runs = _load_training()
    found = {name: runs.fingerprint_run(place) for name, place in runs.find_rankers(folder).items()}
    return found | {name: Artifact.open(place).fingerprint for name, place in find_directories(folder).items()}


def spell_runs(folder: Path) -> dict[str, str]:
    """Run → its base and how long it was, in words, of the runs of transformers in a folder."""
    runs = _load_training()
    return {name: runs.spell_run(place) for name, place in runs.find_rankers(folder).items()}


def find_bi_encoders(folder: Path) -> list[str]:
    """The names of the bi-encoders in a folder."""
    runs = _load_training()
    kinds = {name: str(runs.read_recipe_of(place)["kind"]) for name, place in runs.find_rankers(folder).items()}
    kinds |= {name: Artifact.open(place).kind for name, place in find_directories(folder).items()}
    return [name for name, kind in kinds.items() if kind == BI_ENCODER]


def rank_transformers(
    task: Task,
    folder: Path,
    chosen: Mapping[str, Collection[str]],
    settings: Settings,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Run]]:
    """(name, question → document ids, best first) of each model in `folder`, among the `chosen` of a question.

    A bi-encoder ranks all documents where the task has no candidate protocol, and only a bi-encoder ranks where there is
    nothing `chosen`. Scores of cross-encoders are kept on disk, so that an interrupted evaluation continues. Equal scores
    are ordered by id. Raises `ModelError` and `Unavailable`.
    """
    texts, settings = TaskTexts.of(task), home(settings)
    yield from _rank_runs(task, folder, texts, chosen, settings, progress)
    yield from _rank_directories(task, folder, texts, chosen, settings, progress)


class RunEncoder:
    """The bi-encoder of a run, as torch computes it."""

    def __init__(self, run: Path) -> None:
        self._ranker = _load_training().load_ranker(run)
        if self._ranker.recipe.kind != BI_ENCODER:
            raise ModelError(f"{run} is the run of a {self._ranker.recipe.kind}, not of a bi-encoder", field=str(run))
        self.fingerprint = str(self._ranker.fingerprint)
        self.dimension = int(self._ranker.encode(["x"], query=True).shape[1])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), in input order."""
        return np.asarray(self._ranker.encode(texts, query=True))

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, d), in input order."""
        return np.asarray(self._ranker.encode(texts, query=False))


def is_run(place: Path) -> bool:
    """Whether a folder is a finished run whose model ranks."""
    return (
        place.is_dir()
        and not (place / MANIFEST).is_file()
        and place.name in _load_training().find_rankers(place.parent)
    )


def describe_run(place: Path) -> dict[str, Any]:
    """What a run's model would have in its card: `recipe`, and `data` with what it was trained on."""
    runs = _load_training()
    return {"recipe": runs.read_recipe_of(place), "data": runs.read_training(place)}


def rank_shipped(
    task: Task, chosen: Mapping[str, Collection[str]], settings: Settings, progress: Progress | None = None
) -> dict[str, Run]:
    """The reranker of the collection kind alone, by its name, among the `chosen` of a question; empty where there is none.

    It reads the parts of a passage that it reads in a search; a document has the score of its best one. The query is read
    as it was asked. Raises as `Models` does.
    """
    settings = home(settings)
    collection = kinds.load(task.corpus.name, task.corpus.kind, settings.collections)
    name = settings.reranker or collection.reranking.model
    if name == "none":
        return {}
    reranker = KeptScores(Models(settings).reranker(name), settings.home / SCORES)
    documents = {item.id: passages(item, 1, collection) for item in task.corpus.documents()}
    found = {}
    for number, question in enumerate(task.questions, 1):
        parts = [
            (key, text)
            for key in sorted(chosen[question.id])
            for passage in documents.get(key, ())
            for text in texts_to_read(passage, question.words, collection.reranking.parts)
        ]
        best: dict[str, float] = {}
        for (key, _), score in zip(parts, reranker.score(question.words, [text for _, text in parts]), strict=True):
            best[key] = max(best.get(key, -np.inf), float(score))
        found[question.id] = ordered(best)
        if progress:
            progress(number, len(task.questions))
    return {Path(name).name: found}


def _rank_runs(
    task: Task,
    folder: Path,
    texts: TaskTexts,
    chosen: Mapping[str, Collection[str]],
    settings: Settings,
    progress: Progress | None,
) -> Iterator[tuple[str, Run]]:
    runs = _load_training()
    for name, place in runs.find_rankers(folder).items():
        ranker = runs.load_ranker(place)
        around = ranker.recipe.windows == AROUND
        shown = texts.placed() if around else texts.titled if ranker.shows_titles else texts.bare
        if ranker.recipe.kind == "cross-encoder":
            if chosen:
                yield name, _rerank(task, shown, chosen, KeptScores(ranker, settings.home / SCORES), progress)
            continue
        wanted = _wanted(task, shown, chosen, everything=ranker.recipe.kind == BI_ENCODER)
        if wanted.any():
            asked = [question.words for question in task.questions]
            yield name, _order(task, list(shown), ranker.compare(asked, list(shown.values()), wanted, progress), wanted)


def _rank_directories(
    task: Task,
    folder: Path,
    texts: TaskTexts,
    chosen: Mapping[str, Collection[str]],
    settings: Settings,
    progress: Progress | None,
) -> Iterator[tuple[str, Run]]:
    models, asked = Models(settings), [question.words for question in task.questions]
    for name, place in find_directories(folder).items():
        artifact = Artifact.open(place)
        around = artifact.reading.windows == AROUND
        if artifact.kind != BI_ENCODER and not around:
            if chosen:
                kept = KeptScores(models.reranker(str(place.absolute())), settings.home / SCORES)
                yield name, _rerank(task, texts.titled, chosen, kept, progress)
            continue
        shown = texts.placed() if around else texts.titled
        wanted = _wanted(task, shown, chosen, everything=artifact.kind == BI_ENCODER)
        if wanted.any():
            found = compare_exported(models, place, asked, list(shown.values()), wanted, progress)
            yield name, _order(task, list(shown), found, wanted)


def _rerank(
    task: Task,
    texts: Mapping[str, str],
    chosen: Mapping[str, Collection[str]],
    reranker: Reranker,
    progress: Progress | None,
) -> Run:
    found = {}
    for number, question in enumerate(task.questions, 1):
        keys = sorted(key for key in chosen[question.id] if key in texts)
        scores = reranker.score(question.words, [texts[key] for key in keys])
        found[question.id] = ordered(dict(zip(keys, map(float, scores), strict=True)))
        if progress:
            progress(number, len(task.questions))
    return found


def _wanted(
    task: Task, texts: Mapping[str, str], chosen: Mapping[str, Collection[str]], everything: bool
) -> NDArray[np.bool_]:
    """Which texts are ranked for which question, shape (questions, texts)."""
    if task.candidates is None and everything:
        return np.ones((len(task.questions), len(texts)), dtype=bool)
    row = {key: number for number, key in enumerate(texts)}
    wanted = np.zeros((len(task.questions), len(texts)), dtype=bool)
    for number, question in enumerate(task.questions):
        wanted[number, [row[key] for key in chosen.get(question.id, ()) if key in row]] = True
    return wanted


def _order(task: Task, keys: Sequence[str], scores: NDArray[np.float32], wanted: NDArray[np.bool_]) -> Run:
    """Question → ids, best first, to the depth of the task where it ranks everything."""
    depth = None if task.candidates else task.depth or None
    return {
        question.id: ordered({keys[at]: float(scores[number, at]) for at in map(int, np.flatnonzero(wanted[number]))})[
            :depth
        ]
        for number, question in enumerate(task.questions)
    }


def _load_training() -> Any:
    """The module that reads runs, with torch."""
    try:
        from encoders.training.runs import ranker
    except ImportError as error:
        raise Unavailable(f"runs of transformers need {error.name}: {INSTALL}") from error
    return ranker
