"""Any collection labels itself (CAPR P1): what a passage mentions, and the heading it stands under, find the passage.

Entities are found by a dictionary of the collection's titles and a lexicon; a mention that its sentence rules out is
none. Aspects are normalised headings; one that only gives a note its structure says nothing of the content and carries
none. A passage without either is skipped.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import split_of
from mappings.analysis.entities import Lexicon, Tagger, conditions, merged
from mappings.analysis.headings import heading_key, level, normalise_heading
from mappings.analysis.negation import negated
from mappings.analysis.passages import passages
from mappings.collection import Collection
from mappings.documents import Document

TASK: Final = "entity-aspect"
STRUCTURAL: Final = frozenset(
    [
        *("background", "objective", "methods", "results", "discussion", "conclusion", "limitations", "registration"),
        *("funding", "ethics", "keywords", "evidence", "summary", "answer", "date", "identification", "surgeon"),
        *("history of present illness", "review of systems", "laboratory data", "vital signs", "findings", "addendum"),
        *("hospital course", "emergency department course", "comparison", "examination type", "technique", "consent"),
        *("disposition", "assessment", "impression", "assessment and plan", "diagnostic studies", "specimens"),
    ]
)
"""Headings that order a text and name no topic: CAPR names history of present illness and laboratory results."""

LEAST_WORDS: Final = 8
"""A shorter passage ("None.") answers nothing."""

LEAST_DOCUMENTS: Final = 3
"""An unknown heading is an aspect when so many documents have it: a habit of the collection, not one writer's word."""

LONGEST_NAME: Final = 8
"""Words: a longer title is a sentence, not a name."""

COMMON_LEAST: Final = 20
COMMON_SHARE: Final = 0.005
"""A title in more passages than both, which is no entity of a lexicon, names its own document's passages alone."""

_PLAIN: Final = re.compile(r"[a-z' -]{5,}")
_SERIAL: Final = re.compile(r"\s+[-–]\s*\d+$")


@dataclass(frozen=True, slots=True)
class Labelling:
    """`per_passage`: pairs a passage, each of another entity; `lexicon`: entities beside titles and our conditions."""

    per_passage: int = 1
    seed: int = 13
    lexicon: Lexicon | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A passage, its document's group, its aspect, and the entities it mentions."""

    text: Text
    group: str
    aspect: str
    entities: tuple[str, ...]


def corpus_of(documents: Iterable[Document], collection: Collection) -> list[tuple[Text, str]]:
    """(passage, group) of every section long enough to answer anything, cut as the collection cuts its sections.

    Documents of one title are one group: what is said of an entity never stands on both sides of the split.
    """
    return [
        (Text(passage.id, document.title, passage.heading, passage.text), normalise(document.title) or document.id)
        for document in documents
        for passage in passages(document, 1, collection)
        if len(passage.text.split()) >= LEAST_WORDS
    ]


def titles(texts: Iterable[Text]) -> Lexicon:
    """The titles that name something, without serial numbers: those of a few words that are no heading."""
    names = dict.fromkeys(_name(text.title) for text in texts)
    return {name: () for name in names if len(name) > 3 and len(name.split()) <= LONGEST_NAME and not level(name)}


def _name(title: str) -> str:
    return _SERIAL.sub("", title).replace(" - ", " ").strip()


def labelled(found: Sequence[tuple[Text, str]], labelling: Labelling, dropped: Counter[str]) -> Iterator[Labelled]:
    """The passages with their aspect and entities; those without either are counted."""
    known = conditions() if labelling.lexicon is None else merged((labelling.lexicon, conditions()))
    tagger = Tagger(merged((known, titles(text for text, _ in found))))
    topics = _topics(found)
    mentioned = [_entities(text.text, normalise_heading(text.heading), tagger, dropped) for text, _ in found]
    common = _common(mentioned) - known.keys()
    for (text, group), affirmed in zip(found, mentioned, strict=True):
        aspect = normalise_heading(text.heading)
        entities = tuple(name for name in affirmed if name not in common or name == _name(text.title))
        if aspect not in topics:
            dropped[f"{TASK}: passages without an aspect"] += 1
        elif not entities:
            dropped[f"{TASK}: passages without an entity"] += 1
        else:
            yield Labelled(text, group, aspect, entities)


def _topics(found: Iterable[tuple[Text, str]]) -> frozenset[str]:
    """The normalised headings that are aspects: known ones with a topic, and unknown ones that are common."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for text, group in found:
        if text.heading.strip():
            groups[normalise_heading(text.heading)].add(group)
    common = {heading for heading, names in groups.items() if len(names) >= LEAST_DOCUMENTS}
    return frozenset(h for h in groups if h not in STRUCTURAL and (level(h) is not None or h in common))


def _common(mentioned: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """The names that the collection uses as words ("Blood", "Counseling"): they tell no passage from others."""
    counts = Counter(name for names in mentioned for name in names)
    most = max(COMMON_LEAST, COMMON_SHARE * len(mentioned))
    return frozenset(name for name, count in counts.items() if count > most)


def _entities(text: str, aspect: str, tagger: Tagger, dropped: Counter[str]) -> tuple[str, ...]:
    """The entities that the text affirms, in the order of their first mention; the aspect's own words are none."""
    entities: dict[str, None] = {}
    for mention in tagger.mentions(text):
        if negated(text, mention.start, mention.end):
            dropped[f"{TASK}: mentions that are ruled out"] += 1
        elif normalise(mention.entity) != normalise(aspect):
            entities.setdefault(mention.entity)
    return tuple(entities)


def pairs(found: Sequence[Labelled], labelling: Labelling, corpus: str, name: str = TASK) -> Iterator[Pair]:
    """`per_passage` pairs of a random entity and the aspect a passage, by seed; the same on every machine.

    `relevant` are all passages with that entity and aspect.
    """
    answers = _answers(found)
    for item in found:
        draw = random.Random(f"{labelling.seed}:{item.text.id}")  # noqa: S311 - reproducible, not secret
        chosen = draw.sample(item.entities, min(labelling.per_passage, len(item.entities)))
        for number, entity in enumerate(chosen):
            yield Pair(
                task=name,
                id=f"{name}:{item.text.id}:{number}",
                group=item.group,
                split=split_of(item.group),
                corpus=corpus,
                query=f"{entity} {_wording(item)}",
                relevant=tuple(answers[entity, item.aspect]),
                positive=item.text,
            )


def _wording(item: Labelled) -> str:
    """The aspect as the passage's heading has it ("treatment"), or by its known name where that is shorthand ("PMHx")."""
    written = heading_key(item.text.heading)
    return written if _PLAIN.fullmatch(written) else item.aspect


def _answers(found: Iterable[Labelled]) -> Mapping[tuple[str, str], list[str]]:
    answers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in found:
        for entity in item.entities:
            answers[entity, item.aspect].append(item.text.id)
    return answers
