"""The suite `radiology`: complete rankings of all sentences, by each system, for findings present or ruled out.

It calls encoders directly: what it compares are encoders, and mAP needs every sentence in the ranking.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from encoders.labels.sentences import INDIANA, MTSAMPLES
from encoders.marked import short_fingerprint
from evaluation.corpus.index import home
from evaluation.measures import Values
from evaluation.statistics import compare, interval, ratio_interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites.radiology.judgements import LEAST, PUBLISHED, FindingJudgements, judgements, measure, separations
from evaluation.suites.radiology.systems import (
    ACROSS,
    BASELINE,
    BESIDE,
    BM25,
    COLLECTION,
    DENSE,
    FOLDS,
    SHIPPED,
    TWICE,
    UNMARKED,
    NamedEncoders,
    System,
    build_systems,
    open_encoders,
    shipped_share,
)
from search.bootstrap import Medley
from search.settings import Settings

NAME: Final = "radiology"
NOTES: Final = {
    FOLDS: "by the models of two folds, which are not shipped: no shipped collection kind reaches this row",
    ACROSS: "by a model that was trained on the findings of other reports, and is not shipped",
    DENSE: f"no search of the kind {COLLECTION!r} is like this: its share of BM25 is its own, it ranks sections, and has no feedback",
    f"{DENSE}{SHIPPED}": f"encoder, marking and share of BM25 as in the kind {COLLECTION!r}, which ranks sections",
}
"""System → what must be known of its rows: of all that the folds rank, and of the shipped encoder's beside BM25."""


SPELLED: Final = {MTSAMPLES: "MTSamples"}
STAND_IN: Final = (
    "the second collection: sentences of MTSamples' notes of radiology, of the chest and of all else that is imaged,"
    " in place of NIH's reports"
)


class RadiologySuite:
    """The suite, which searches no collection.

    The option `folds` holds the models fold-1 and fold-2, each trained on the findings of its fold and measured on those
    of the other; `baseline` names a further bi-encoder, such as an untrained one; `across` one that was trained on the
    findings of the other `reports`. Each is a model directory or a run. Nothing is reranked.
    """

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `InvalidInput`, `NotFound`, `ModelError`."""
        started = time.perf_counter()
        whole = judgements(settings, options.reports)
        found = whole.sampled(options.queries)
        named = _open(settings, options)
        systems = list(build_systems(found, named, shipped_share(settings), progress))
        values = {system.name: measure(found, system.scoring) for system in systems}
        apart = {system.name: separations(found, system.scoring) for system in systems if system.encoder}
        rows = [row for system in values for row in _rows(found, system, values[system], apart.get(system), options)]
        sample = {"queries": len(found.queries), "of": len(whole.queries), "fixed": True}
        return {
            "suite": NAME,
            "collection": COLLECTION,
            "queries": len(found.queries),
            "sample": sample if len(found.queries) < len(whole.queries) else None,
            "rows": rows,
            "tests": _tests(values, _place(options)),
            "published": [item.as_json() for item in PUBLISHED],
            "notes": [*_notes(found, systems, named, apart), *([STAND_IN] if _place(options) else [])],
            "command": _command(options),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where one of its encoders can't be opened."""
        _open(settings, options)

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: sentences, queries and encoders."""
        found = judgements(settings, options.reports).sampled(options.queries)
        queries = [
            (item.text, item.fold, np.packbits(item.relevant).tobytes().hex(), int(item.ranked.sum()))
            for item in found.queries
        ]
        named = _open(settings, options)
        prints = {system: [encoder.fingerprint for encoder in encoders] for system, encoders in named.items()}
        return _command(options), [
            found.texts,
            queries,
            prints,
            shipped_share(settings),
            settings.form,
            settings.device,
        ]


SUITE: Final = Suite(
    NAME,
    "findings, present or ruled out, to sentences of X-ray reports",
    options=("folds", "baseline", "across", "reports"),
    in_all=("folds", "baseline"),
    standalone=RadiologySuite(),
)


def _open(settings: Settings, options: SuiteOptions) -> NamedEncoders:
    return open_encoders(Medley.open(home(settings)), options)


def _command(options: SuiteOptions) -> str:
    return command(NAME, replace(options, rerank=True))  # nothing is reranked either way


def _place(options: SuiteOptions) -> str:
    """What follows the name of a system that ranks other sentences than Indiana's."""
    return f", on {SPELLED[options.reports]}" if options.reports != INDIANA else ""


