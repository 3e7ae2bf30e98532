"""Headlines: findings of abstracts in a newspaper's words, made by other names and plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, split_of
from mappings.analysis.lexicon import rows
from mappings.clinical.concepts import ClinicalConcept, common_names
from mappings.clinical.reading import ConceptReader

TASK: Final = "headline"
LEAST_CHANGES: Final = 2
"""With fewer names and words exchanged, a finding is still in its abstract's words."""
_BRACKETS: Final = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_LEFT_OUT: Final = frozenset({"vitals", "laboratory"})
"""Groups of concepts whose other names are the shorthand of notes. Short forms stay as they are: "RAS" means too much."""


class _Change(NamedTuple):
    """The characters `start:end` of a finding, and what stands there in the headline."""

    start: int
    end: int
    words: str


def label_headlines(
    conclusions: Mapping[str, tuple[str, Text]], reader: ConceptReader, dropped: dict[str, int], one_in: int
) -> Iterator[Pair]:
    """Finding in plain words -> its abstract without it, for those whose own words the task `conclusion` does not show."""
    for name, (claim, text) in conclusions.items():
        if bucket(f"conclusion:{name}", one_in) == 0:
            continue
        if headline := put_plainly(claim, reader, name):
            yield Pair(TASK, f"{TASK}:{name}", name, split_of(name), "findings", headline, (name,), text)
        else:
            dropped["headline: findings with fewer than two names or words to exchange"] += 1


def put_plainly(claim: str, reader: ConceptReader, key: str) -> str:
    """The claim with other names for what it names and plain words for those of research; "" if too little is exchanged.

    `key` chooses among several names and words, so that the same claim under another key can become another headline.
    """
    claim = _BRACKETS.sub("", claim).partition(";")[0].strip()
    names = list(_names(claim, reader, key))
    taken = [(item.start, item.end) for item in names]
    words = [
        _Change(found.start(), found.end(), _choose(_plain_words()[found.group().lower()], key, found.group()))
        for found in _pattern().finditer(claim)
        if not any(found.start() < end and start < found.end() for start, end in taken)
    ]
    changes = sorted([*names, *words])
    if len(changes) < LEAST_CHANGES:
        return ""
    parts, place = [], 0
    for item in changes:
        parts += [claim[place : item.start], item.words]
        place = item.end
    headline = " ".join("".join([*parts, claim[place:]]).split())
    return headline[:1].upper() + headline[1:]


def _names(claim: str, reader: ConceptReader, key: str) -> Iterator[_Change]:
    place = 0
    for item in reader.read_alone(claim):
        typed, concept = claim[item.start : item.end], reader.lexicon.get(item.concept)
        others = [name for name in lay_names(concept) if name.lower() != typed.lower()]
        if item.start >= place and concept.group not in _LEFT_OUT and others and not typed.isupper():
            yield _Change(item.start, item.end, _choose(others, key, concept.id))
            place = item.end


def lay_names(concept: ClinicalConcept) -> list[str]:
    """The synonyms of a concept that research texts do not use; of the lexicon's, they are the lay and brand names."""
    used = {name.lower() for name in common_names().get(concept.id, ())}
    return [name for name in concept.names[1:] if name.lower() not in used]


def _choose(among: Sequence[str], key: str, what: str) -> str:
    return among[bucket(f"headline:{key}:{what}", len(among))]


@cache
def _plain_words() -> Mapping[str, tuple[str, ...]]:
    """Words of research, in lower case -> what can stand for them in a headline; ("",) where they are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for words, *plain in rows("plain_words"):
        found |= dict.fromkeys(words.lower().split("|"), tuple("|".join(plain).split("|")))
    return found


@cache
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(_plain_words(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)
