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


LEVEL_GAP: Final = 0.01
"""The share of a level's range that is left free, so that its lowest score lies above the highest of the next level."""


class Level(NamedTuple):
    """One `of` so many levels of an answer, numbered from 0, the best; see `search.ranking.levels`."""

    number: int = 0
    of: int = 1

    @property
    def offset(self) -> float:
        """The lowest score of the level."""
        return 0.0 if self.of == 1 else (self.of - 1 - self.number + LEVEL_GAP) / self.of

    @property
    def scale(self) -> float:
        """How far apart the lowest and the highest score of the level are."""
        return 1.0 if self.of == 1 else (1 - LEVEL_GAP) / self.of

    def place(self, score: float) -> float:
        """The final score for a score in [0, 1] within the level."""
        return self.offset + self.scale * min(1.0, max(0.0, score))

    def within(self, score: float) -> float:
        """The score in [0, 1] within the level for a final score."""
        return min(1.0, max(0.0, (score - self.offset) / self.scale))


ONE_LEVEL: Final = Level()


class RerankScore(NamedTuple):
    """How reranking scored a candidate.

    `fused` is its score before reranking. `logit` comes from the last stage that scored it, and `normalised` is the logit
    scaled over all that this stage scored; both are None if no stage scored it. `weight` is the stage's share of the score
    within the candidate's level, `stage` is `last` or `first`.
    """

    fused: float
    logit: float | None = None
    normalised: float | None = None
    weight: float = 0.0
    stage: str = "last"


class Candidate(NamedTuple):
    """A passage on its way from the legs to the page. A tuple, because every search creates hundreds.

    `score` is the fused score until `rank_by_level`, and the final score in `level` afterwards; `reranking` is None until
    then. Candidates of a lower `tier`, 0 being the best, rank above all of a higher one.
    """

    passage: str
    document: str
    score: float
    legs: LegContributions
    reranking: RerankScore | None = None
    tier: int = 0
    level: Level = ONE_LEVEL

    @property
    def fused(self) -> float:
        """The fused score, also after reranking."""
        return self.score if self.reranking is None else self.reranking.fused

    @property
    def stage(self) -> str:
        """The rerank stage that scored the candidate: `last`, `first`, or empty if none did."""
        return self.reranking.stage if self.reranking and self.reranking.logit is not None else ""

    @property
    def contributions(self) -> Mapping[str, LegContribution]:
        """What each leg contributed to the fused score."""
        return self.legs.for_passage(self.passage)

    def unranked(self) -> Candidate:
        """The candidate with its fused score, as before reranking."""
        return self if self.reranking is None else self._replace(score=self.fused, reranking=None, level=ONE_LEVEL)
