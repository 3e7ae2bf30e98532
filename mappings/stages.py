"""How a kind is searched: fusion, feedback, reranking, and the reading of what hits say of a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mappings import checks

ANSWER_SIGNS: Final = ("bias", "logit", "lead", "cosine", "coverage", "decided")
PAGE_SIGNS: Final = ("bias", "best", "next")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the rankings of the legs are fused: by `weighted` sums of normalised scores, or by `rrf` (reciprocal ranks).

    `normalisation` applies to `weighted` only: `floor`, `minmax` or `zscore`. `weights` maps each leg to its weight.
    """

    method: str
    normalisation: str
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A small cross-encoder or a poly-encoder that scores all candidates and passes on the best `keep`; `weight` as in `Reranking`."""

    model: str
    keep: int
    weight: float

    def __post_init__(self) -> None:
        checks.check_text("rerank.first.model", self.model)
        checks.check_whole("rerank.first.keep", self.keep)
        checks.check_share("rerank.first.weight", self.weight)


@dataclass(frozen=True, slots=True)
class PassageParts:
    """The parts of a passage that a reranker reads: windows of at most `words` words.

    Of these it reads the `best` ones that share most stems with the query.
    """

    words: int
    best: int

    def __post_init__(self) -> None:
        checks.check_whole("rerank.parts.words", self.words)
        checks.check_whole("rerank.parts.best", self.best)


@dataclass(frozen=True, slots=True)
class Reranking:
    """The reranker of a collection: `model` scores the best `candidates` passages until the deadline (0: none).

    `weight` is its share of the final score; the fused score has the rest. With `first` it is the second of two stages, and
    scores what the first passes on. With `parts` a passage's score is the best score of its parts; without, the model reads
    the whole passage.
    """

    model: str
    candidates: int
    deadline_ms: int
    weight: float
    first: FirstStage | None = None
    parts: PassageParts | None = None

    def __post_init__(self) -> None:
        checks.check_text("rerank.model", self.model)
        checks.check_whole("rerank.candidates", self.candidates, least=0)
        checks.check_whole("rerank.deadline_ms", self.deadline_ms, least=0)
        checks.check_share("rerank.weight", self.weight)


@dataclass(frozen=True, slots=True)
class Feedback:
    """Pseudo-relevance feedback: after a first search, a second one runs with a query vector moved towards its results.

    `passages` is how many of the best passages move the vector, `share` how much they contribute to it.
    """

    passages: int
    share: float

    def __post_init__(self) -> None:
        checks.check_whole("feedback.passages", self.passages)
        checks.check_share("feedback.share", self.share)


@dataclass(frozen=True, slots=True)
class StanceReader:
    """What reads what the hits of a page say of the query: `model`, for at most `deadline_ms` after reranking (0: no limit)."""

    model: str
    deadline_ms: int

    def __post_init__(self) -> None:
        checks.check_text("stance.model", self.model)
        checks.check_whole("stance.deadline_ms", self.deadline_ms, least=0)


@dataclass(frozen=True, slots=True)
class AnswerWeights:
    """The weights of the probability that a hit answers the query; see `search.ranking.answers`. They hold for the kind's models.

    `hit` is for hits of which the stance was read, `unread` for the others, `page` for any hit of a page.
    """

    hit: Mapping[str, float]
    unread: Mapping[str, float]
    page: Mapping[str, float]

    def __post_init__(self) -> None:
        for name, known in (("hit", ANSWER_SIGNS), ("unread", ANSWER_SIGNS[:-1]), ("page", PAGE_SIGNS)):
            checks.check_numbers(f"answers.{name}", getattr(self, name), known)
