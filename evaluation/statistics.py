"""How certain a mean over queries is: bootstrap intervals and a paired test, vectorised and seeded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.measures import Values
from mappings.errors import InvalidInput

RESAMPLES: Final = 10_000
FIGURE_RESAMPLES: Final = 1_000
"""As many where a figure is computed one resample at a time."""
SEED: Final = 20_120_717
CELLS: Final = 2_000_000
"""How many numbers are drawn at a time: 16 MB."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries with its 95 % interval."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """Rounded to six places: more would be noise of the resampling."""
        return {"value": round(self.value, 6), "low": round(self.low, 6), "high": round(self.high, 6)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean difference of two systems over the same queries, its 95 % interval, and the two-sided p value."""

    difference: Estimate
    p: float


def spell_estimate(item: Mapping[str, float] | None) -> str:
    """An estimate as JSON in words: its value and its interval; "" for none."""
    return f"{item['value']:.3f} ({item['low']:.3f}–{item['high']:.3f})" if item else ""


def spell_difference(item: Mapping[str, float]) -> str:
    """A difference as JSON in words: signed, with its interval."""
    return f"{item['value']:+.3f} ({item['low']:+.3f} to {item['high']:+.3f})"


def interval(values: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """The mean of `values`, shape (queries,), and its percentile bootstrap interval over queries."""
    if values.size == 0:
        raise InvalidInput("an interval needs at least one value", field="values")
    means = np.concatenate([values[rows].mean(axis=1) for rows in _draws(values.size, resamples, seed)])
    low, high = np.quantile(means, (0.025, 0.975))
    return Estimate(float(values.mean()), float(low), float(high))


def mean_of_means(samples: Sequence[Values], resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """The mean of the means of samples, each of shape (queries,), and its interval: the queries of each are resampled."""
    if not samples or any(values.size == 0 for values in samples):
        raise InvalidInput("a mean over data sets needs a value of each", field="values")
    means = [
        np.concatenate([values[rows].mean(axis=1) for rows in _draws(values.size, resamples, seed + number)])
        for number, values in enumerate(samples)
    ]
    low, high = np.quantile(np.mean(means, axis=0), (0.025, 0.975))
    return Estimate(float(np.mean([values.mean() for values in samples])), float(low), float(high))


def resampled(
    values: Values, figure: Callable[[Values], float], resamples: int = FIGURE_RESAMPLES, seed: int = SEED
) -> Estimate:
    """A figure of `values`, shape (…, queries), that is no mean, and its percentile bootstrap interval over queries."""
    count = values.shape[-1]
    if count == 0:
        raise InvalidInput("an interval needs at least one value", field="values")
    found = [figure(values[..., rows]) for draw in _draws(count, resamples, seed) for rows in draw]
    low, high = np.quantile(found, (0.025, 0.975))
    return Estimate(figure(values), float(low), float(high))


def compare(first: Values, second: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Comparison:
    """`first` − `second`, paired by query: bootstrap interval and randomisation test.

    The test flips the sign of each query's difference at random (Fisher's randomisation; Smucker, Allan and
    Carterette 2007) and counts how often the mean is at least as far from 0; the observed mean counts,
    too, so p is never 0.
    """
    if first.shape != second.shape:
        raise InvalidInput(f"a paired test needs the same queries; got {first.size} and {second.size}", field="values")
    differences = first - second
    observed = abs(differences.mean())
    extreme = 0
    for signs in _signs(differences.size, resamples, seed):
        # The tolerance keeps equal sums equal, whatever the order of addition.
        extreme += int((np.abs(signs @ differences) / differences.size >= observed - 1e-12).sum())
    return Comparison(interval(differences, resamples, seed), (extreme + 1) / (resamples + 1))


def closed_share(ours: Values, theirs: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """The share of the distance from `theirs` to a perfect mean of 1 that `ours` closes, and its bootstrap interval.

    (mean of ours − mean of theirs) / (1 − mean of theirs), resampled by query; 0 where nothing is left to close.
    """
    if ours.shape != theirs.shape or ours.size == 0:
        raise InvalidInput(f"a share needs the same queries; got {ours.size} and {theirs.size}", field="values")

    def share(first: Values, second: Values) -> Values:
        left = 1 - second
        return np.divide(first - second, left, out=np.zeros_like(left), where=left > 1e-12)

    means = [(ours[rows].mean(axis=1), theirs[rows].mean(axis=1)) for rows in _draws(ours.size, resamples, seed)]
    low, high = np.quantile(np.concatenate([share(*pair) for pair in means]), (0.025, 0.975))
    value = share(ours.mean(keepdims=True), theirs.mean(keepdims=True))
    return Estimate(float(value[0]), float(low), float(high))


def ratio_interval(upper: Values, lower: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """Mean of `upper` / mean of `lower`, both of shape (queries,), resampled by query; 0 where `lower` is 0."""
    if upper.shape != lower.shape or upper.size == 0:
        raise InvalidInput(f"a ratio needs the same queries; got {upper.size} and {lower.size}", field="values")

    def ratio(above: Values, below: Values) -> Values:
        return np.divide(above, below, out=np.zeros_like(below), where=below > 0)

    means = [(upper[rows].mean(axis=1), lower[rows].mean(axis=1)) for rows in _draws(upper.size, resamples, seed)]
    low, high = np.quantile(np.concatenate([ratio(*pair) for pair in means]), (0.025, 0.975))
    value = ratio(upper.mean(keepdims=True), lower.mean(keepdims=True))
    return Estimate(float(value[0]), float(low), float(high))


def macro_f1_interval(wanted: Values, told: Values, resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """The mean F1 of the classes in `wanted` or `told` (integers from 0), of shape (items,), resampled by item.

    Of a resample only the classes that occur in it count. Raises `InvalidInput` for different or no items.
    """
    if wanted.shape != told.shape or wanted.size == 0:
        raise InvalidInput(f"an F1 needs the same items; got {wanted.size} and {told.size}", field="values")
    classes = np.unique(np.concatenate((wanted, told)))

    def mean_f1(rows: NDArray[np.int64]) -> Values:
        one, two = wanted[rows], told[rows]
        hits = np.stack([((one == name) & (two == name)).sum(axis=1) for name in classes])
        both = np.stack([(one == name).sum(axis=1) + (two == name).sum(axis=1) for name in classes])
        scores = np.divide(2 * hits, both, out=np.zeros(both.shape), where=both > 0)
        found: Values = scores.sum(axis=0) / np.maximum(1, (both > 0).sum(axis=0))
        return found

    means = np.concatenate([mean_f1(rows) for rows in _draws(wanted.size, resamples, seed)])
    low, high = np.quantile(means, (0.025, 0.975))
    return Estimate(float(mean_f1(np.arange(wanted.size)[None])[0]), float(low), float(high))


def _blocks(size: int, resamples: int) -> Iterator[int]:
    rows = max(1, CELLS // size)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)


def _draws(size: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    source = np.random.default_rng(seed)
    for rows in _blocks(size, resamples):
        yield source.integers(0, size, (rows, size))


def _signs(size: int, resamples: int, seed: int) -> Iterator[Values]:
    source = np.random.default_rng(seed)
    for rows in _blocks(size, resamples):
        yield (source.integers(0, 2, (rows, size)) * 2 - 1).astype(np.float64)
