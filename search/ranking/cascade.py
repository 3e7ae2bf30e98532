"""Reranking in one stage or two: a small cross-encoder reads every candidate, the large one the best of those.

Final score = weight × normalised cross-encoder score + (1 − weight) × fused score, for what the last stage scored.
What only the first one scored stands below that, what none scored below both: one scale, a floor for each.
(Cascade ranking: Wang, Lin and Metzler 2011; with cross-encoders Nogueira et al. 2019, "Multi-stage document ranking".)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

from mappings.analysis.nearest import nearest
from mappings.collection import PassageParts, Reranking
from mappings.documents import Passage
from mappings.errors import MedleyError
from search.ranking.anytime import Anytime
from search.ranking.fusion import Fused, min_max

FIRST_SHARE = 0.4
"""Part of the time that the first stage may take, so that the last one is never left without any."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The cross-encoders of a collection; `first` is None where one decides alone, or `missing` says why it is."""

    last: Anytime
    first: Anytime | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Scores:
    """Logits by passage: of the last stage, and of the first for all that it read; `missing`: why that is none.

    `wanted` is how many each of them, the last one first, would have scored without a deadline; 0: as many as it did.
    """

    last: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    missing: str = ""
    wanted: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.last.keys() | self.first.keys())


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate after reranking.

    `cross` is the logit of the last stage that scored it and `normalised` the same over that stage; both are None if
    none did; `stage` says which it was. `below` is how far it stands under what the last stage scored.
    """

    fused: Fused
    score: float
    cross: float | None = None
    normalised: float | None = None
    weight: float = 0.0
    below: float = 0.0
    stage: str = "last"


def read(
    stages: Stages,
    reranking: Reranking,
    query: str,
    window: Sequence[Fused],
    passages: Sequence[Passage],
    until: float | None,
) -> Scores:
    """Score the window's `passages`, all of them or the best the first stage finds, until the moment `until`.

    The last stage reads the parts that the collection says, the first one each as a whole. A first stage that fails is
    left out, and the last one reads as many as it can. Raises what the last one raises.
    """
    known = dict(zip((item.passage for item in window), passages, strict=True))
    first: dict[str, float] = {}
    chosen, missing = list(window), stages.missing
    if stages.first is not None and reranking.first is not None and len(window) > reranking.first.keep:
        try:
            whole = {name: (passage.model_text,) for name, passage in known.items()}
            first = _scored(stages.first, query, chosen, whole, _halt(stages.first, until))
        except MedleyError as error:
            missing = error.message
        else:
            best = combine(window, Scores(first=first, wanted=(0, len(window))), reranking)
            chosen = [item.fused for item in best[: reranking.first.keep]]
    parts = {item.passage: readings(known[item.passage], query, reranking.parts) for item in chosen}
    return Scores(_scored(stages.last, query, chosen, parts, until), first, missing, (len(chosen), len(window)))


def readings(passage: Passage, query: str, parts: PassageParts | None) -> tuple[str, ...]:
    """What the last stage reads of a passage, at least one text."""
    return nearest(passage, query, parts.words, parts.best) if parts else (passage.model_text,)


def combine(fused: Sequence[Fused], scores: Scores, reranking: Reranking) -> list[Ranked]:
    """The final order: score descending, then passage id. Without any score the fused order and scores stay.

    A stage that a deadline cut short counts less: see `share`.
    """
    shares = share(len(scores.last), scores.wanted[0]), share(len(scores.first), scores.wanted[1])
    last = dict(zip(scores.last, min_max(list(scores.last.values())), strict=True))
    first = dict(zip(scores.first, min_max(list(scores.first.values())), strict=True))
    floors = float(bool(last)), float(bool(last)) + float(bool(first))

    def ranked(item: Fused) -> Ranked:
        if item.passage in last:
            return _blend(item, scores.last, last, reranking.weight * shares[0])
        if item.passage in first and reranking.first is not None:
            weight = reranking.first.weight * shares[1]
            return replace(_blend(item, scores.first, first, weight, floors[0]), stage="first")
        return Ranked(item, item.score - floors[1], below=floors[1])

    made = [ranked(item) for item in fused]
    return sorted(made, key=lambda item: (-item.score, item.fused.passage)) if scores else made


def share(scored: int, wanted: int) -> float:
    """Part of its weight that a cross-encoder keeps which scored fewer passages than it should have.

    Scores are normalised by their range, and the range of a few is narrow: two would always be 0 and 1 apart, as much as
    the best and the worst of fifty. So the weight goes with the range to be expected of so many (of normal scores; the
    expected extremes after Blom 1958), and a single score has none.
    """
    return _range(scored) / _range(wanted) if 0 < scored < wanted else 1.0


def _range(count: int) -> float:
    return 2 * NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def _blend(
    item: Fused, logits: Mapping[str, float], normalised: Mapping[str, float], weight: float, floor: float = 0.0
) -> Ranked:
    value = normalised[item.passage]
    score = weight * value + (1 - weight) * item.score - floor
    return Ranked(item, score, logits[item.passage], value, weight, floor)


def _scored(
    stage: Anytime, query: str, window: Sequence[Fused], texts: Mapping[str, Sequence[str]], until: float | None
) -> dict[str, float]:
    """The best score of each passage's texts, for the first passages of which all were reached."""
    found = iter(stage.score(query, [text for item in window for text in texts[item.passage]], until))
    scores: dict[str, float] = {}
    for item in window:
        values = [next(found) for _ in texts[item.passage]]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            break  # a score that is remembered from before must not lift one past those that were not reached
        scores[item.passage] = max(known)
    return scores


def _halt(stage: Anytime, until: float | None) -> float | None:
    """When the first stage stops: it gets its share of the time that is left."""
    return None if until is None else (now := stage.clock()) + FIRST_SHARE * (until - now)
