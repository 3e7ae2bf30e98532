"""How a query says that it wants a finding, or that it wants it ruled out."""

from __future__ import annotations

from typing import Final

from encoders.labels.sentences import Concept
from encoders.labels.split import bucket
from mappings.analysis.finding_lexicon import concepts as lexicon

PRESENT: Final = ("{}", "{}", "presence of {}", "evidence of {}", "there is {}", "{} is seen")
ABSENT: Final = (
    "no {}",
    "no {}",
    "without {}",
    "absence of {}",
    "no evidence of {}",
    "negative for {}",
    "{} is not seen",
)
"""How a query says it; the plain form, which evaluation uses, twice as often as any other."""


def query(concept: Concept, key: str = "") -> str:
    """The plain query of a concept ("no pleural effusion"), or with a `key` one of its phrasings and synonyms by hash."""
    if not key:
        return concept.finding if concept.present else f"no {concept.finding}"
    variants = lexicon()[concept.finding].variants
    # The name itself for half of the pairs: it is what most ask for.
    name = variants[bucket(f"variant:{key}", len(variants))] if bucket(f"named:{key}", 2) else concept.finding
    return worded(name, concept.present, f"template:{key}")


def worded(name: str, present: bool, key: str) -> str:
    """A query for `name`, there or ruled out, in one of the phrasings by the hash of `key`."""
    templates = PRESENT if present else ABSENT
    return templates[bucket(key, len(templates))].format(name)
