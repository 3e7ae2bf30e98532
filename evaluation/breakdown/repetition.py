"""Passages that mostly repeat what passages about other entities say, such as how data were collected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from evaluation.corpus.abstracts import plain
from mappings.analysis.sentences import sentences

ENTITIES: Final = 3
"""A sentence is repeated if passages about so many entities have it."""
SHARE: Final = 0.5
"""A passage is boilerplate if at least this share of its words is in repeated sentences."""


def find_boilerplate(texts: Mapping[str, str], entities: Mapping[str, str]) -> frozenset[str]:
    """The passages of `texts` that are boilerplate; `entities` has the entity that each is about."""
    parts = {
        key: [plain(text[sentence.start : sentence.end]) for sentence in sentences(text)] for key, text in texts.items()
    }
    about: defaultdict[str, set[str]] = defaultdict(set)
    for key, found in parts.items():
        for sentence in found:
            about[sentence].add(entities[key])
    repeated = {sentence for sentence, names in about.items() if len(names) >= ENTITIES}
    return frozenset(key for key, found in parts.items() if _share(found, repeated) >= SHARE)


def _share(found: list[str], repeated: set[str]) -> float:
    words = {sentence: len(sentence.split()) for sentence in found}
    total = sum(words[sentence] for sentence in found)
    return sum(words[sentence] for sentence in found if sentence in repeated) / total if total else 0.0
