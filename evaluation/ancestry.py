"""Beside each suite: whether the models that it measures, or models that they come from, saw what it evaluates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from encoders.ancestry.overlap import Overlap, find_overlap
from encoders.ancestry.record import Ancestry, read_ancestry
from encoders.artifact import MANIFEST, find
from encoders.hashing import HashingEncoder
from encoders.labels.evaluated import JudgedData, read_judged_suite
from encoders.labels.pairs import Text
from encoders.marked import base_fingerprint
from evaluation.task import Task
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.errors import ModelError
from search.models.registry import Models


def describe_ancestry(models: Models, suite: str, task: Task, rerank: bool) -> list[dict[str, Any]]:
    """For each trained model of the task: `state` (clean, overlap or unknown), the counts, and both as a `sentence`.

    Raises `ModelError` for a damaged record.
    """
    collection = kinds.load(task.corpus.name, task.corpus.kind, models.settings.collections)
    found = dict(_trained_models(models, collection, rerank))
    if not found:
        return []
    judged = _judged(models.settings.data, suite, task)
    return [
        _row(name, fingerprint, find_overlap(_read(models, name, fingerprint), judged))
        for fingerprint, name in found.items()
    ]


def is_seen(ancestry: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a model, by the rows of `describe_ancestry`, is known to have seen something of what is evaluated."""
    return any(row["state"] == "overlap" for row in ancestry)


def _row(name: str, fingerprint: str, overlap: Overlap) -> dict[str, Any]:
    return {
        "model": Path(name).name,
        "fingerprint": fingerprint,
        "state": overlap.state,
        "queries": overlap.queries,
        "texts": overlap.texts,
        "entities": overlap.entities,
        "sentence": str(overlap),
    }


def _trained_models(models: Models, collection: Collection, rerank: bool) -> Iterator[tuple[str, str]]:
    """(fingerprint, name) of each model that was trained: encoders, then rerankers."""
    settings = models.settings
    untrained = HashingEncoder(256).fingerprint
    for field, encoder in models.encoders(collection).items():
        if base_fingerprint(encoder.fingerprint) != untrained:
            yield base_fingerprint(encoder.fingerprint), settings.encoder or collection.vectors[field]
    whole = models.discourse.of(collection)
    if whole is not None:
        yield whole.fingerprint, whole.name
    stages = models.rerank_stages(collection) if rerank else None
    if stages is not None:
        if stages.first is not None and collection.reranking.first is not None:
            yield stages.first.reranker.fingerprint, collection.reranking.first.model
        yield stages.last.reranker.fingerprint, settings.reranker or collection.reranking.model


def _read(models: Models, name: str, fingerprint: str) -> Ancestry:
    """The ancestry beside the model with this fingerprint; unknown if no model directory here has it."""
    for candidate in (name, *models.names()):
        try:
            folder = find(candidate, models.folders())
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (ModelError, OSError, ValueError):
            continue  # a broken model can't be the one that was measured
        if manifest.get("fingerprint") == fingerprint:
            return read_ancestry(folder, fingerprint)
    if (place := models.discourse.folder_of(fingerprint)) is not None:
        return read_ancestry(place, fingerprint)
    return Ancestry(unknown=("its model directory is not on this machine",))


def _judged(data: Path | None, suite: str, task: Task) -> JudgedData:
    """What the suite evaluates: by its data set, or for judgements of one's own by the task itself."""
    known = read_judged_suite(data, suite) if data is not None else None
    return known or JudgedData(
        suite, tuple(question.words for question in task.questions), tuple(_relevant_texts(task))
    )


def _relevant_texts(task: Task) -> Iterator[Text]:
    """The documents with an answer, whole and by section."""
    answers = {
        key.partition("#")[0] for grades in task.judgements.values() for key, grade in grades.items() if grade > 0
    }
    for document in task.corpus.documents():
        if document.id in answers:
            parts = [section.text for section in document.sections]
            for text in dict.fromkeys((" ".join(parts), *parts)):
                yield Text(document.id, document.title, "", text)
