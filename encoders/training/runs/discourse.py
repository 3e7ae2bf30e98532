"""Train a discourse model (CDV): corpora, vectors of words and a recipe in; three trained parts and their directory out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import torch
from torch import Tensor, nn

from encoders.ancestry.record import Ancestry
from encoders.ancestry.seen import SeenTexts
from encoders.artifact import digest
from encoders.discourse.artifact import ASPECTS, DOCUMENTS, ENTITIES, MODEL, NAMES, WORDS, seal_discourse
from encoders.discourse.encoder import DiscourseEncoder, write_names
from encoders.discourse.reading import MOST_WORDS, read_sentences
from encoders.discourse.slots import entity_key, split_aspect
from encoders.labels.guard import check_corpus
from encoders.labels.pairs import Text
from encoders.training.data.word_vectors import open_words
from encoders.training.discourse.corpora import (
    HeadedDocument,
    describe_aspects,
    describe_entities,
    group_documents,
    name_entities,
    plan_documents,
    read_corpora,
    split_documents,
)
from encoders.training.discourse.document import DocumentEncoder, TargetDocument, document_loss
from encoders.training.discourse.graphs import write_document_graph, write_name_graph
from encoders.training.discourse.names import (
    NamedText,
    NameEncoder,
    NameSpace,
    WordMean,
    embed_texts,
    name_loss,
    plan_names,
)
from encoders.training.discourse.recipe import BY_WORDS, EMBEDDED, DiscourseRecipe
from encoders.training.loop.optimise import LoopContext, Progress, optimise
from encoders.training.loop.precision import choose_device
from encoders.training.loop.state import check_state, make_identity
from encoders.training.run_folder import REPORT, Log, open_log
from encoders.training.runs.parents import make_ancestry, words_parent
from encoders.training.runs.record import RunRecord
from encoders.training.runs.recorded import make_folder, read_label_counts, run_recorded
from encoders.words.vectors import WordVectors
from mappings.errors import InvalidInput

CANDIDATES: Final = 64
_DOCUMENTS: Final = "documents"


@dataclass(frozen=True, slots=True)
class _DiscourseSetup:
    """What a run starts with, loaded and checked before anything in its folder changes."""

    recipe: DiscourseRecipe
    words: WordVectors
    trained: Sequence[HeadedDocument]
    held_out: Sequence[HeadedDocument]
    entities: Sequence[NamedText]
    aspects: Sequence[NamedText]
    identity: Mapping[str, Any]
    label_counts: Mapping[str, Any]
    ancestry: Ancestry
    device: str


def train_discourse(
    recipe: DiscourseRecipe, labels: Path, out: Path, evaluated: Path | None = None, watch: Log | None = None
) -> dict[str, Any]:
    """Train by `recipe` on the corpora in `labels`: entities, then aspects, then documents; a kill costs the part it hit.

    `out/model` is the directory that serves, `out/entities`, `out/aspects` and `out/documents` hold the states of the parts.
    Raises `InvalidInput`, `NotFound`, `ModelError` and `Conflict`, as `encoders.training.runs.train.train` does.
    """
    device = choose_device(recipe)
    corpora = read_corpora(labels, (*recipe.documents, *recipe.descriptions))
    if evaluated is not None:
        for name, texts in corpora.items():
            check_corpus(name, texts, evaluated)
    words = open_words(recipe.words)
    hashes = {name: digest(labels / "corpora" / f"{name}.jsonl") for name in corpora}
    identity = make_identity(recipe, {**hashes, "words": words.fingerprint})
    for part in (ENTITIES, ASPECTS, DOCUMENTS):
        check_state(out / Path(part).stem, identity)
    setup = _prepare(recipe, corpora, words, (identity, hashes, evaluated is not None), device, labels)
    make_folder(out)
    return run_recorded(RunRecord.start(recipe, hashes, device), out, watch, partial(_run, setup, out))


def _prepare(
    recipe: DiscourseRecipe,
    corpora: Mapping[str, Sequence[Text]],
    words: WordVectors,
    known: tuple[Mapping[str, Any], Mapping[str, str], bool],
    device: str,
    labels: Path,
) -> _DiscourseSetup:
    identity, hashes, checked = known
    torch.set_num_threads(recipe.threads)
    if recipe.entities == BY_WORDS and words.dimension != recipe.dimension:
        message = (
            f"the words have {words.dimension} dimensions; entities that are means of words need dimension to be that"
        )
        raise InvalidInput(message, field="dimension")
    documents = [
        item
        for name in recipe.documents
        for item in group_documents(corpora[name], recipe.heading, recipe.most_passages)
    ]
    trained, held_out = split_documents(documents)
    if not trained:
        raise InvalidInput("no document has a title and a heading, so there is nothing to train on", field="documents")
    described = [text for name in recipe.descriptions for text in corpora[name]]
    parent = words_parent(recipe.words, words)
    seen = SeenTexts.of_corpora(corpora)
    return _DiscourseSetup(
        recipe=recipe,
        words=words,
        trained=trained,
        held_out=held_out,
        entities=describe_entities(trained, described) if recipe.entities == EMBEDDED else name_entities(trained),
        aspects=describe_aspects(trained),
        identity=identity,
        label_counts=read_label_counts(labels),
        ancestry=make_ancestry([parent], recipe, hashes, seen, checked),
        device=device,
    )


def _run(setup: _DiscourseSetup, out: Path, log: Log) -> dict[str, Any]:
    """Train the three parts, write the directory, and score the held-out documents; returns the report of the run."""
    recipe = setup.recipe
    counts = {"documents": len(setup.trained), "entities": len(setup.entities), "aspects": len(setup.aspects)}
    log({"recipe": recipe.as_json(), "pairs": counts})
    by_words = recipe.entities == BY_WORDS
    entities = (
        WordMean(setup.words.dimension) if by_words else _train_names(setup, setup.entities, out / "entities", log)
    )
    aspects = _train_names(setup, setup.aspects, out / "aspects", log)
    spaces = (_embed(setup, entities, setup.entities), _embed(setup, aspects, setup.aspects))
    targets = [_target(item, spaces, setup.words) for item in setup.trained]
    torch.manual_seed(recipe.seed)
    model = DocumentEncoder(recipe, targets[0].sentences.shape[1]).to(setup.device)
    plan = [
        [targets[place] for place in batch] for batch in plan_documents([len(t.sentences) for t in targets], recipe)
    ]
    progress = _optimise(setup, model, out / _DOCUMENTS, log, plan, partial(document_loss, model))
    _write_model(out / MODEL, setup, (entities, aspects, model), spaces)
    report = {
        "recipe": recipe.as_json(),
        "words": {"fingerprint": setup.words.fingerprint, "dimension": setup.words.dimension},
        "pairs": counts,
        "data": dict(setup.label_counts),
        "steps": progress.step,
        "best_step": progress.best_step or progress.step,
        "held_out": score_documents(out / MODEL, setup.held_out, recipe.seed),
    }
    (out / REPORT).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    return report


def _train_names(setup: _DiscourseSetup, texts: Sequence[NamedText], folder: Path, log: Log) -> NameEncoder:
    recipe = setup.recipe.of_names()
    torch.manual_seed(recipe.seed)
    model = NameEncoder(recipe, setup.words.dimension).to(setup.device)
    _optimise(
        setup, model, folder, log, plan_names(texts, recipe), partial(name_loss, model, setup.words, recipe), recipe
    )
    return model


def _optimise(
    setup: _DiscourseSetup,
    model: nn.Module,
    folder: Path,
    log: Log,
    plan: Sequence[Any],
    loss: Callable[[Any], Tensor],
    recipe: DiscourseRecipe | None = None,
) -> Progress:
    folder.mkdir(exist_ok=True)
    told = partial(_tell, open_log(folder / "log.jsonl"), log, folder.name)
    return optimise(LoopContext(model, recipe or setup.recipe, folder, told, setup.identity, loss), plan)


def _tell(own: Log, whole: Log, part: str, entry: Mapping[str, Any]) -> None:
    """An entry of a part goes into its own log, and into that of the run with its name."""
    own(entry)
    whole({"part": part, **entry})


def _embed(setup: _DiscourseSetup, model: NameEncoder | WordMean, texts: Sequence[NamedText]) -> NameSpace:
    embedded = embed_texts(model, setup.words, [item.text for item in texts])
    return NameSpace.of(texts, embedded, setup.recipe.centred)


def _target(document: HeadedDocument, spaces: tuple[NameSpace, NameSpace], words: WordVectors) -> TargetDocument:
    """What each sentence is to tell: the document's entity and the mean of the heading's aspects (equations 15 and 16)."""
    read = read_sentences(document.passages)
    entity = spaces[0].vectors[entity_key(document.title)]
    aspects = [
        np.mean([spaces[1].vectors[part] for part in split_aspect(heading)], axis=0) for heading in document.headings
    ]
    sentences = np.concatenate([words.mean(read.sentences, MOST_WORDS), read.flags], axis=1)
    return TargetDocument(
        torch.from_numpy(sentences),
        torch.from_numpy(np.tile(entity, (len(read.sentences), 1))),
        torch.from_numpy(np.stack([aspects[number] for number in read.passages])),
    )


def _write_model(
    folder: Path,
    setup: _DiscourseSetup,
    models: tuple[NameEncoder | WordMean, NameEncoder, DocumentEncoder],
    spaces: tuple[NameSpace, NameSpace],
) -> None:
    folder.mkdir(exist_ok=True)
    setup.words.save(folder / WORDS)
    known = spaces[0].vectors
    write_names(folder / NAMES, list(known), np.stack(list(known.values())))
    for model, space, name in zip(models[:2], spaces, (ENTITIES, ASPECTS), strict=True):
        write_name_graph(model, space.centre, folder / name)
    write_document_graph(models[2], folder / DOCUMENTS)
    seal_discourse(folder, setup.recipe.name, setup.recipe.dimension, {"recipe": setup.recipe.as_json()})
    setup.ancestry.write(folder)


def score_documents(folder: Path, documents: Sequence[HeadedDocument], seed: int) -> dict[str, Any]:
    """How well each held-out passage is found by its title and heading among `CANDIDATES`: the others of its document, and random ones.

    `{"queries", "RR", "Success@1"}`, with empty figures where nothing is held out.
    """
    encoder = DiscourseEncoder.open(folder)
    read = encoder.encode_documents([item.passages for item in documents])
    owned = [item.passage_vectors(len(document.passages)) for item, document in zip(read, documents, strict=True)]
    every = np.concatenate(owned) if owned else np.zeros((0, 0), np.float32)
    starts = np.cumsum([0, *map(len, owned)])
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    ranks = []
    for number, document in enumerate(documents):
        own = range(starts[number], starts[number + 1])
        others = [place for place in draw.sample(range(len(every)), min(len(every), CANDIDATES)) if place not in own]
        chosen = [*own, *others][:CANDIDATES]
        for place, heading in zip(own, document.headings, strict=True):
            if place in chosen:
                scores = every[chosen] @ encoder.encode_query(document.title, heading)
                ranks.append(1 + int((scores > scores[chosen.index(place)]).sum()))
    if not ranks:
        return {"queries": 0}
    found = np.asarray(ranks, float)
    figures = {"RR": round(float((1 / found).mean()), 4), "Success@1": round(float((found == 1).mean()), 4)}
    return {"queries": len(ranks), **figures}
