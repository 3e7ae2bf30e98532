"""What a concept rules out by its name, by `lexicons/denied.tsv`: who is afebrile has no fever."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mappings.analysis.lexicon import rows


@cache
def denied() -> Mapping[str, tuple[str, ...]]:
    """The ids of what is ruled out, by that of the concept."""
    return {concept: tuple(others.split("|")) for concept, others, _example in rows("denied")}
