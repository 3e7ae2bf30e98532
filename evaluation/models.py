"""The models of a suite: opened before anything is indexed, and described in its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evaluation.score_cache import KeptScores
from evaluation.stages import Session
from evaluation.task import Task
from mappings import collection as kinds
from mappings.collection import DISCOURSE, Collection
from search.bootstrap import Medley
from search.models.registry import Models
from search.ranking.anytime import AnytimeReranker, Pace, ScoreCache
from search.ranking.cascade import RerankStages
from search.settings import Settings


def require_models(tasks: Sequence[Task], settings: Settings, rerank: bool) -> None:
    """Raise as `Models` does where a baseline of the tasks is missing, or, with `rerank`, a reranker."""
    for name in {task.encoder for task in tasks if task.encoder}:
        Models(settings).encoder(name)
    if not rerank:
        return
    for corpus in {task.corpus.kind: task.corpus for task in tasks}.values():
        open_rerankers(kinds.load(corpus.name, corpus.kind, settings.collections), settings)


def open_rerankers(collection: Collection, settings: Settings) -> RerankStages | None:
    """The rerankers of a collection, which need not exist yet; no engine is opened for them."""
    return Models(settings).rerank_stages(collection)


def reranker_fingerprints(collection: Collection, settings: Settings) -> list[str]:
    """Those of the rerankers that `open_rerankers` opens, in the order of their stages."""
    stages = open_rerankers(collection, settings)
    return [item.reranker.fingerprint for item in (stages.first, stages.last) if item] if stages else []


def configure(task: Task, settings: Settings) -> Settings:
    """The settings under which the corpus of a task is indexed: with its own bi-encoder if it names one."""
    return replace(settings, encoder=task.encoder) if task.encoder else settings


def keep_scores(stages: RerankStages, file: Path) -> RerankStages:
    """The rerankers, with their scores kept on disk."""

    def kept(anytime: AnytimeReranker) -> AnytimeReranker:
        return AnytimeReranker(KeptScores(anytime.reranker, file), ScoreCache(1_000), Pace())

    return RerankStages(kept(stages.last), kept(stages.first) if stages.first else None)


def describe_models(medley: Medley, name: str, rerank: bool) -> dict[str, Any]:
    """The models in the report of a suite whose collection `name` is indexed."""
    collection = medley.collections.get(name)
    settings = medley.settings
    encoders = medley.engine.resolve(name).encoders
    names = {field: settings.encoder or model for field, model in collection.vectors.items()}
    whole = medley.models.discourse.of(collection)
    names |= {DISCOURSE: whole.name} if whole else {}
    reranker = settings.reranker or collection.reranking.model
    return {
        "encoders": {field: {"name": names.get(field, ""), "fingerprint": value} for field, value in encoders.items()},
        "reranker": reranker if rerank and reranker != "none" else None,
        "fusion": {
            "method": collection.fusion.method,
            "normalisation": collection.fusion.normalisation,
            "weights": dict(collection.fusion.weights),
        },
        "rerank_weight": collection.reranking.weight,
        **({"feedback": asdict(collection.feedback)} if collection.feedback else {}),
        **_stages(collection, settings),
        "forms": _forms(medley, collection, rerank),
        "candidates": settings.candidates or collection.reranking.candidates,
    }


def describe_baseline(medley: Medley, task: Task) -> dict[str, str]:
    """Name and fingerprint of the further bi-encoder of a task, which is loaded for the questions to come."""
    return {"name": Path(task.encoder).name, "fingerprint": medley.models.encoder(task.encoder).fingerprint}


def _forms(medley: Medley, collection: Collection, rerank: bool) -> dict[str, str]:
    """Fingerprint → the numeric form in which a model ran, without those that a model server runs or that have none."""
    models: list[Any] = list(medley.models.encoders(collection).values())
    stages = medley.models.rerank_stages(collection) if rerank else None
    models += [item.reranker for item in (stages.first, stages.last) if item] if stages else []
    return {model.fingerprint: model.form for model in models if getattr(model, "form", "")}


def _stages(collection: Collection, settings: Settings) -> dict[str, Any]:
    first, parts = collection.reranking.first, collection.reranking.parts
    described: dict[str, Any] = {"parts": asdict(parts)} if parts else {}
    if first and not settings.reranker:
        described["first_stage"] = {"name": first.model, "keep": first.keep, "weight": first.weight}
    return described


def open_session(medley: Medley, task: Task, rerank: bool) -> Session:
    """The task over its open collection, with cross-encoder scores kept on disk."""
    found = medley.models.rerank_stages(medley.collections.get(task.corpus.name)) if rerank else None
    kept = keep_scores(found, medley.settings.home / "scores.sqlite") if found else None
    return Session(medley, task, kept)
