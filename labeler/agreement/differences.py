"""Two assessors against the same people: the paired difference of a statistic, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement.compare import Options
from labeler.agreement.registry import Statistic
from labeler.agreement.tables import Paired, query_tables, restricted
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
    first: Paired, second: Paired, chosen: Sequence[Statistic], options: Options
) -> list[Difference]:
    """Every chosen statistic of the first minus that of the second, by the same resamples."""
    common = np.intersect1d(first.row, second.row)
    if not len(common):
        return [Difference(s, 0, None, None, None, None, None, options.method) for s in chosen]
    sides = [query_tables(restricted(pairs, common)) for pairs in (first, second)]
    sample = Sample(np.stack(sides, axis=1), options.draws, options.seed)
    grades = np.array(first.grades, dtype=np.float64)
    return [_difference(one, sample, grades, len(common), options) for one in chosen]


def _difference(
    chosen: Statistic, sample: Sample, grades: Floats, pairs: int, options: Options
) -> Difference:
    def compute(tables: Floats) -> Floats:
        both = chosen.compute(tables, grades)
        return both[..., 0] - both[..., 1]

    first, second = (_defined(value) for value in chosen.compute(sample.total, grades))
    value = None if first is None or second is None else first - second
    told = value is not None and chosen.sampled
    low, high = between(options.method, sample, compute) if told else (None, None)
    return Difference(chosen, pairs, first, second, value, low, high, options.method)


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
