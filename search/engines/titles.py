"""What both engines index and score as the title of a passage."""

from __future__ import annotations

from mappings.analysis.sentences import sentences
from mappings.analysis.words import terms
from mappings.documents import Passage


def title_or_lead(passage: Passage) -> str:
    """The title of a passage, or its first sentence where the title has no words; empty where neither has any."""
    if terms(passage.title):
        return passage.title
    first = next(iter(sentences(passage.text)), None)
    lead = passage.text[first.start : first.end] if first else ""
    return lead if terms(lead) else ""


def title_weights(boost: float) -> tuple[float, float]:
    """(weight, share): the title's score times `weight` competes with that of the whole passage.

    The greater of the two counts in full, the other by `share`. Up to 1 the boost is the share; above, the share is 1, so
    that both are added, and the boost is the weight.
    """
    return max(1.0, boost), min(1.0, boost)
