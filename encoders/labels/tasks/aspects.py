"""How queries name an aspect: in the headings that training documents use for it, as often as they use them.

The names come from training documents alone, so that no query is worded after a test split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final

from encoders.labels.split import bucket
from mappings.analysis.headings import heading_key, normalise_heading

MIN_USES: Final = 3
"""A heading that training documents use less often is one author's, not a name that others would search for."""

AspectNames = Mapping[str, Mapping[str, int]]
"""Heading -> the names of its aspect, each with how often training documents use it; most used first."""

_PLAIN: Final = re.compile(r"[a-z' -]{5,}")


def is_plain(heading: str) -> bool:
    """Whether a heading, as a `heading_key`, is words rather than shorthand ("PMHx")."""
    return _PLAIN.fullmatch(heading) is not None


def aspect_names(wanted: Iterable[str], others: Iterable[str]) -> AspectNames:
    """The names for each heading of `wanted`: itself, and the headings of `others` with the same normalised aspect.

    Both are the headings of training documents, one entry for each use. A heading of `wanted` never names another one,
    though their aspects can be the same ("inheritance", "genetic changes").
    """
    own = Counter(map(heading_key, wanted))
    used = Counter(map(heading_key, others))
    alike: dict[str, Counter[str]] = {}
    for heading, count in used.items():
        if count >= MIN_USES and is_plain(heading) and heading not in own:
            alike.setdefault(normalise_heading(heading), Counter())[heading] = count
    named = {heading: {heading: count, **alike.get(normalise_heading(heading), {})} for heading, count in own.items()}
    return {heading: dict(sorted(found.items(), key=_by_use)) for heading, found in named.items()}


def _by_use(item: tuple[str, int]) -> tuple[int, str]:
    name, count = item
    return -count, name


def choose_name(names: Mapping[str, int], key: str) -> str:
    """The name that the hash of `key` chooses, each as often as it is used."""
    place = bucket(key, sum(names.values()))
    return next(name for name, end in zip(names, accumulate(names.values()), strict=True) if place < end)
