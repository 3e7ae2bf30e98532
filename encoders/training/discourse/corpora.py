"""What a discourse model is trained on: the corpora that labelling wrote, as documents with headings and as names."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from encoders.discourse.slots import entity_key, split_aspect
from encoders.labels.pairs import Text, read_texts
from encoders.labels.split import TRAIN, split_of
from encoders.training.discourse.names import NamedText
from encoders.training.discourse.recipe import DiscourseRecipe
from mappings.analysis.sentences import sentences
from mappings.errors import InvalidInput, NotFound

SPAN: Final = 24
"""Documents are shuffled, then sorted by length within spans of this many batches."""
DESCRIBING: Final = 2
"""So many sentences at the beginning of a description tell what the entity is."""


@dataclass(frozen=True, slots=True)
class HeadedDocument:
    """A document on one entity, its title: headings and passages, one for the other; a passage without one has ""."""

    title: str
    headings: tuple[str, ...]
    passages: tuple[str, ...]


def read_corpora(labels: Path, names: Iterable[str]) -> dict[str, list[Text]]:
    """The texts of each corpus. Raises `NotFound` for a corpus that is not there, `InvalidInput` for a broken one."""
    found = {}
    for name in names:
        path = labels / "corpora" / f"{name}.jsonl"
        if not path.is_file():
            raise NotFound(f"{path} is missing; `medley label pairs {labels}` writes it", field="documents")
        found[name] = list(read_texts(path))
    return found


def group_documents(texts: Iterable[Text], headless: bool = False, most: int = 0) -> Iterator[HeadedDocument]:
    """The documents of a corpus: texts of one title, one after the other, `most` in each (0: all).

    Texts without a title or a word tell nothing and are left out, and unless `headless` so are those without a heading; a
    heading without a word is none.
    """
    for title, group in groupby(texts, key=lambda text: text.title):
        told = [(text.heading, text.text) for text in group if entity_key(title) and text.text.strip()]
        known = [(heading if split_aspect(heading) else "", text) for heading, text in told]
        kept = [(heading, text) for heading, text in known if headless or heading]
        size = most or max(1, len(kept))
        for start in range(0, len(kept), size):
            headings, passages = zip(*kept[start : start + size], strict=True)
            yield HeadedDocument(title, headings, passages)


def describe_entities(documents: Iterable[HeadedDocument], descriptions: Iterable[Text]) -> list[NamedText]:
    """Texts by entity: each title itself, and how the first passage or the description of it begins."""
    found: dict[NamedText, None] = {}
    told = [(document.title, document.passages[0]) for document in documents]
    told += [(text.title, text.text) for text in descriptions if text.title]
    for title, text in told:
        name = entity_key(title)
        if not name:
            continue
        found[NamedText(name, title)] = None
        for span in sentences(text)[:DESCRIBING]:
            found[NamedText(name, text[span.start : span.end])] = None
    return list(found)


def name_entities(documents: Iterable[HeadedDocument]) -> list[NamedText]:
    """Each title, by entity: what an entity has if nothing but its mention tells of it."""
    titles = (document.title for document in documents)
    return list(dict.fromkeys(NamedText(name, title) for title in titles if (name := entity_key(title))))


def describe_aspects(documents: Iterable[HeadedDocument]) -> list[NamedText]:
    """Every part of every heading, as often as it is used. Raises `InvalidInput` if there is none."""
    parts = (part for document in documents for heading in document.headings for part in split_aspect(heading))
    found = [NamedText(part, part) for part in parts]
    if not found:
        raise InvalidInput("the corpora have no heading, so there is no aspect to learn", field="documents")
    return found


def split_documents(documents: Iterable[HeadedDocument]) -> tuple[list[HeadedDocument], list[HeadedDocument]]:
    """(those to train on, a tenth by title that is held out)."""
    sides: tuple[list[HeadedDocument], list[HeadedDocument]] = ([], [])
    for document in documents:
        sides[split_of(entity_key(document.title)) != TRAIN].append(document)
    return sides


def plan_documents(lengths: Sequence[int], recipe: DiscourseRecipe) -> list[list[int]]:
    """The batches of all epochs, as places in `lengths`: documents of similar length together, in random order."""
    batches: list[list[int]] = []
    for epoch in range(recipe.epochs):
        draw = random.Random(f"{recipe.seed}:documents:{epoch}")  # noqa: S311 - reproducible, not secret
        mixed = draw.sample(range(len(lengths)), len(lengths))
        size = SPAN * recipe.batch
        made = []
        for start in range(0, len(mixed), size):
            span = sorted(mixed[start : start + size], key=lambda place: lengths[place])
            made += [span[at : at + recipe.batch] for at in range(0, len(span), recipe.batch)]
        batches += draw.sample(made, len(made))
    return batches
