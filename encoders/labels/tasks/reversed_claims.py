"""A claim turned into its opposite by its direction, or into another by its number."""

from __future__ import annotations

import re
from typing import Final

from encoders.labels.split import bucket

_OPPOSITES: Final = (
    ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"), ("increasing", "decreasing"),
    ("higher", "lower"), ("high", "low"), ("more", "less"), ("greater", "smaller"), ("raises", "lowers"),
    ("improves", "worsens"), ("improve", "worsen"), ("improved", "worsened"), ("enhances", "impairs"),
    ("promotes", "inhibits"), ("promote", "inhibit"), ("activates", "inhibits"), ("activation", "inhibition"),
    ("induces", "prevents"), ("induce", "prevent"), ("causes", "prevents"), ("cause", "prevent"), ("longer", "shorter"),
    ("faster", "slower"), ("better", "worse"), ("upregulates", "downregulates"), ("upregulation", "downregulation"),
    ("upregulated", "downregulated"), ("positive", "negative"), ("positively", "negatively"), ("gain", "loss"),
    ("effective", "ineffective"), ("safe", "unsafe"), ("likely", "unlikely"), ("reduces", "increases"),
    ("reduce", "increase"), ("reduced", "increased"), ("reduction", "increase"), ("before", "after"), ("with", "without"),
    ("presence", "absence"), ("stronger", "weaker"), ("early", "late"), ("rarely", "commonly"), ("most", "few"),
)  # fmt: skip
_SWAPS: Final = {left: right for pair in _OPPOSITES for left, right in (pair, pair[::-1])} | {
    "decrease": "increase", "decreases": "increases", "decreased": "increased", "inhibits": "promotes", "prevents": "causes",
    "increases": "decreases", "increase": "decrease", "increased": "decreased",
}  # fmt: skip
_WEAK: Final = frozenset(
    {"with", "without", "more", "most", "high", "low", "early", "late", "before", "after", "gain", "loss"}
)
"""Reversed only where nothing stronger is."""
_WORD: Final = re.compile(r"[A-Za-z]+")
_NUMBER: Final = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)?(?![\w.,]*\w)")
_VERB: Final = re.compile(r"\b(is|are|was|were|has|have|can|does|do|may|will)\b(?! (?:not|no)\b)")


def reverse(claim: str, key: str, text: str) -> str | None:
    """The claim with one word, number or verb changed so that a `text` that supports it refutes it; None if none fits.

    A number must be in the text, or changing it might change nothing. `key` draws among what fits.
    """
    directions = [found for found in _WORD.finditer(claim) if found[0].lower() in _SWAPS]
    strong = [found for found in directions if found[0].lower() not in _WEAK]
    numbers = [
        found for found in _NUMBER.finditer(claim) if re.search(rf"(?<![\d.]){re.escape(found[0])}(?![\d.])", text)
    ]
    verbs = list(_VERB.finditer(claim))
    ways = [way for way in (strong or directions, numbers, verbs) if way]
    if not ways:
        return None
    way = ways[bucket(f"way:{key}", len(ways))]
    found = way[bucket(f"place:{key}", len(way))]
    return claim[: found.start()] + _changed(found, way is verbs, key) + claim[found.end() :]


def _changed(found: re.Match[str], is_verb: bool, key: str) -> str:
    word = found[0]
    if is_verb:
        return f"{word} not"
    if word[0].isdigit():
        value = float(word.replace(",", "."))
        factor = (0.25, 0.5, 2.0, 3.0)[bucket(f"factor:{key}", 4)]
        return f"{value * factor:.0f}" if value * factor >= 1 and "." not in word else f"{value * factor:.2g}"
    other = _SWAPS[word.lower()]
    return other.capitalize() if word[0].isupper() else other
