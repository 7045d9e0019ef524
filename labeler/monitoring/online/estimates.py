"""Intervals of online measures: groups of users are what is resampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.report.table import Interval
from labeler.stats.intervals import Replicates, cluster_bootstrap
from labeler.stats.resampling import Sample
from labeler.stats.shares import wilson

FEWEST = 10
"""With fewer groups of users there is no interval."""
UNKNOWN = Interval(None, None, None)

Cell = tuple[int, ...]
"""Which of the sums of a group."""


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """Sums over groups of users, `(groups, ...)`, all of whose searches stand in one group.

    Users are in groups by chance, so that groups are as independent as users are.
    """

    sums: Floats
    seed: int = 0

    @cached_property
    def sample(self) -> Sample:
        """The groups that hold anything."""
        flat = self.sums.reshape(len(self.sums), -1)
        return Sample(self.sums[np.abs(flat).sum(axis=1) > 0], seed=self.seed)

    @cached_property
    def total(self) -> Floats:
        """The sums over all groups."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def estimate(self, compute: Callable[[Floats], Floats]) -> Interval:
        """A value that is a function of the sums, with its interval of 95 %."""
        value = float(compute(self.total))
        if not math.isfinite(value):
            return UNKNOWN
        groups = self.sample.queries
        if groups < FEWEST:
            return Interval(value, None, None)
        of = Replicates(self.sample, compute, freedom=groups - 1.0)
        low, high = cluster_bootstrap(of) or (None, None)
        return Interval(value, low, high)

    def share(self, part: Cell, whole: Cell) -> Interval:
        """The share that one sum is of another, such as clicks of impressions.

        Where it is 0 or 1, the interval is Wilson's, as if each group were one observation.
        """
        estimate = self.estimate(lambda sums: ratio(_at(sums, part), _at(sums, whole)))
        if estimate.value is None or estimate.low is None:
            return estimate
        if 0 < estimate.value < 1:
            return Interval(estimate.value, max(estimate.low, 0.0), min(estimate.high or 1.0, 1.0))
        groups = float((_at(self.sums, whole) > 0).sum())
        low, high = wilson(np.array([estimate.value]), groups)
        return Interval(estimate.value, float(low[0]), float(high[0]))


def _at(sums: Floats, cell: Cell) -> Floats:
    places: Any = (Ellipsis, *cell)
    return np.asarray(sums[places], dtype=np.float64)


def ratio(part: Floats, whole: Floats) -> Floats:
    """One sum over another; nan where that is 0."""
    safe = np.where(whole > 0, whole, 1.0)
    return np.asarray(np.where(whole > 0, part / safe, np.nan), dtype=np.float64)


def added(target: Floats, places: tuple[Any, ...], values: Floats) -> None:
    """Add values to the cells of an array that these index arrays name."""
    flat = np.ravel_multi_index(places, target.shape)
    target += np.bincount(flat, weights=values, minlength=target.size).reshape(target.shape)
