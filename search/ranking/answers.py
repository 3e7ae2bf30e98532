"""How probable it is that a hit answers its query, and that any hit of a page does.

Both are logistic functions of signs that a search has anyway (Platt 1999 calibrates a single score so), with the weights of the
collection's kind, which `medley tune answers` fits on claims whose answers are in a collection and are then taken out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mappings.analysis.words import terms
from mappings.documents import Passage
from mappings.stages import AnswerWeights
from mappings.stances import StanceReading
from search.protocols import BM25
from search.ranking.candidates import Candidate

RIVALS: Final = 5
"""How many of the best other candidates a candidate's score is compared with."""
LEAST_PROBABILITY: Final = 1e-4
"""Log odds stay finite: no reading is surer than this."""


class AnswerSigns(NamedTuple):
    """What tells whether a hit answers its query.

    `logit` is the reranker's, `lead` its distance from the best other candidates, `cosine` that with the query, `coverage` the
    share of the query's words that the passage has, and `decided` the log odds that the passage decides on the query, read
    as a claim; None where it was not read.
    """

    logit: float
    lead: float
    cosine: float
    coverage: float
    decided: float | None


def signs_of(
    hits: Sequence[Candidate],
    passages: Sequence[Passage],
    readings: Sequence[StanceReading | None],
    ranked: Sequence[Candidate],
    text: str,
) -> list[AnswerSigns | None]:
    """The signs of each hit of a page, among all that were `ranked` for `text`; None for one that no reranker read last."""
    logits = sorted((logit for item in ranked if (logit := last_logit(item)) is not None), reverse=True)
    wanted = frozenset(terms(text))
    found: list[AnswerSigns | None] = []
    for hit, passage, reading in zip(hits, passages, readings, strict=True):
        logit = last_logit(hit)
        if logit is None:
            found.append(None)
            continue
        decided = None if reading is None else log_odds(reading.decided)
        held = wanted & set(terms(f"{passage.title} {passage.text}"))
        coverage = len(held) / max(1, len(wanted))
        found.append(AnswerSigns(logit, _lead(logit, logits), _cosine(hit), coverage, decided))
    return found


def last_logit(item: Candidate) -> float | None:
    """What the last reranking stage scored; None if it did not read the candidate."""
    read = item.reranking
    return read.logit if read is not None and read.stage == "last" else None


def _lead(logit: float, logits: Sequence[float]) -> float:
    """The distance from the mean of the best other logits, `logits` being sorted; 0 without others."""
    others = list(logits)
    if logit in others:
        others.remove(logit)
    rivals = others[:RIVALS]
    return logit - sum(rivals) / len(rivals) if rivals else 0.0


def _cosine(item: Candidate) -> float:
    """The best cosine of the vector legs; 0 for a hit that only its words found."""
    scores = [leg.score for name, leg in item.contributions.items() if name != BM25 and leg.score is not None]
    return max(scores, default=0.0)


def log_odds(probability: float) -> float:
    """ln(p / (1 − p)), finite."""
    bounded = min(max(probability, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    return math.log(bounded / (1 - bounded))


def hit_probability(signs: AnswerSigns | None, weights: AnswerWeights) -> float | None:
    """The probability that a hit answers; None without signs."""
    if signs is None:
        return None
    values = {name: value for name, value in signs._asdict().items() if value is not None}
    return _logistic(values, weights.hit if signs.decided is not None else weights.unread)


def page_signs(hits: Sequence[float | None]) -> dict[str, float]:
    """The log odds of the `best` hit of a page and the mean of those of the `next` ones; empty if none is known."""
    known = sorted((log_odds(item) for item in hits if item is not None), reverse=True)
    if not known:
        return {}
    following = known[1 : 1 + RIVALS] or known
    return {"best": known[0], "next": sum(following) / len(following)}


def page_probability(hits: Sequence[float | None], weights: AnswerWeights) -> float | None:
    """The probability that any hit of a first page answers, from those of its hits; None if none is known."""
    signs = page_signs(hits)
    return _logistic(signs, weights.page) if signs else None


def _logistic(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = weights.get("bias", 0.0) + sum(weights.get(name, 0.0) * value for name, value in values.items())
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
