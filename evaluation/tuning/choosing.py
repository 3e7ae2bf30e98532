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
    """An option over all data sets, each counting alike: the mean gain, the data set with the least, and where it loses."""

    gain: Estimate
    worst: str
    least: float
    loses: tuple[str, ...]


def losses(gains: Gains) -> tuple[str, ...]:
    """The data sets on which an option loses by more than its interval; one question has no interval, and is no loss."""
    return tuple(
        name
        for name, values in gains.items()
        if values.size > 1 and values.mean() < 0 and interval(values).high < 0  # the interval is the slow part
    )


class Choice:
    """The choice among a setting's options, each with its gains on the same data sets, and what each option is worth."""

    def __init__(self, options: Sequence[Gains]) -> None:
        """Raises `InvalidInput` without an option or a data set."""
        if not options or not options[0]:
            raise InvalidInput("a choice needs an option and a data set", field="options")
        self.options = options
        self._lost = [losses(gains) for gains in options]

    @property
    def best(self) -> int:
        """The place of the option to take; of equally good ones the first.

        Where every option loses somewhere, one that loses on the fewest data sets is taken.
        """
        return self._best(list(self.options[0]))

    def without(self, name: str) -> int:
        """The place of the option that all data sets but this one choose. Raises `InvalidInput` if there is no other."""
        others = [other for other in self.options[0] if other != name]
        if not others:
            raise InvalidInput("leaving a data set out needs another one", field="options")
        return self._best(others)

    def judge(self, place: int) -> Judged:
        """What the option at this place gains."""
        gains = self.options[place]
        least, worst = min((float(values.mean()), name) for name, values in gains.items())
        return Judged(mean_of_means(list(gains.values())), worst, least, self._lost[place])

    def _best(self, names: Sequence[str]) -> int:
        def worth(place: int) -> tuple[int, float, int]:
            mean = float(np.mean([self.options[place][name].mean() for name in names]))
            return -len(set(self._lost[place]) & set(names)), round(mean, 6), -place

        return max(range(len(self.options)), key=worth)
