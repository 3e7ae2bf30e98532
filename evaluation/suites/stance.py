"""The suite `stance`: what an abstract says of a claim (it supports it, refutes it, or neither), the abstract being given."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from encoders.stances import StanceClassifier
from evaluation.baselines.lexical_stance import LexicalStance
from evaluation.measures import Values
from evaluation.statistics import macro_f1_interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites.claim_pairs import ClaimPair, sampled, suite_pairs
from mappings.stances import STANCES
from search.models.registry import STANCE, Models
from search.settings import Settings

NAME: Final = "stance"
MACRO_F1: Final = "macro_F1"
ABSTAINED: Final = (0.9, 0.75, 0.5)
"""Shares of the pairs, the surest first, of which the abstention curve shows the measure."""
_NOTES: Final = (
    "macro_F1: the mean of the F1 of supports, refutes and neither, with the interval over pairs",
    "scifact: whole abstracts that claims cite; those without evidence are neither",
    "check-covid: the sentences that the data set gives for a claim, after the title. Its `not enough info` is said of sentences: "
    "the same claim with the same abstract is decided on elsewhere, so whole abstracts (a row of their own) have two stances",
    "majority: the most frequent stance of the training claims; lexical: shared words, and whether negation or direction differ, "
    "with a threshold from the training claims",
    "surest: the pairs of which the classifier is surest; the others are abstained from",
)


class StanceSuite:
    """The suite, which searches no collection."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `NotFound` for missing data, `ModelError` without the model."""
        started = time.perf_counter()
        classifier = open_classifier(settings)
        every = suite_pairs(settings.data)
        chosen = {name: sampled(pairs, options.queries) for name, pairs in every.items()}
        lexical = LexicalStance.fitted(settings.data)
        rows: list[Report] = []
        done, total = 0, sum(map(len, chosen.values()))
        for name, pairs in chosen.items():
            readings = read_pairs(classifier, pairs)
            done += len(pairs)
            if progress:
                progress(done, total)
            rows += _rows(name, pairs, readings, lexical, options.variants)
        counts = total, sum(map(len, every.values()))
        return {
            **describe_run(NAME, options, counts, classifier),
            "rows": rows,
            "notes": list(_NOTES),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise `ModelError` without the classifier."""
        open_classifier(settings)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: pairs and model."""
        every = suite_pairs(settings.data)
        pairs = [str(pair) for found in every.values() for pair in sampled(found, options.queries)]
        return command(NAME, options), [pairs, open_classifier(settings).fingerprint]


def describe_run(name: str, options: SuiteOptions, counts: tuple[int, int], classifier: StanceClassifier) -> Report:
    """What reports of a stance classifier say besides rows; `counts` are the pairs that were read, and all there are."""
    count, whole = counts
    return {
        "suite": name,
        "collection": "",
        "queries": count,
        "sample": {"queries": count, "of": whole, "fixed": True} if count < whole else None,
        "tests": [],
        "published": [],
        "command": command(name, options),
        "models": {"stance": {"fingerprint": classifier.fingerprint, "form": classifier.form}},
    }


def open_classifier(settings: Settings) -> StanceClassifier:
    """The stance classifier of the settings, or the shipped one where they switch reading off. Raises `ModelError`."""
    return Models(settings).stance_classifier(STANCE if settings.stance in ("", "none") else settings.stance)


def read_pairs(classifier: StanceClassifier, pairs: Sequence[ClaimPair]) -> np.ndarray:
    """The probabilities of the three stances, shape (pairs, 3)."""
    return np.array([classifier.read(pair.claim, [pair.passage])[0].probabilities for pair in pairs])


def _rows(
    name: str, pairs: Sequence[ClaimPair], read: Values, lexical: LexicalStance, variants: bool
) -> Iterator[Report]:
    wanted = np.array([STANCES.index(pair.stance) for pair in pairs])
    told = read.argmax(axis=1)
    yield _row(name, wanted, told)
    if not variants:
        return
    majority = Counter(wanted.tolist()).most_common(1)[0][0]
    yield _row(f"majority, {name}", wanted, np.full_like(wanted, majority))
    yield _row(f"lexical, {name}", wanted, np.array([STANCES.index(lexical.read(pair)) for pair in pairs]))
    surest = np.argsort(-read.max(axis=1), kind="stable")
    for share in ABSTAINED:
        kept = surest[: max(1, round(share * len(pairs)))]
        yield _row(f"{name}, surest {share:.0%}", wanted[kept], told[kept])


def _row(system: str, wanted: Values, told: Values) -> Report:
    return {"system": system, "measures": {MACRO_F1: macro_f1_interval(wanted, told).as_json()}}


SUITE: Final = Suite(
    NAME,
    "what an abstract says of a claim: supports, refutes or neither",
    standalone=StanceSuite(),
)
