"""Two assessors beside the same human grades: the paired difference of a statistic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from labeler.agreement.compare import StatisticOptions, defined
from labeler.agreement.statistics import GradedPairs, Statistic, query_tables, restricted
from labeler.arrays import Floats
from labeler.report.result import Hidden
from labeler.report.table import Interval, shown
from labeler.stats.intervals import Replicates, Sample, cluster_bootstrap, degrees
from labeler.stats.student import LEVEL, NORMAL_QUANTILE, t_quantile


@dataclass(frozen=True)
class Difference:
    """The first assessor's value minus the second's, on the pairs that both and people graded.

    The interval is of this difference alone; `told_apart` allows for all that are looked at.
    """

    statistic: Hidden[Statistic]
    pairs: int
    first: float | None
    second: float | None
    value: float | None
    low: float | None
    high: float | None
    told_apart: Hidden[bool] = False

    @property
    def interval(self) -> Interval:
        """The difference with the ends of its interval."""
        return Interval(self.value, self.low, self.high)

    @property
    def leaves_0_out(self) -> bool:
        """Whether the interval of this difference, looked at alone, does not reach 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @shown
    def verdict(self) -> str:
        """Which of `first` and `second` is closer to people, or that it cannot be told."""
        if self.low is None or self.high is None:
            return "undefined"
        if not self.told_apart:
            return "cannot tell apart"
        if not self.statistic.better:
            return "first is higher" if self.low > 0 else "second is higher"
        is_first = (self.low > 0) == (self.statistic.better > 0)
        return "first is closer" if is_first else "second is closer"


TINY = 1e-12


def differences(
    first: GradedPairs,
    second: GradedPairs,
    statistics: Sequence[Statistic],
    options: StatisticOptions,
    others: int = 1,
) -> list[Difference]:
    """Every statistic of the first minus that of the second, by the same resamples.

    Of two equal assessors, in at most 5 of 100 cases is any of them told apart by anything: the
    verdicts allow for the number of statistics, and of `others` that stand beside the second.
    """
    # the pairs that people and both assessors graded
    common = np.intersect1d(first.row, second.row, assume_unique=True)
    if not len(common):
        return [Difference(s, 0, None, None, None, None, None) for s in statistics]
    sides = [query_tables(restricted(pairs, common)) for pairs in (first, second)]
    # (queries, 2, k, k), so that the same draws serve both
    sample = Sample(np.stack(sides, axis=1), options.draws, options.seed)
    of = [Replicates(sample, partial(_less, statistic)) for statistic in statistics]
    rows = [
        _difference(statistic, replicates, len(common))
        for statistic, replicates in zip(statistics, of, strict=True)
    ]
    wider, differing = _wider(rows, of, others), []
    for row in rows:
        told_apart = False
        if row.value and row.low is not None and row.high is not None:
            toward_0 = row.value - row.low if row.value > 0 else row.high - row.value
            told_apart = abs(row.value) > wider * toward_0
        differing.append(replace(row, told_apart=told_apart))
    return differing


def _less(statistic: Statistic, tables: Floats) -> Floats:
    """The first's value less the second's, of `(..., 2, k, k)` tables."""
    both = statistic(tables)
    return np.asarray(both[..., 0] - both[..., 1])


def _difference(statistic: Statistic, of: Replicates, pairs: int) -> Difference:
    first, second = map(defined, statistic(of.sample.total))
    if first is None or second is None:
        return Difference(statistic, pairs, first, second, None, None, None)
    ends = cluster_bootstrap(of) if of.sample.queries > 1 else None
    low, high = ends or (None, None)
    if ends and statistic.low is not None and statistic.high is not None:
        # no farther from 0 than two values of the statistic can be
        most = statistic.high - statistic.low
        low, high = max(ends[0], -most), min(ends[1], most)
    return Difference(statistic, pairs, first, second, first - second, low, high)


def _wider(rows: Sequence[Difference], of: Sequence[Replicates], others: int) -> float:
    """How much wider intervals have to be for all of them to hold at once, 95 times of 100.

    The largest of the draws' standardized differences, of all statistics together, tells how far
    all of them reach at once (Westfall and Young, 1993): statistics of one table hang together.
    Assessors are allowed for by their number.
    """
    scores = []
    for row, replicates in zip(rows, of, strict=True):
        if row.low is not None and row.high is not None and row.high > row.low:
            drawn = replicates.drawn - (row.value or 0.0)
            spread = float(np.nanstd(drawn)) if np.isfinite(drawn).any() else 0.0
            if spread > TINY:
                scores.append(np.nan_to_num(np.abs(drawn)) / spread)
    if not scores:
        return 1.0
    largest = np.max(scores, axis=0)
    alone = np.quantile(np.stack(scores), LEVEL)
    together = np.quantile(largest, 1 - (1 - LEVEL) / others)
    freedom = degrees(of[0].sample.queries)
    # how much farther t reaches than a normal for so small a chance, beside doing so for 5 %
    chance = max(math.erfc(float(together) / math.sqrt(2)), 1e-12)
    reached = t_quantile(1 - chance / 2, freedom) / float(together)
    longer = reached / (t_quantile((1 + LEVEL) / 2, freedom) / NORMAL_QUANTILE)
    return max(1.0, float(together / alone)) * max(1.0, longer)
