"""Two assessors beside the same human grades: the paired difference of a statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions, defined
from labeler.agreement.statistics import Statistic
from labeler.arrays import Flags, Floats
from labeler.report.result import Hidden
from labeler.report.table import Interval, shown
from labeler.stats.families import Contrasts, stepped_down
from labeler.stats.intervals import Replicates, Sample, cluster_bootstrap, jackknife_error
from labeler.stats.student import SIGNIFICANT
from labeler.trec.pairs import NONE


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
    first: GradeMatrix,
    second: GradeMatrix,
    statistics: Sequence[Statistic],
    options: StatisticOptions,
    others: int = 1,
) -> list[Difference]:
    """Every statistic of the first minus that of the second, by the same resamples.

    Of two equal assessors, in at most 5 of 100 cases is any of them told apart by anything: the
    verdicts allow for the number of statistics, and of `others` that stand beside the second.
    """
    # people and both assessors, on the pairs that all of them graded
    row = first.pairs.rows_in(second.pairs)
    common, beside = first.keep(row != NONE), row[row != NONE]
    pairs = common.pairs.size
    if not pairs:
        return [Difference(s, 0, None, None, None, None, None) for s in statistics]
    every = replace(common, values=np.column_stack([common.values, second.values[beside, 1]]))
    # (queries, 2, k, k), so that the same draws serve both
    tables = np.stack([every.tables(0, 1), every.tables(0, 2)], axis=1)
    sample = Sample(tables, options.draws, options.seed)
    of = [Replicates(sample, partial(_less, statistic)) for statistic in statistics]
    rows = [
        _difference(statistic, replicates, pairs)
        for statistic, replicates in zip(statistics, of, strict=True)
    ]
    verdicts = _verdicts(of, others)
    return [
        replace(row, told_apart=bool(is_told) and row.leaves_0_out)
        for row, is_told in zip(rows, verdicts, strict=True)
    ]


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


def _verdicts(of: Sequence[Replicates], others: int) -> Flags:
    """Which differences are told from 0, of a family of statistics that hang together.

    A statistic's queries are what each moves it by (the jackknife's pseudo-values); the verdicts
    are those of `labeler.stats.families`. Assessors are allowed for by their number.
    """
    values, without = (
        np.array([getattr(each, name) for each in of]) for name in ("value", "without_one")
    )
    defined = np.isfinite(values) & np.isfinite(without).all(axis=1)
    is_told = np.zeros(len(of), np.bool_)
    moves = without[defined].mean(axis=1, keepdims=True) - without[defined]
    if moves.shape[1] > 1 and defined.any():
        errors = np.maximum([jackknife_error(each) for each in without[defined]], TINY)
        t = np.abs(values[defined]) / errors
        is_told[defined] = stepped_down(t, Contrasts(moves).largest).p * others < SIGNIFICANT
    return is_told
