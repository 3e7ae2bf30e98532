"""Reads what passages say of a claim, the best ones first, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from mappings.analysis.words import terms
from mappings.stances import ClaimPassage, StanceReading
from search.ranking.anytime import Clock, Pace

TOGETHER: Final = 2
"""The most passages in one call: few enough to stop in time."""
MOST_CHARACTERS: Final = 2_000
"""Of a longer passage a model reads about so many: what lies beyond takes no time."""
HEADROOM: Final = 1.5
"""A passage is begun only if this many times its expected time is left: a long one takes longer than its length tells."""
TYPICAL_PACE: Final = 3e-5
"""Seconds per character before anything was measured."""
EVIDENCE_WEIGHT: Final = 0.5
"""What the logit of being evidence counts beside the cross-encoder's: chosen on claims of the training side that no model was
trained on, where one of the two best sentences is evidence in .85 of 231 abstracts (by either alone .68 and .79)."""
PLACE_WEIGHT: Final = 1.5
"""What the last sentence counts more than the first, in logits: aims and methods come before what was found. On the same claims
one of the two best sentences is evidence in .89 of the abstracts with it, and in .76 instead of .70 where words stand in."""
COVERAGE_WEIGHT: Final = 6.0
"""What the share of the claim's words counts where the cross-encoder did not read the sentences, in its logits."""
LEAST_EVIDENCE: Final = -10.0


class ClaimReader(Protocol):
    """Reads what passages say of a claim, and in which of their sentences."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what determines the readings."""
        ...

    def read(self, claim: str, passages: Sequence[ClaimPassage]) -> list[StanceReading]:
        """What each passage says, in input order."""
        ...


def sentence_scores(
    claim: str, sentences: Sequence[str], reading: StanceReading, logits: Sequence[float | None] | None = None
) -> list[float]:
    """How far each sentence of a read passage is evidence, by its reading and the cross-encoder's `logits`, or else its words.

    `sentences` are in the order of the passage: a later one counts more. One that was cut off ranks last of those that are
    alike otherwise.
    """
    wanted = frozenset(terms(claim))
    if logits is None or None in logits:
        logits = [COVERAGE_WEIGHT * len(wanted & set(terms(text))) / max(1, len(wanted)) for text in sentences]
    evidence = [max(LEAST_EVIDENCE, value) for value in reading.evidence]
    step = PLACE_WEIGHT / max(1, len(sentences) - 1)
    return [
        (logit or 0.0) + EVIDENCE_WEIGHT * value + step * place
        for place, (logit, value) in enumerate(zip(logits, evidence, strict=True))
    ]


@dataclass(slots=True)
class AnytimeClaimReader:
    """A reader of claims with its pace and a clock. Searches can share it."""

    reader: ClaimReader
    pace: Pace = field(default_factory=lambda: Pace(TYPICAL_PACE))
    clock: Clock = time.perf_counter

    def read(self, claim: str, passages: Sequence[ClaimPassage], until: float | None) -> list[StanceReading | None]:
        """What each passage says, in input order; None for those not read before the moment `until` (of `clock`)."""
        found: list[StanceReading | None] = []
        while len(found) < len(passages):
            group = passages[len(found) :][:TOGETHER]
            if until is not None:
                group = self._in_time(claim, group, until - self.clock())
            if not group:
                break
            started = self.clock()
            found += self.reader.read(claim, group)
            self.pace.learn(sum(_cost(claim, item) for item in group), self.clock() - started)
        return found + [None] * (len(passages) - len(found))

    def _in_time(self, claim: str, group: Sequence[ClaimPassage], seconds: float) -> Sequence[ClaimPassage]:
        """The leading passages that are expected to take no more than so many seconds."""
        cost, count = 0.0, 0
        for item in group:
            cost += HEADROOM * self.pace.estimate(_cost(claim, item))
            if cost > seconds:
                break
            count += 1
        if not count and seconds > 0:
            self.pace.relax()
        return group[:count]


def _cost(claim: str, passage: ClaimPassage) -> int:
    return min(MOST_CHARACTERS, len(claim) + len(passage.context) + len(passage.text))