def _rows(
    found: FindingJudgements,
    system: str,
    values: Mapping[str, Values],
    apart: Sequence[Values] | None,
    options: SuiteOptions,
) -> list[Report]:
    measures = _estimates(values)
    if apart is not None:
        measures["separation"] = _separation(apart)
    note, shown = _note(system), f"{system}{_place(options)}"
    rows: list[Report] = [{"system": shown, "measures": measures} | note]
    present = np.array([item.concept.present for item in found.queries])
    for name, chosen in (("positive", present), ("negative", ~present)):
        if options.variants and chosen.any():
            some = {measure: found_values[chosen] for measure, found_values in values.items()}
            rows.append({"system": f"{shown}, {name}", "measures": _estimates(some)} | note)
    return rows


def _note(system: str) -> Report:
    if system.startswith(f"{DENSE}{SHIPPED}"):
        return {"note": NOTES[f"{DENSE}{SHIPPED}"]}
    name, beside, _ = system.partition(BESIDE)
    if name in (BASELINE, ACROSS):
        return {"note": NOTES[ACROSS]} if name == ACROSS else {}
    if name.startswith(FOLDS):
        return {"note": NOTES[FOLDS]}
    return {"note": NOTES[DENSE]} if beside and name in (DENSE, UNMARKED) else {}


def _estimates(values: Mapping[str, Values]) -> dict[str, dict[str, float]]:
    return {measure: interval(found).as_json() for measure, found in values.items()}


def _tests(values: Mapping[str, Mapping[str, Values]], place: str) -> list[Report]:
    """The differences in AP that are tested.

    Each encoder, alone and beside BM25, against BM25; what was trained on findings against the baseline; and marking against
    none with the same treatment.
    """
    ways = ("", BESIDE, TWICE)
    folds = next((name for name in values if name.startswith(FOLDS)), FOLDS)
    pairs = [(f"{system}{way}", BM25) for way in ways for system in (DENSE, BASELINE, ACROSS, folds)]
    pairs += [(f"{system}{way}", f"{BASELINE}{way}") for system in (ACROSS, folds) for way in ways]
    pairs += [(f"{DENSE}{way}", f"{UNMARKED}{way}") for way in ways]
    return [_test(first, second, values, place) for first, second in pairs if first in values and second in values]


def _test(first: str, second: str, values: Mapping[str, Mapping[str, Values]], place: str) -> Report:
    found = compare(values[first]["AP"], values[second]["AP"])
    return {
        "system": f"{first}{place}",
        "against": f"{second}{place}",
        "measure": "AP",
        "difference": found.difference.as_json(),
        "ratio": round(float(values[first]["AP"].mean() / values[second]["AP"].mean()), 4),
        "p": round(found.p, 5),
    }


def _separation(apart: Sequence[Values]) -> dict[str, float]:
    """The mean over all labels, and its interval: queries are resampled with their labels, which belong together."""
    sums, counts = (np.array([count(item) for item in apart], float) for count in (np.sum, np.size))
    deviation = float(np.concatenate(apart).std())
    return ratio_interval(sums, counts).as_json() | {"deviation": round(deviation, 6)}


def _notes(
    found: FindingJudgements, systems: Sequence[System], named: NamedEncoders, apart: Mapping[str, Sequence[Values]]
) -> list[str]:
    labels = {system: np.concatenate(item) for system, item in apart.items()}
    positive = sum(item.concept.present for item in found.queries)
    return [
        f"{len(found.texts):,} distinct sentences, all ranked; {positive} positive and {len(found.queries) - positive} negative "
        f"queries with at least {LEAST} matching sentences; labels by the project's own lexicon",
        "AP is averaged over queries (mAP); Rprec is the recall at as many sentences as match, the paper's mean recall",
        *(
            f"separation of {system}: {item.mean():.3f} ± {item.std():.3f} over {item.size:,} labels"
            for system, item in labels.items()
        ),
        *(f"{system.name}: {system.note}" for system in systems if system.note),
        *(
            f"{system}: {', '.join(short_fingerprint(encoder.fingerprint) for encoder in encoders)}"
            for system, encoders in named.items()
        ),
    ]
