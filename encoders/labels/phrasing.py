"""How a query words a finding that is present, or ruled out."""

from __future__ import annotations

from typing import Final

from encoders.labels.sentences import Concept
from encoders.labels.split import bucket
from mappings.analysis.mentions.finding_lexicon import finding_entries

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
"""The phrasings; the plain one, which evaluation uses, is twice as frequent as any other."""


def query(concept: Concept, key: str = "") -> str:
    """The plain query of a concept ("no pleural effusion"); with a `key`, a phrasing and a synonym that its hash chooses."""
    if not key:
        return concept.finding if concept.present else f"no {concept.finding}"
    variants = finding_entries()[concept.finding].variants
    # The name itself for half of the pairs: most users search for it.
    name = variants[bucket(f"variant:{key}", len(variants))] if bucket(f"named:{key}", 2) else concept.finding
    return worded(name, concept.present, f"template:{key}")


def worded(name: str, present: bool, key: str) -> str:
    """A query for `name`, present or ruled out, in a phrasing that the hash of `key` chooses."""
    templates = PRESENT if present else ABSENT
    return templates[bucket(key, len(templates))].format(name)
