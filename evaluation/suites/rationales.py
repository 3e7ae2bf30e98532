"""The suite `rationales`: whether the sentences that are marked as evidence are those that annotators marked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from encoders.stances import StanceClassifier, is_same
from evaluation.statistics import interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites.claim_pairs import SCIFACT, WHOLE, ClaimPair, sampled, suite_pairs
from evaluation.suites.stance import describe_run, open_classifier
from mappings import collection as kinds
from mappings.analysis.words import tokens
from search.models.registry import Models
from search.protocols import Reranker
from search.ranking.claims import sentence_scores
from search.settings import Settings

NAME: Final = "rationales"
HIT: Final = "hit@2"
_NOTES: Final = (
    "hit@2: the share of abstracts with evidence of which one of the two best sentences is, by more than half, one that "
    "annotators marked",
    "evidence: by the stance classifier and the cross-encoder together, as a search chooses; words: by the share of the claim's words; last: the last two sentences",
)

Choice = Callable[[ClaimPair], Sequence[int]]
"""The places of the two best sentences of a passage."""


class RationalesSuite:
    """The suite, which searches no collection."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `NotFound` for missing data, `ModelError` without the model."""
        started = time.perf_counter()
        classifier = open_classifier(settings)
        reranker = Models(settings).reranker(kinds.load("abstracts", None, settings.collections).reranking.model)
        by_set = _marked_pairs(settings)
        chosen = {name: sampled(pairs, options.queries) for name, pairs in by_set.items()}
        systems: dict[str, Choice] = {
            "evidence": lambda pair: _by_models(pair, classifier, reranker),
            "stance classifier": lambda pair: classifier.read(pair.claim, [pair.passage])[0].best(2),
            "cross-encoder": lambda pair: _two_best(reranker.score(pair.claim, _sentences(pair)).tolist()),
            "words": _by_words,
            "last": lambda pair: range(max(0, len(pair.passage.spans) - 2), len(pair.passage.spans)),
        }
        rows = []
        for number, (system, choose) in enumerate(systems.items(), 1):
            hits = {name: [_hits(pair, choose(pair)) for pair in pairs] for name, pairs in chosen.items()}
            rows.append(_row(system, [hit for found in hits.values() for hit in found]))
            if options.variants:
                rows += [_row(f"{system}, {name}", found) for name, found in hits.items()]
            if progress:
                progress(number, len(systems))
        count, whole = (sum(map(len, found.values())) for found in (chosen, by_set))
        return {
            **describe_run(NAME, options, (count, whole), classifier),
            "rows": rows,
            "notes": list(_NOTES),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise `ModelError` without the classifier."""
        open_classifier(settings)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: pairs and model."""
        pairs = [str(pair) for found in _marked_pairs(settings).values() for pair in sampled(found, options.queries)]
        return command(NAME, options), [pairs, open_classifier(settings).fingerprint]


def _marked_pairs(settings: Settings) -> dict[str, list[ClaimPair]]:
    every = suite_pairs(settings.data)
    named = {"scifact": every[SCIFACT], "check-covid": every[WHOLE]}
    return {name: [pair for pair in pairs if pair.marked] for name, pairs in named.items()}


def _by_words(pair: ClaimPair) -> list[int]:
    wanted = {token.term for token in tokens(pair.claim)}
    text = pair.passage.text
    shared = [len(wanted & {token.term for token in tokens(text[start:end])}) for start, end in pair.passage.spans]
    return _two_best(shared)


def _by_models(pair: ClaimPair, classifier: StanceClassifier, reranker: Reranker) -> list[int]:
    """As the product chooses where it has the time."""
    sentences = _sentences(pair)
    reading = classifier.read(pair.claim, [pair.passage])[0]
    return _two_best(sentence_scores(pair.claim, sentences, reading, reranker.score(pair.claim, sentences).tolist()))


def _sentences(pair: ClaimPair) -> list[str]:
    return [pair.passage.text[start:end] for start, end in pair.passage.spans]


def _two_best(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:2]


def _hits(pair: ClaimPair, places: Sequence[int]) -> float:
    return float(any(is_same(pair.passage.spans[place], marked) for place in places for marked in pair.marked))


def _row(system: str, hits: Sequence[float]) -> Report:
    return {"system": system, "measures": {HIT: interval(np.array(hits)).as_json()}}


SUITE: Final = Suite(
    NAME,
    "the sentences that are evidence, against those that annotators marked",
    standalone=RationalesSuite(),
)
