"""How a setting is chosen on data sets that no model was trained on, and what such a choice gains on one left out.

Of a setting's options the one with the greatest mean gain over data sets counts, among those that lose on none by more
than its interval. What the choice is worth is measured on each data set by the option that all others choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.measures import Values
from evaluation.statistics import Estimate, interval, mean_of_means
from mappings.errors import InvalidInput

Gains = Mapping[str, Values]
"""Data set -> what an option gains over the simple system for each question, shape (questions,)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An option over all data sets, each counting alike: mean gain, the least one, and where it loses."""

    gain: Estimate
    worst: str
    loses: tuple[str, ...]


def judge(gains: Gains) -> Judged:
    """What an option gains. Raises `InvalidInput` without a data set."""
    worst = min(gains, key=lambda name: (float(gains[name].mean()), name)) if gains else ""
    return Judged(mean_of_means(list(gains.values())), worst, losses(gains))


def losses(gains: Gains) -> tuple[str, ...]:
    """The data sets on which an option loses by more than its interval; one question has no interval, and is no loss."""
    return tuple(
        name
        for name, values in gains.items()
        if values.size > 1 and values.mean() < 0 and interval(values).high < 0  # the interval is the slow part
    )


def choose(options: Sequence[Gains]) -> int:
    """The place of the option to take; of equally good ones the first.

    Where every option loses somewhere, one that loses on the fewest data sets is taken. Raises `InvalidInput` without an
    option or a data set.
    """
    if not options or not options[0]:
        raise InvalidInput("a choice needs an option and a data set", field="options")
    return _best(options, [losses(gains) for gains in options], list(options[0]))


def choose_without(options: Sequence[Gains]) -> dict[str, int]:
    """Data set -> the place of the option that all other data sets choose. Raises `InvalidInput` for fewer than two."""
    names = list(options[0]) if options else []
    if len(names) < 2:
        raise InvalidInput("leaving a data set out needs another one", field="options")
    lost = [losses(gains) for gains in options]
    return {name: _best(options, lost, [other for other in names if other != name]) for name in names}


def _best(options: Sequence[Gains], lost: Sequence[Sequence[str]], names: Sequence[str]) -> int:
    def worth(place: int) -> tuple[int, float, int]:
        mean = float(np.mean([options[place][name].mean() for name in names]))
        return -len(set(lost[place]) & set(names)), round(mean, 6), -place

    return max(range(len(options)), key=worth)
