"""Train the parts of a discourse model, each by the loop: names, documents, and documents jointly with their sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from encoders.discourse.reading import FLAGS, MOST_WORDS, SentenceSequence
from encoders.discourse.slots import entity_key, split_aspect
from encoders.pooling import Floats
from encoders.training.discourse.corpora import HeadedDocument, plan_documents
from encoders.training.discourse.document import DocumentEncoder, TargetDocument, document_loss
from encoders.training.discourse.joint import JointEncoder, JointLoss, TokenDocument
from encoders.training.discourse.links import Links
from encoders.training.discourse.names import NamedText, NameEncoder, NameSpace, WordMean, name_loss, plan_names
from encoders.training.discourse.recipe import BY_WORDS
from encoders.training.discourse.sentences import SentenceTower, read_frozen
from encoders.training.loop.gradients import cached_gradients
from encoders.training.loop.optimise import LoopContext, Progress, optimise
from encoders.training.loop.processes import ALONE
from encoders.training.run_folder import Log, open_log
from encoders.training.runs.discourse_setup import ASPECT_PART, DOCUMENT_PART, ENTITY_PART, FINE_TUNED, DiscourseSetup
from encoders.training.runs.initial import load_initial

SENTENCE_PART: Final = "sentences"
ReadSentences = Callable[[Sequence[str]], Floats]
"""The vectors of sentences, shape (sentences, d)."""


def train_names(setup: DiscourseSetup, out: Path, log: Log) -> tuple[NameEncoder | WordMean, NameEncoder | WordMean]:
    """The embeddings of entities and of aspects; those that are means of words are not trained."""
    recipe = setup.recipe
    return (
        _train_part(setup, recipe.entities, setup.entities, out / ENTITY_PART, log),
        _train_part(setup, recipe.aspects, setup.aspects, out / ASPECT_PART, log),
    )


def _train_part(
    setup: DiscourseSetup, form: str, texts: Sequence[NamedText], folder: Path, log: Log
) -> NameEncoder | WordMean:
    if form == BY_WORDS:
        return WordMean(setup.words.dimension)
    recipe = setup.recipe.of_names()
    torch.manual_seed(recipe.seed)
    model = NameEncoder(recipe, setup.words.dimension).to(setup.device)
    loss = partial(name_loss, model, setup.words, recipe)
    told, identity = _open_part(folder, log), setup.identities[folder.name]
    optimise(LoopContext(model, recipe, folder, told, identity, loss), plan_names(texts, recipe))
    return model


def make_targets(
    setup: DiscourseSetup, spaces: tuple[NameSpace, NameSpace], out: Path, log: Log
) -> list[TargetDocument]:
    """Each document with the vectors of its sentences, which are frozen, and what each sentence is to tell."""
    if setup.sentences is None:
        encode: ReadSentences = partial(setup.words.mean, most_words=MOST_WORDS)
    else:
        every = (text for read in setup.read for text in read.sentences)
        base = str(setup.identities[DOCUMENT_PART]["inputs"]["base"])
        encode = read_frozen(setup.sentences.tower, every, out, base, _in_part(SENTENCE_PART, log)).lookup
    known = zip(setup.trained, setup.read, setup.links, strict=True)
    return [_target(item, read, links, spaces, encode) for item, read, links in known]


def _target(
    document: HeadedDocument,
    read: SentenceSequence,
    links: Sequence[Links],
    spaces: tuple[NameSpace, NameSpace],
    encode: ReadSentences,
) -> TargetDocument:
    """What each sentence is to tell: the means over its entities, its title's among them, and over its heading's aspects.

    Equations 15 and 16. Without a heading it tells no aspect.
    """
    title, known = entity_key(document.title), spaces[0].vectors
    entities = [
        np.mean([known[name] for name in dict.fromkeys((title, *(link.name for link in found)))], axis=0)
        for found in links
    ]
    untold = np.full_like(entities[0], np.nan)
    aspects = [
        np.mean([spaces[1].vectors[part] for part in parts], axis=0) if (parts := split_aspect(heading)) else untold
        for heading in document.headings
    ]
    return TargetDocument(
        torch.from_numpy(np.concatenate([encode(read.sentences), read.flags], axis=1)),
        torch.from_numpy(np.stack(entities)),
        torch.from_numpy(np.stack([aspects[number] for number in read.passages])),
    )


def train_documents(
    setup: DiscourseSetup, targets: Sequence[TargetDocument], out: Path, log: Log
) -> tuple[DocumentEncoder, Progress]:
    """The document encoder on frozen sentences."""
    recipe = setup.recipe
    torch.manual_seed(recipe.seed)
    model = DocumentEncoder(recipe, targets[0].sentences.shape[1]).to(setup.device)
    plan = plan_documents([len(target.sentences) for target in targets], recipe)
    folder = out / DOCUMENT_PART
    told, loss = _open_part(folder, log), partial(document_loss, model)
    context = LoopContext(model, recipe, folder, told, setup.identities[DOCUMENT_PART], loss)
    return model, optimise(context, [[targets[place] for place in batch] for batch in plan])


def fine_tune(
    setup: DiscourseSetup, documents: DocumentEncoder, targets: Sequence[TargetDocument], out: Path, log: Log
) -> tuple[SentenceTower, Progress]:
    """The second step: the base, now read by its CLS token, jointly with `documents`, which is changed in place."""
    recipe = setup.recipe.of_fine_tuning()
    torch.manual_seed(recipe.seed)
    tower = SentenceTower(load_initial(recipe.of_sentences("cls")), recipe.sentence_length)
    model = JointEncoder(tower, documents).to(setup.device)
    known = [
        TokenDocument(
            tower.tokenize(read.sentences), target.sentences[:, -len(FLAGS) :], target.entities, target.aspects
        )
        for read, target in zip(setup.read, targets, strict=True)
    ]
    plan = plan_documents([len(item.sentences) for item in known], recipe)
    folder, loss = out / FINE_TUNED, JointLoss(model)
    context = LoopContext(
        model,
        recipe,
        folder,
        _open_part(folder, log),
        setup.identities[FINE_TUNED],
        loss,
        head=documents,
        head_rate=setup.recipe.learning_rate / recipe.learning_rate,
        gradients=lambda batch: cached_gradients(loss, batch, recipe.chunk, ALONE),
    )
    return tower, optimise(context, [[known[place] for place in batch] for batch in plan])


def _open_part(folder: Path, log: Log) -> Log:
    """Make the folder of a part; an entry of it goes into its own log, and into that of the run with its name."""
    folder.mkdir(exist_ok=True)
    own, whole = open_log(folder / "log.jsonl"), _in_part(folder.name, log)

    def tell(entry: Mapping[str, Any]) -> None:
        own(dict(entry))
        whole(dict(entry))

    return tell


def _in_part(part: str, log: Log) -> Log:
    return lambda entry: log({"part": part, **entry})
