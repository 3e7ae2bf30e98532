"""Self-labelling of any collection (CAPR P1): the query is an entity that a passage mentions, and its heading.

Entities come from a lexicon and from the collection's titles; a mention that its sentence rules out does not count.
Aspects are normalised headings; a heading that only structures a note says nothing about the content and is not one.
A passage without an entity or an aspect is skipped.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text, surround
from encoders.labels.split import split_of
from encoders.labels.tasks.aspects import is_plain
from mappings.analysis.entities import Lexicon, Tagger, conditions, merged
from mappings.analysis.headings import heading_key, level, normalise_heading
from mappings.analysis.mentions.negation import negated
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
"""Headings that structure a text without naming a topic; CAPR gives history of present illness as an example."""

MIN_WORDS: Final = 8
"""A shorter passage ("None.") answers no query."""

MIN_DOCUMENTS: Final = 3
"""An unknown heading is an aspect when this many documents have it: a convention of the collection, not one author's."""

MAX_NAME_WORDS: Final = 8
"""A longer title is a sentence, not a name."""

COMMON_COUNT: Final = 20
COMMON_SHARE: Final = 0.005
"""A title that more passages mention than both of these, and that no lexicon lists, counts only in its own document."""

_SERIAL: Final = re.compile(r"\s+[-–]\s*\d+$")


@dataclass(frozen=True, slots=True)
class Labelling:
    """`per_passage`: pairs for each passage, each with another entity; `lexicon`: entities beside titles and our conditions."""

    per_passage: int = 1
    seed: int = 13
    lexicon: Lexicon | None = None


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    """A passage, its document's group, its aspect, and the entities it mentions."""

    text: Text
    group: str
    aspect: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelledSlots:
    """An entity and an aspect drawn from a passage; `answers` are the ids of all passages that have both."""

    entity: str
    aspect: str
    passage: LabelledPassage
    answers: tuple[str, ...]


def cut_passages(documents: Iterable[Document], collection: Collection) -> list[tuple[Text, str]]:
    """(passage, group) of every section that is long enough to answer a query, cut as the collection cuts its sections.

    The document's other passages are around each. Documents with the same title form one group, so that texts about one
    entity never end up in both splits.
    """
    return [
        (text, normalise(document.title) or document.id)
        for document in documents
        for text in surround(
            [
                Text(passage.id, document.title, passage.heading, passage.text)
                for passage in passages(document, 1, collection)
                if passage.text.strip()
            ]
        )
        if len(text.text.split()) >= MIN_WORDS
    ]


def title_entities(texts: Iterable[Text]) -> Lexicon:
    """The titles that name an entity, without serial numbers: those of a few words that are not headings."""
    names = dict.fromkeys(_name(text.title) for text in texts)
    return {name: () for name in names if len(name) > 3 and len(name.split()) <= MAX_NAME_WORDS and not level(name)}


def _name(title: str) -> str:
    return _SERIAL.sub("", title).replace(" - ", " ").strip()


def label_passages(
    found: Sequence[tuple[Text, str]], labelling: Labelling, dropped: Counter[str]
) -> Iterator[LabelledPassage]:
    """The passages that have an aspect and entities; the others are counted in `dropped`."""
    known = conditions() if labelling.lexicon is None else merged((labelling.lexicon, conditions()))
    tagger = Tagger(merged((known, title_entities(text for text, _ in found))))
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
            yield LabelledPassage(text, group, aspect, entities)


def _topics(found: Iterable[tuple[Text, str]]) -> frozenset[str]:
    """The normalised headings that are aspects: known ones that name a topic, and unknown ones that are common."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for text, group in found:
        if text.heading.strip():
            groups[normalise_heading(text.heading)].add(group)
    common = {heading for heading, names in groups.items() if len(names) >= MIN_DOCUMENTS}
    return frozenset(h for h in groups if h not in STRUCTURAL and (level(h) is not None or h in common))


def _common(mentioned: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """The names that the collection uses as ordinary words ("Blood", "Counseling"): they distinguish no passage."""
    counts = Counter(name for names in mentioned for name in names)
    most = max(COMMON_COUNT, COMMON_SHARE * len(mentioned))
    return frozenset(name for name, count in counts.items() if count > most)


def _entities(text: str, aspect: str, tagger: Tagger, dropped: Counter[str]) -> tuple[str, ...]:
    """The entities that the text affirms, in order of first mention, except the aspect itself."""
    entities: dict[str, None] = {}
    for mention in tagger.mentions(text):
        if negated(text, mention.start, mention.end):
            dropped[f"{TASK}: mentions that are ruled out"] += 1
        elif normalise(mention.entity) != normalise(aspect):
            entities.setdefault(mention.entity)
    return tuple(entities)


def draw_slots(found: Sequence[LabelledPassage], labelling: Labelling) -> Iterator[LabelledSlots]:
    """For each passage `per_passage` random ones of its entities with its aspect, by seed; the same on every machine."""
    answers = _answers(found)
    for item in found:
        draw = random.Random(f"{labelling.seed}:{item.text.id}")  # noqa: S311 - reproducible, not secret
        for entity in draw.sample(item.entities, min(labelling.per_passage, len(item.entities))):
            yield LabelledSlots(entity, _aspect_words(item), item, tuple(answers[entity, item.aspect]))


def make_pairs(found: Sequence[LabelledPassage], labelling: Labelling, corpus: str, name: str = TASK) -> Iterator[Pair]:
    """A pair for each of the slots that are drawn; all passages with that entity and aspect are relevant."""
    numbers: Counter[str] = Counter()
    for slots in draw_slots(found, labelling):
        passage = slots.passage
        yield Pair(
            task=name,
            id=f"{name}:{passage.text.id}:{numbers[passage.text.id]}",
            group=passage.group,
            split=split_of(passage.group),
            corpus=corpus,
            query=f"{slots.entity} {slots.aspect}",
            relevant=slots.answers,
            positive=passage.text,
        )
        numbers[passage.text.id] += 1


def _aspect_words(item: LabelledPassage) -> str:
    """The aspect as the passage's heading words it ("treatment"), or its known name where that is shorthand ("PMHx")."""
    written = heading_key(item.text.heading)
    return written if is_plain(written) else item.aspect


def _answers(found: Iterable[LabelledPassage]) -> Mapping[tuple[str, str], list[str]]:
    answers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in found:
        for entity in item.entities:
            answers[entity, item.aspect].append(item.text.id)
    return answers
