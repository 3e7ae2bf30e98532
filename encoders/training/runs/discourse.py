"""Train a discourse model (CDV): corpora, vectors of words and a recipe in; trained parts and their directory out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from encoders.discourse.artifact import MODEL
from encoders.training.architectures.bases import describe_base
from encoders.training.discourse.document import DocumentEncoder, TargetDocument
from encoders.training.discourse.folder import DiscourseParts, SentenceModel, write_folder
from encoders.training.discourse.held_out import score_documents
from encoders.training.discourse.names import NamedText, NameEncoder, NameSpace, WordMean, embed_texts
from encoders.training.discourse.recipe import DiscourseRecipe
from encoders.training.loop.optimise import Progress
from encoders.training.loop.precision import choose_device
from encoders.training.run_folder import REPORT, Log
from encoders.training.runs.discourse_parts import fine_tune, make_targets, train_documents, train_names
from encoders.training.runs.discourse_setup import DiscourseSetup, prepare_discourse
from encoders.training.runs.record import RunRecord
from encoders.training.runs.recorded import make_folder, run_recorded


def train_discourse(
    recipe: DiscourseRecipe,
    labels: Path,
    out: Path,
    evaluated: Path | None = None,
    watch: Log | None = None,
    unknown_ancestry: bool = False,
) -> dict[str, Any]:
    """Train by `recipe` on the corpora in `labels`: entities, then aspects, then documents; a kill costs the part it hit.

    `out/model` is the directory that serves, `out/entities`, `out/aspects` and `out/documents` hold the states of the parts,
    and `out/fine-tuned` those of the second step if there is one. What sentences a frozen transformer has read is kept there,
    too. A base needs a recorded ancestry, without evaluation data, unless `unknown_ancestry`.
    Raises `InvalidInput`, `NotFound`, `ModelError` and `Conflict`, as `encoders.training.runs.train.train` does.
    """
    device = choose_device(recipe)
    setup = prepare_discourse(recipe, labels, out, device, evaluated, unknown_ancestry)
    make_folder(out)
    return run_recorded(RunRecord.start(recipe, setup.hashes, device), out, watch, partial(_run, setup, out))


def _run(setup: DiscourseSetup, out: Path, log: Log) -> dict[str, Any]:
    """Train the parts, write the directory, and score the held-out documents; returns the report of the run."""
    recipe = setup.recipe
    counts = {
        "documents": len(setup.trained),
        "entities": len(setup.entities),
        "aspects": len(setup.aspects),
        "sentences_left_out": sum(document.left_out for document in setup.read),
    }
    log({"recipe": recipe.as_json(), "pairs": counts})
    entities, aspects = train_names(setup, out, log)
    spaces = (_embed(setup, entities, setup.entities), _embed(setup, aspects, setup.aspects))
    targets = make_targets(setup, spaces, out, log)
    documents, progress = train_documents(setup, targets, out, log)
    sentences, progress = _finish_sentences(setup, (documents, progress), targets, out, log)
    parts = DiscourseParts(entities, aspects, spaces, documents, setup.words)
    write_folder(out / MODEL, recipe.name, {"recipe": recipe.as_json()}, parts, sentences)
    setup.ancestry.write(out / MODEL)
    report = {
        "recipe": recipe.as_json(),
        "words": {"fingerprint": setup.words.fingerprint, "dimension": setup.words.dimension},
        **(describe_base(recipe.base) if sentences else {}),
        "pairs": counts,
        "data": dict(setup.label_counts),
        "steps": progress.step,
        "best_step": progress.best_step or progress.step,
        "held_out": score_documents(out / MODEL, setup.held_out, recipe.seed),
    }
    (out / REPORT).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


def _finish_sentences(
    setup: DiscourseSetup,
    first: tuple[DocumentEncoder, Progress],
    targets: Sequence[TargetDocument],
    out: Path,
    log: Log,
) -> tuple[SentenceModel | None, Progress]:
    """The transformer that reads sentences, after the second step if there is one, and the counters of the last step."""
    held, recipe, (documents, progress) = setup.sentences, setup.recipe, first
    if held is None:
        return None, progress
    card = {"name": f"{recipe.name}-sentences", **describe_base(recipe.base), "recipe": recipe.as_json()}
    if not recipe.fine_tune_epochs:
        return SentenceModel(held.tower, card, held.parent.ancestry, held.compared), progress
    tower, progress = fine_tune(setup, documents, targets, out, log)
    return SentenceModel(tower, card, setup.ancestry, held.compared), progress


def _embed(setup: DiscourseSetup, model: NameEncoder | WordMean, texts: Sequence[NamedText]) -> NameSpace:
    embedded = embed_texts(model, setup.words, [item.text for item in texts])
    return NameSpace.of(texts, embedded, setup.recipe.centred)
