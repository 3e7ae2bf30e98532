"""What a discourse run starts with: loaded and checked before anything in its folder changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from encoders.ancestry.record import Ancestry
from encoders.ancestry.seen import SeenTexts
from encoders.artifact import digest
from encoders.discourse.artifact import ASPECTS, DOCUMENTS, ENTITIES
from encoders.discourse.reading import SentenceSequence, read_sentences
from encoders.labels.guard import check_corpus
from encoders.labels.pairs import Text
from encoders.training.architectures.bases import describe_base
from encoders.training.data.word_vectors import open_words
from encoders.training.discourse.corpora import (
    HeadedDocument,
    describe_aspects,
    describe_entities,
    group_documents,
    name_entities,
    read_corpora,
    split_documents,
)
from encoders.training.discourse.folder import choose_gate_sentences
from encoders.training.discourse.links import Links, link_sentences
from encoders.training.discourse.names import NamedText
from encoders.training.discourse.recipe import BY_WORDS, EMBEDDED, POOLED, DiscourseRecipe
from encoders.training.discourse.sentences import SentenceTower
from encoders.training.loop.state import STATE, check_state, make_identity
from encoders.training.run_folder import REPORT
from encoders.training.runs.initial import load_initial, silence_loaders
from encoders.training.runs.parents import Parent, find_parents, make_ancestry, words_parent
from encoders.training.runs.recorded import read_label_counts
from encoders.words.vectors import WordVectors
from mappings.clinical.reading import shipped_reader
from mappings.errors import Conflict, InvalidInput

PARTS: Final = tuple(Path(name).stem for name in (ENTITIES, ASPECTS, DOCUMENTS))
"""The folders of the states of the parts, in the order of their training."""
ENTITY_PART, ASPECT_PART, DOCUMENT_PART = PARTS
FINE_TUNED: Final = "fine-tuned"
"""The folder of the states of the second step."""


@dataclass(frozen=True, slots=True)
class HeldSentences:
    """The transformer that reads sentences, its parent, which is the base, and the sentences that its export compares."""

    tower: SentenceTower
    parent: Parent
    compared: Sequence[str]


@dataclass(frozen=True, slots=True)
class DiscourseSetup:
    """The inputs of a run. `read` are the sentences of `trained`, `links` the entities that each links to beside its title.

    `identities` is that of each part's states, by folder.
    """

    recipe: DiscourseRecipe
    words: WordVectors
    trained: Sequence[HeadedDocument]
    read: Sequence[SentenceSequence]
    links: Sequence[Sequence[Links]]
    held_out: Sequence[HeadedDocument]
    entities: Sequence[NamedText]
    aspects: Sequence[NamedText]
    sentences: HeldSentences | None
    identities: Mapping[str, Mapping[str, Any]]
    hashes: Mapping[str, str]
    label_counts: Mapping[str, Any]
    ancestry: Ancestry
    device: str


def prepare_discourse(
    recipe: DiscourseRecipe, labels: Path, out: Path, device: str, evaluated: Path | None, unknown_ancestry: bool
) -> DiscourseSetup:
    """Raises as `encoders.training.runs.discourse.train_discourse` does; changes nothing."""
    corpora = read_corpora(labels, (*recipe.documents, *recipe.descriptions))
    if evaluated is not None:
        for name, texts in corpora.items():
            check_corpus(name, texts, evaluated)
    words = open_words(recipe.words)
    if BY_WORDS in (recipe.entities, recipe.aspects) and words.dimension != recipe.dimension:
        message = (
            f"the words have {words.dimension} dimensions; names that are means of words need dimension to be that"
        )
        raise InvalidInput(message, field="dimension")
    hashes = {name: digest(labels / "corpora" / f"{name}.jsonl") for name in corpora}
    identities = _identify(recipe, {**hashes, "words": words.fingerprint}, out)
    torch.set_num_threads(recipe.threads)
    trained, held_out = _split(recipe, corpora)
    described = [text for name in recipe.descriptions for text in corpora[name]]
    read = [read_sentences(document.passages) for document in trained]
    sentences = _load_sentences(recipe, (read, held_out), device, evaluated, unknown_ancestry)
    links = link_sentences(read, shipped_reader()) if recipe.linked else [[()] * len(item.sentences) for item in read]
    parents = [*([sentences.parent] if sentences else []), words_parent(recipe.words, words)]
    return DiscourseSetup(
        recipe=recipe,
        words=words,
        trained=trained,
        read=read,
        links=links,
        held_out=held_out,
        entities=_name_entities(recipe, trained, described, links),
        aspects=describe_aspects(trained),
        sentences=sentences,
        identities=identities,
        hashes=hashes,
        label_counts=read_label_counts(labels),
        ancestry=make_ancestry(parents, recipe, hashes, SeenTexts.of_corpora(corpora), evaluated is not None),
        device=device,
    )


def _name_entities(
    recipe: DiscourseRecipe,
    trained: Sequence[HeadedDocument],
    described: Sequence[Text],
    links: Sequence[Sequence[Links]],
) -> list[NamedText]:
    """What tells of each entity, and the names of those that sentences link to."""
    own = describe_entities(trained, described) if recipe.entities == EMBEDDED else name_entities(trained)
    linked = (name for document in links for sentence in document for name in sentence)
    return list(dict.fromkeys([*own, *linked]))


def _identify(recipe: DiscourseRecipe, inputs: Mapping[str, str], out: Path) -> dict[str, Mapping[str, Any]]:
    """The identity of each part's states. Raises `Conflict` for states in `out` that have another one.

    The parts of the first step do not depend on the second: a run that had none can go on with one.
    """
    if recipe.sentences == POOLED:
        inputs = {**inputs, "base": describe_base(recipe.base)["base"]}
    if recipe.linked:
        inputs = {**inputs, "reader": shipped_reader().version}
    first = make_identity(recipe.first_step(), inputs)
    identities = {**dict.fromkeys(PARTS, first), FINE_TUNED: make_identity(recipe, inputs)}
    for part in (*PARTS, FINE_TUNED):
        check_state(out / part, identities[part])
    if (out / REPORT).exists() and not (out / DOCUMENT_PART / STATE).is_file():
        missing = f"{out} contains a finished run without its {DOCUMENT_PART}/{STATE}: train into another folder"
        raise Conflict(missing, field="OUT")
    return identities


def _split(
    recipe: DiscourseRecipe, corpora: Mapping[str, Sequence[Text]]
) -> tuple[list[HeadedDocument], list[HeadedDocument]]:
    """(documents to train on, held-out ones). Raises `InvalidInput` if there is none to train on."""
    documents = [
        item
        for name in recipe.documents
        for item in group_documents(corpora[name], recipe.headless, recipe.most_passages)
    ]
    trained, held_out = split_documents(documents)
    if held_out and not trained:
        message = (
            f"of all {len(held_out)} documents none is left to train on: a tenth is held out by title, and these are"
        )
        raise InvalidInput(message, field="documents")
    if not trained:
        raise InvalidInput("no document has a title and a heading, so there is nothing to train on", field="documents")
    return trained, held_out


def _load_sentences(
    recipe: DiscourseRecipe,
    documents: tuple[Sequence[SentenceSequence], Sequence[HeadedDocument]],
    device: str,
    evaluated: Path | None,
    unknown_ancestry: bool,
) -> HeldSentences | None:
    """The base as the first step reads sentences, by the mean of its states; None where they are means of words."""
    if recipe.sentences != POOLED:
        return None
    silence_loaders()
    read, held_out = documents
    own = [text for item in held_out for text in read_sentences(item.passages).sentences]
    compared = choose_gate_sentences(own, [text for item in read for text in item.sentences], recipe.seed)
    wanted = recipe.of_sentences("mean")
    (parent,) = find_parents(wanted, evaluated, unknown_ancestry)
    tower = SentenceTower(load_initial(wanted), recipe.sentence_length)
    tower.model.to(device)
    return HeldSentences(tower, parent, compared)
