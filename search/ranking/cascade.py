"""Reranking in one or two stages: a small cross-encoder reads every candidate, the large one the best of those.

Score = weight × normalised cross-encoder score + (1 − weight) × fused score. Candidates that only the first stage scored rank
below those that the last one scored, and those that no stage scored below both: see `search.ranking.levels`.
(Cascade ranking: Wang, Lin and Metzler 2011; with cross-encoders Nogueira et al. 2019, "Multi-stage document ranking".)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from mappings.analysis.nearest import nearest
from mappings.analysis.sentences import sentences
from mappings.documents import Passage
from mappings.errors import MedleyError
from mappings.stages import PassageParts, Reranking
from search.ranking.anytime import AnytimeReranker
from search.ranking.candidates import ONE_LEVEL, Candidate, RerankScore
from search.ranking.fusion import min_max
from search.ranking.levels import rank_by_level
from search.ranking.wording import Wording

FIRST_SHARE = 0.4
"""The share of the remaining time that the first stage gets, so that some is always left for the last one."""


@dataclass(frozen=True, slots=True)
class RerankStages:
    """The rerankers of a collection. `first` is None if there is only one stage, or if it failed to load (`missing` says why)."""

    last: AnytimeReranker
    first: AnytimeReranker | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class StageScores:
    """Logits by passage, of the last stage and of the first; `missing` says why the first stage has none.

    `wanted` is how many passages each stage, the last one first, would have scored without a deadline; 0 means as many as
    it scored.
    """

    last: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    missing: str = ""
    wanted: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.last.keys() | self.first.keys())


def score_window(
    stages: RerankStages,
    reranking: Reranking,
    query: Wording,
    window: Sequence[Candidate],
    passages: Sequence[Passage],
    until: float | None,
    shown: Callable[[Sequence[Candidate]], int] | None = None,
) -> StageScores:
    """Score the window's `passages`, or the best of them by the first stage, until the moment `until`.

    Each passage is read with the query in its own words. The first stage reads whole passages, the last one the parts that
    the collection configures. `shown` says how many of the
    best candidates a page shows: the last stage gets at least these. A first stage that fails is skipped, and the last one
    scores as many passages as it can. Errors of the last stage are raised.
    """
    by_id = dict(zip((item.passage for item in window), passages, strict=True))
    first: dict[str, float] = {}
    chosen, missing = list(window), stages.missing
    if stages.first is not None and reranking.first is not None and len(window) > reranking.first.keep:
        try:
            whole = {name: (passage.model_text,) for name, passage in by_id.items()}
            read = _score_texts(stages.first, query, chosen, whole, _first_stage_deadline(stages.first, until))
            first = _best_scores(read, by_id)
        except MedleyError as error:
            missing = error.message
        else:
            best = combine(window, StageScores(first=first, wanted=(0, len(window))), reranking)
            chosen = best[: max(reranking.first.keep, shown(best) if shown else 0)]
    parts = {item.passage: texts_to_read(by_id[item.passage], query.with_names, reranking.parts) for item in chosen}
    last = _best_scores(_score_texts(stages.last, query, chosen, parts, until), by_id)
    return StageScores(last, first, missing, (len(chosen), len(window)))


def texts_to_read(passage: Passage, query: str, parts: PassageParts | None) -> tuple[str, ...]:
    """The texts of a passage that the last stage reads, at least one."""
    return nearest(passage, query, parts.words, parts.best) if parts else (passage.model_text,)


def combine(candidates: Sequence[Candidate], scores: StageScores, reranking: Reranking) -> list[Candidate]:
    """The final order: by tier, stage, score descending, then passage id. Without any score the given order stays.

    A stage that the deadline cut short has less weight: see `completed_share`.
    """
    if not scores:
        return list(candidates)
    shares = [
        completed_share(len(found), wanted)
        for found, wanted in zip((scores.last, scores.first), scores.wanted, strict=True)
    ]
    last = dict(zip(scores.last, min_max(list(scores.last.values())), strict=True))
    first = dict(zip(scores.first, min_max(list(scores.first.values())), strict=True))

    def rescore(item: Candidate) -> Candidate:
        if item.passage in last:
            return _blend(item, scores.last, last, reranking.weight * shares[0], "last")
        if item.passage in first and reranking.first is not None:
            return _blend(item, scores.first, first, reranking.first.weight * shares[1], "first")
        return item.unranked()

    return rank_by_level(map(rescore, candidates))


def completed_share(scored: int, wanted: int) -> float:
    """The share of its weight that a stage keeps when it scored `scored` of the `wanted` passages.

    Scores are normalised by their range, and the range of a few scores is narrow: normalised, two scores always become 0
    and 1, as far apart as the best and the worst of fifty. So the weight follows the expected range of that many normally
    distributed scores (expected extremes after Blom 1958); a single score has no weight.
    """
    return _expected_range(scored) / _expected_range(wanted) if 0 < scored < wanted else 1.0


def _expected_range(count: int) -> float:
    return 2 * NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def _blend(
    item: Candidate, logits: Mapping[str, float], normalised: Mapping[str, float], weight: float, stage: str
) -> Candidate:
    value = normalised[item.passage]
    reranking = RerankScore(item.fused, logits[item.passage], value, weight, stage)
    score = weight * value + (1 - weight) * item.fused
    return item._replace(score=score, reranking=reranking, level=ONE_LEVEL)


def _score_texts(
    stage: AnytimeReranker,
    query: Wording,
    window: Sequence[Candidate],
    texts: Mapping[str, Sequence[str]],
    until: float | None,
) -> dict[str, dict[str, float]]:
    """The score of each text by passage, for the leading passages whose texts were all scored."""
    pairs = [(query.as_in(text), text) for item in window for text in texts[item.passage]]
    found = iter(stage.score_pairs(pairs, until))
    scores: dict[str, dict[str, float]] = {}
    for item in window:
        values = {text: next(found) for text in texts[item.passage]}
        scored = {text: value for text, value in values.items() if value is not None}
        if len(scored) < len(values):
            break  # a cached score must not move a passage ahead of those that were not scored
        scores[item.passage] = scored
    return scores


def _best_scores(read: Mapping[str, Mapping[str, float]], passages: Mapping[str, Passage]) -> dict[str, float]:
    """The best score of each passage over the texts that it holds, whichever passage they were read in.

    Passages of one document can overlap, and two that hold the same sentences must not differ by which of them were read.
    """
    everywhere = {text: value for texts in read.values() for text, value in texts.items()}
    ordered = sorted(everywhere)

    def best(name: str, own: Mapping[str, float]) -> float:
        # Only texts that begin with the passage's context can be its own: of thousands of passages, a few.
        context, size = passages[name].context, len(passages[name].context)
        ends = (cut(ordered, context, key=lambda text: text[:size]) for cut in (bisect_left, bisect_right))
        near = ordered[slice(*ends)]
        return max(
            [*own.values(), *(everywhere[text] for text in near if text not in own and _holds(passages[name], text))]
        )

    return {name: best(name, texts) for name, texts in read.items()}


def _holds(passage: Passage, text: str) -> bool:
    """Whether `text`, a part with its context, is one or more whole sentences of a passage of the same context."""
    if not text.startswith(passage.context):
        return False
    part = text[len(passage.context) :].strip()
    if not part or part not in passage.text:
        return False
    found = sentences(passage.text)  # "diabetes" is a part of "no diabetes", and says something else
    ends = {item.end for item in found}
    return any(passage.text.startswith(part, item.start) and item.start + len(part) in ends for item in found)


def _first_stage_deadline(stage: AnytimeReranker, until: float | None) -> float | None:
    """The moment when the first stage stops: it gets `FIRST_SHARE` of the remaining time."""
    return None if until is None else (now := stage.clock()) + FIRST_SHARE * (until - now)
