"""Plain-language summaries, as questions for the technical texts that they summarise."""

from __future__ import annotations

from typing import Final

from encoders.labels.leaks import normalise
from mappings.datasets.lay import PlainSummary

_TOPICAL: Final = frozenset({"plaba", "elife"})
"""Sources without lay titles whose summaries begin with what they are about."""


def summary_question(summary: PlainSummary) -> str:
    """The lay title, unless it is the technical one, and the first sentence; "" where that may not name the topic."""
    lay_title = "" if normalise(summary.lay_title) == normalise(summary.title) else summary.lay_title
    if not lay_title and summary.source not in _TOPICAL:
        return ""
    return f"{lay_title} {summary.opening}".strip()
