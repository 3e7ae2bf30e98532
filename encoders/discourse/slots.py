"""The slots of a query as CDV reads them: the name of an entity, and the parts of an aspect's heading."""

from __future__ import annotations

import re
from typing import Final

from encoders.words.vectors import split_words

_JOINED: Final = re.compile(r"\band\b|&|/|,")


def entity_key(name: str) -> str:
    """The name by which an entity's vector is looked up: its words."""
    return " ".join(split_words(name))


def split_aspect(heading: str) -> list[str]:
    """The aspects of a heading: lowercase, without punctuation, split at "and" and "&" (Arnold et al. 2020, 3.2)."""
    parts = (" ".join(split_words(part)) for part in _JOINED.split(heading.lower()))
    return [part for part in parts if part]
