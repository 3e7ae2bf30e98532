"""Which conditions last ("history of diabetes" is diabetes today, that of pneumonia is not), and what is done, not had."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from mappings.analysis.lexicon import rows

_KEPT: Final = 20_000


@lru_cache(_KEPT)
def is_chronic(name: str) -> bool:
    """Whether a mention or a concept's name is that of a chronic condition."""
    chronic, passing = _patterns()
    return bool(chronic.search(name)) and not passing.search(name)


@lru_cache(_KEPT)
def is_intervention(name: str) -> bool:
    """Whether a mention or a concept's name is that of an operation, an examination, a therapy or a drug."""
    return bool(_interventions().search(name)) and not _of_interventions().search(name)


@cache
def _interventions() -> re.Pattern[str]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    endings = "|".join(map(re.escape, words["intervention-ending"]))
    whole = "|".join(map(re.escape, words["intervention"]))
    return re.compile(rf"\b(?:\w+(?:{endings})s?|(?:{whole})s?)(?!\w)", re.IGNORECASE)


@cache
def _of_interventions() -> re.Pattern[str]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    endings = "|".join(map(re.escape, words["intervention-condition"]))
    return re.compile(rf"-(?:induced|related|associated)\b|(?:{endings})\s*$", re.IGNORECASE)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    chronic, passing = (
        re.compile(rf"\b(?:{'|'.join(map(re.escape, words[kind]))})(?!\w)", re.IGNORECASE)
        for kind in ("chronic", "passing")
    )
    return chronic, passing
