"""One statistic of an assessor and people: its value and its interval over queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement.statistics.registry import Statistic
from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.stats.intervals import METHODS, Ends, Interval, Replicates, naive
from labeler.stats.resampling import Sample
from labeler.stats.stabilized import of_tables

MOST_DRAWS = 1_000_000
"""More take gigabytes, and no end of an interval hangs on them any more."""

DEFAULT_METHOD = "cluster-bootstrap"
INTERVALS: dict[str, Callable[[Replicates], Interval]] = {**METHODS, DEFAULT_METHOD: of_tables}
"""What resamples or leaves out queries' tables, by name."""
IN_GRADES = ("mae", "bias")
"""Statistics that cannot exceed the width of the scale."""


@dataclass(frozen=True)
class StatisticOptions:
    """Which statistics (the default ones where `None`), and how their intervals are made."""

    names: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    draws: int | None = None
    seed: int = 0
    naive: bool = False

    def __post_init__(self) -> None:
        if self.draws is not None and not 1 <= self.draws <= MOST_DRAWS:
            problem = f"expected 1 to {MOST_DRAWS:,} draws, found {self.draws:,}"
            raise Misuse(problem, parameter="draws")


@dataclass(frozen=True)
class Naive:
    """The interval over single pairs, and how many times its variance the honest one has."""

    low: float | None
    high: float | None
    design_effect: float | None


@dataclass(frozen=True)
class Estimate:
    """A value with its interval of 95 %; `None` where undefined."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    naive: Naive | None = None


def estimate(
    statistic: Statistic, sample: Sample, grades: Floats, options: StatisticOptions, pairs: int
) -> Estimate:
    """One statistic's value and interval; nothing but `None` where it is undefined."""
    value = value_of(statistic, sample.total, grades)
    if value is None:
        return Estimate(None, None, None, options.method)

    def compute(tables: Floats) -> Floats:
        return statistic.compute(tables, grades)

    limits = _limits(statistic, grades)
    of = Replicates(sample, compute, statistic.bounded)
    has_interval = statistic.sampled and sample.queries > 1
    ends = INTERVALS[options.method](of) if has_interval else None
    low, high = _within(ends or (None, None), limits)
    if not options.naive:
        return Estimate(value, low, high, options.method)
    single, variance = naive(sample.total, compute, pairs, options.draws, options.seed)
    # the design effect: the variance over draws of queries by that over draws of single pairs
    both = low is not None and single is not None and variance > 0
    effect = float(np.nanvar(of.drawn)) / variance if both else None
    over_pairs = _within(single or (None, None), limits) if statistic.sampled else (None, None)
    return Estimate(value, low, high, options.method, Naive(*over_pairs, effect))


def value_of(statistic: Statistic, table: Floats, grades: Floats) -> float | None:
    """The statistic of a table, `None` where it is undefined."""
    return defined(statistic.compute(table, grades))


def defined(value: float | Floats) -> float | None:
    """A value as a number, `None` where it is `nan` or infinite."""
    number = float(value)
    return number if math.isfinite(number) else None


def _limits(statistic: Statistic, grades: Floats) -> Ends:
    """Between what the statistic's values lie, on this scale."""
    if statistic.name not in IN_GRADES:
        return statistic.low, statistic.high
    width = float(grades[-1] - grades[0])
    return -width if statistic.low is None else statistic.low, width


def _within(ends: Ends, limits: Ends) -> Ends:
    low, high = ends
    if low is None or high is None:
        return None, None
    low = low if limits[0] is None else max(low, limits[0])
    return low, high if limits[1] is None else min(high, limits[1])
