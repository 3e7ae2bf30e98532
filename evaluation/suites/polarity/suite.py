"""The suite `polarity`: of two texts that differ only in polarity, a question ranks the right one first.

A pair counts only if both of its questions do: "with effusion" must find the text with an effusion, and "no effusion", or
"without effusion", the one without. Equal scores are wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import numpy as np

from encoders.marked import short_fingerprint
from evaluation.corpus.index import home
from evaluation.measures import Values
from evaluation.statistics import compare, interval
from evaluation.suite import Progress, Report, Suite, SuiteOptions, command
from evaluation.suites.polarity.pairs import INVENTED, REPORTS, PolarityPair, load_invented, turn_reports
from evaluation.suites.polarity.systems import COLLECTION, DENSE, UNMARKED, PairSystem, build_systems
from mappings.datasets.indiana_cxr import read_reports
from search.bootstrap import Medley
from search.settings import Settings

NAME: Final = "polarity"
PAIRS: Final = "pairs"
NEAREST: Final = 1e-6
"""Scores that differ by less are equal: vectors are computed in float32."""
_NOTES: Final = (
    "pairs: the share of pairs whose two questions (with X; without X or no X, by turns) both rank the right text first",
    "the invented pairs were written for this project before any of these figures; those of reports are made by program "
    "from sentences whose shape alone says how to turn them",
    "marking reads texts by the project's own lexicon and rules: a concept that it does not know is not marked",
)


class PolaritySuite:
    """The suite, which searches no collection. The option `baseline` names a further bi-encoder, which is not marked."""

    def run(self, settings: Settings, options: SuiteOptions, progress: Progress | None = None) -> Report:
        """The report in the stable JSON form. Raises `InvalidInput`, `NotFound`, `ModelError`."""
        started = time.perf_counter()
        every = read_pairs(settings)
        pairs = _sampled(every, options.queries)
        systems = list(build_systems(Medley.open(home(settings)), options.baseline))
        values = {}
        for number, system in enumerate(systems, 1):
            values[system.name] = score_pairs(pairs, system)
            if progress:
                progress(number, len(systems))
        sample = {"queries": len(pairs), "of": len(every), "fixed": True}
        return {
            "suite": NAME,
            "collection": COLLECTION,
            "queries": len(pairs),
            "sample": sample if len(pairs) < len(every) else None,
            "rows": [row for name, found in values.items() for row in _rows(name, pairs, found, options.variants)],
            "tests": list(_tests(values)),
            "published": [],
            "notes": [
                *_NOTES,
                *(f"{item.name}: {short_fingerprint(item.fingerprint)}" for item in systems if item.fingerprint),
            ],
            "command": command(NAME, replace(options, rerank=True)),
            "seconds": round(time.perf_counter() - started, 1),
        }

    def require(self, settings: Settings, options: SuiteOptions) -> None:
        """Raise as `run` does where one of its encoders can't be opened."""
        list(build_systems(Medley.open(home(settings)), options.baseline))

    def identify(self, settings: Settings, options: SuiteOptions) -> tuple[str, Any]:
        """The command of the report, and all that decides it: pairs and encoders."""
        systems = build_systems(Medley.open(home(settings)), options.baseline)
        prints = {system.name: system.fingerprint for system in systems}
        pairs = [list(pair) for pair in _sampled(read_pairs(settings), options.queries)]
        return command(NAME, replace(options, rerank=True)), [pairs, prints, settings.form, settings.device]


SUITE: Final = Suite(
    NAME,
    "a finding, with and without, to the right one of two texts that differ only in polarity",
    options=("baseline",),
    in_all=("baseline",),
    standalone=PolaritySuite(),
)


def read_pairs(settings: Settings) -> list[PolarityPair]:
    """The invented pairs, and those of the reports in MEDLEY_DATA. Raises as `read_reports` does."""
    return [*load_invented(), *turn_reports(read_reports(settings.data))]


def questions(number: int, pair: PolarityPair) -> tuple[str, str]:
    """The questions of a pair for the text with its finding and for the one without."""
    return f"with {pair.finding}", f"{'without' if number % 2 else 'no'} {pair.finding}"


def score_pairs(pairs: Sequence[PolarityPair], system: PairSystem) -> Values:
    """1 for each pair whose two questions both rank the right text first, else 0; shape (pairs,)."""
    with_it, without_it = zip(*(questions(number, pair) for number, pair in enumerate(pairs)), strict=True)
    present, absent = [pair.present for pair in pairs], [pair.absent for pair in pairs]
    scores = system.scoring([*with_it, *with_it, *without_it, *without_it], [*present, *absent, *absent, *present])
    right_with, wrong_with, right_without, wrong_without = scores.reshape(4, len(pairs))
    both = (right_with - wrong_with > NEAREST) & (right_without - wrong_without > NEAREST)
    return np.asarray(both, dtype=np.float64)


def _sampled(pairs: Sequence[PolarityPair], size: int | None) -> list[PolarityPair]:
    """A fixed sample: the same whatever the order of the files."""
    if size is None or size >= len(pairs):
        return list(pairs)
    return sorted(pairs, key=lambda item: sha256("\t".join(item).encode()).digest())[:size]


def _rows(name: str, pairs: Sequence[PolarityPair], values: Values, variants: bool) -> Iterator[Report]:
    yield {"system": name, "measures": {PAIRS: interval(values).as_json()}}
    for origin in (INVENTED, REPORTS) if variants else ():
        chosen = np.array([pair.origin == origin for pair in pairs])
        if chosen.any():
            yield {"system": f"{name}, {origin}", "measures": {PAIRS: interval(values[chosen]).as_json()}}


def _tests(values: dict[str, Values]) -> Iterator[Report]:
    if DENSE in values:
        found = compare(values[DENSE], values[UNMARKED])
        yield {
            "system": DENSE,
            "against": UNMARKED,
            "measure": PAIRS,
            "difference": found.difference.as_json(),
            "p": round(found.p, 5),
        }
