"""The one type of a passage on its way from the legs to the page, and what each stage adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class LegContribution(NamedTuple):
    """What one leg contributes to one passage; ranks begin at 1. `score` is None if the caller may not know it."""

    rank: int
    score: float | None
    normalised: float
    weight: float

    @property
    def contribution(self) -> float:
        """The leg's share of the fused score: `weight` × `normalised`."""
        return self.weight * self.normalised


class LegContributions:
    """The contributions of every leg to its passages, computed only for the passages that are explained."""

    __slots__ = ("_legs", "_ranks")

    def __init__(self, legs: Mapping[str, tuple[Sequence[str], Sequence[float], Sequence[float], float]]) -> None:
        """`legs` maps a leg to (passage ids best first, their scores, their normalised scores, the leg's weight)."""
        self._legs = legs
        self._ranks: dict[str, dict[str, int]] = {}

    def for_passage(self, passage: str) -> dict[str, LegContribution]:
        """The contribution of each leg that ranked the passage."""
        found = {}
        for leg, (passages, scores, values, weight) in self._legs.items():
            if leg not in self._ranks:
                self._ranks[leg] = {name: rank for rank, name in enumerate(passages)}
            rank = self._ranks[leg].get(passage)
            if rank is not None:
                found[leg] = LegContribution(rank + 1, scores[rank], values[rank], weight)
        return found


NO_CONTRIBUTIONS: Final = LegContributions({})


class RerankScore(NamedTuple):
    """How reranking scored a candidate.

    `fused` is its score before reranking. `logit` comes from the last stage that scored it, and `normalised` is the logit
    scaled over all that this stage scored; both are None if no stage scored it. `stage` is `last` or `first`. `floor` is how
    far the candidate is lowered to rank below everything that a later stage scored.
    """

    fused: float
    logit: float | None = None
    normalised: float | None = None
    weight: float = 0.0
    floor: float = 0.0
    stage: str = "last"


class Candidate(NamedTuple):
    """A passage on its way from the legs to the page. A tuple, because every search creates hundreds.

    `score` is the fused score until reranking, and the final score afterwards; `reranking` is None until then.
    """

    passage: str
    document: str
    score: float
    legs: LegContributions
    reranking: RerankScore | None = None
    tier: int = 0

    @property
    def fused(self) -> float:
        """The fused score, also after reranking."""
        return self.score if self.reranking is None else self.reranking.fused

    @property
    def contributions(self) -> Mapping[str, LegContribution]:
        """What each leg contributed to the fused score."""
        return self.legs.for_passage(self.passage)

    def lowered(self, floor: float) -> Candidate:
        """The candidate without a rerank score, `floor` below its fused score."""
        if not floor:
            return self
        return self._replace(score=self.fused - floor, reranking=RerankScore(self.fused, floor=floor))
