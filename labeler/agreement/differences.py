"""Two assessors beside the same human grades: the paired difference of a statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.contingency import GradedPairs, query_tables, restricted
from labeler.agreement.estimate import defined
from labeler.agreement.registry import Statistic
from labeler.arrays import Floats
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample


@dataclass(frozen=True)
class Difference:
    """The first assessor's value minus the second's, on the pairs that both and people graded."""

    statistic: Statistic
    pairs: int
    first: float | None
    second: float | None
    value: float | None
    low: float | None
    high: float | None
    method: str

    @property
    def verdict(self) -> str:
        """Which of `first` and `second` is closer to people, or that it cannot be told."""
        if self.low is None or self.high is None:
            return "undefined"
        if self.low <= 0 <= self.high:
            return "cannot tell apart"
        if not self.statistic.better:
            return "first is higher" if self.low > 0 else "second is higher"
        return "first is closer" if (self.low > 0) == (self.statistic.better > 0) else _SECOND


_SECOND = "second is closer"


def differences(
    first: GradedPairs,
    second: GradedPairs,
    statistics: Sequence[Statistic],
    options: StatisticOptions,
) -> list[Difference]:
    """Every statistic of the first minus that of the second, by the same resamples."""
    # the pairs that people and both assessors graded
    common = np.intersect1d(first.row, second.row)
    if not len(common):
        return [Difference(s, 0, None, None, None, None, None, options.method) for s in statistics]
    sides = [query_tables(restricted(pairs, common)) for pairs in (first, second)]
    # (queries, 2, k, k), so that the same draws serve both
    sample = Sample(np.stack(sides, axis=1), options.draws, options.seed)
    grades = np.array(first.grades, dtype=np.float64)
    return [_difference(s, sample, grades, len(common), options) for s in statistics]


def _difference(
    statistic: Statistic, sample: Sample, grades: Floats, pairs: int, options: StatisticOptions
) -> Difference:
    def compute(tables: Floats) -> Floats:
        both = statistic.compute(tables, grades)
        return both[..., 0] - both[..., 1]

    first, second = (defined(value) for value in statistic.compute(sample.total, grades))
    value = None if first is None or second is None else first - second
    has_interval = value is not None and statistic.sampled
    low, high = between(options.method, sample, compute) if has_interval else (None, None)
    return Difference(statistic, pairs, first, second, value, low, high, options.method)
