"""Means of several groups of queries: which may be the least, and whether they differ at all.

Groups share no query, so that their means are independent. What is said of the least of them
allows for its having been chosen after looking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.resampling import BLOCK
from labeler.stats.student import LEVEL, SIGNIFICANT, t_below, t_quantile

SHUFFLES = 10_000
FEWEST_SHUFFLES = 1000
_CELLS = 20_000_000
"""About as many values are shuffled in all; of very many queries there are fewer shuffles."""


class GroupMean(NamedTuple):
    """A group's mean, the ends of its interval of 95 %, and how many queries are as precise.

    `queries` is their number where they count alike, else that of queries of equal weight.
    """

    value: float
    low: float
    high: float
    queries: float


def least_mean(means: Sequence[GroupMean]) -> tuple[float, float]:
    """The interval of 95 % of the least true mean, whichever group has it.

    The lower end is the least of the groups' lower ends: of the group whose true mean is least, it
    lies below in 97.5 % of samples, so that no allowance for several groups is needed (Berger 1982,
    Technometrics 24). The upper end is the least of upper ends that hold all at once (Bonferroni).
    """
    return min(mean.low for mean in means), min(_upper(mean, len(means)) for mean in means)


def _upper(mean: GroupMean, groups: int) -> float:
    """The upper end of a group's interval, moved out as far as several groups at once need."""
    if mean.queries < 2:
        return math.inf
    level, freedom = (1 - LEVEL) / 2, mean.queries - 1
    stretch = t_quantile(1 - level / groups, freedom) / t_quantile(1 - level, freedom)
    return mean.value + stretch * (mean.high - mean.value)


def may_be_least(values: Sequence[Floats]) -> list[int]:
    """The groups that may have the least true mean: at 95 % the one that has is among them.

    A group is left out where its mean is shown to be above another's, by Welch's t test at 5 %
    divided by the number of others: multiple comparisons with the best, after Hsu (1984), Annals
    of Statistics 12. Groups of one query always may be.
    """
    others = max(len(values) - 1, 1)
    spread = _spread(np.concatenate(list(values)))
    facts = [_moments(group, spread) for group in values]
    return [
        i
        for i, group in enumerate(facts)
        if not any(
            _chance_above(group, other) < SIGNIFICANT / others
            for j, other in enumerate(facts)
            if j != i
        )
    ]


class _Moments(NamedTuple):
    mean: float
    variance: float
    freedom: float


def _moments(values: Floats, spread: float) -> _Moments:
    """A mean, its variance and the degrees of freedom of that.

    The variance of all values counts as one more observation, so that a few equal values are not
    taken for certainty.
    """
    n = len(values)
    deviations = float(((values - values.mean()) ** 2).sum())
    return _Moments(float(values.mean()), (deviations + spread) / n / n, n - 1.0)


def _spread(values: Floats) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _chance_above(group: _Moments, other: _Moments) -> float:
    """One-sided p of the group's mean lying above the other's, by Welch's t test."""
    error = group.variance + other.variance
    if not error or not group.freedom or not other.freedom:
        return 1.0
    parts = group.variance**2 / group.freedom + other.variance**2 / other.freedom
    return t_below((other.mean - group.mean) / math.sqrt(error), error**2 / parts)


def interaction_p(values: Sequence[Floats], seed: int = 0) -> float:
    """The p of several groups of values, as differences of two runs, having one and the same mean.

    Values are dealt to the groups anew. The statistic weighs each group by its own variance, so
    that the test also holds, for many queries, where groups vary unequally: Pauly, Brunner and
    Konietschke (2015), JRSS B 77(2). 1 for fewer than two groups, and where no value differs.
    """
    every = np.concatenate(list(values)) if values else np.zeros(0)
    spread = _spread(every)
    if len(values) < 2 or not spread > 0:
        return 1.0
    sizes = np.array([len(group) for group in values])
    observed = _unevenness(every[None, :], sizes, spread)[0]
    beaten, drawn = 0, 0
    for dealt in _shuffled(every, seed):
        beaten += int((_unevenness(dealt, sizes, spread) * (1 + 1e-12) >= observed).sum())
        drawn += len(dealt)
    return (1 + beaten) / (1 + drawn)


def _shuffled(values: Floats, seed: int) -> Iterator[Floats]:
    """The values in random orders, `(shuffles, values)` in blocks."""
    rng, n = np.random.default_rng(seed), len(values)
    draws = max(FEWEST_SHUFFLES, min(SHUFFLES, _CELLS // n))
    at_once = max(1, BLOCK // n)
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        yield rng.permuted(np.broadcast_to(values, (size, n)), axis=1)


def _unevenness(dealt: Floats, sizes: np.ndarray, spread: float) -> Floats:
    """Of `(shuffles, values)` the weighted squares of groups' means about their common mean."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    means = np.add.reduceat(dealt, starts, axis=1) / sizes
    squares = np.add.reduceat(dealt**2, starts, axis=1) - sizes * means**2
    # the variance of all values counts as one more observation of each group
    weights = sizes**2 / (np.maximum(squares, 0.0) + spread)
    middle = (weights * means).sum(axis=1) / weights.sum(axis=1)
    uneven: Floats = (weights * (means - middle[:, None]) ** 2).sum(axis=1)
    return uneven
