"""Which conditions last: "history of diabetes" is diabetes today, "history of pneumonia" is not pneumonia today."""

from __future__ import annotations

import re
from functools import cache

from mappings.analysis.lexicon import rows


def is_chronic(name: str) -> bool:
    """Whether a mention or a concept's name is that of a chronic condition."""
    chronic, passing = _patterns()
    return bool(chronic.search(name)) and not passing.search(name)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = {kind: phrases.split("|") for kind, phrases in rows("chronic")}
    chronic, passing = (
        re.compile(rf"\b(?:{'|'.join(map(re.escape, words[kind]))})(?!\w)", re.IGNORECASE)
        for kind in ("chronic", "passing")
    )
    return chronic, passing
