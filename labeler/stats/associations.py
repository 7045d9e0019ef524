"""Whether two values of a query go together over queries: with intervals of 95 % over queries."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.stats.intervals import Compute, between, jackknife_error
from labeler.stats.levels import LEVEL, NORMAL_QUANTILE
from labeler.stats.resampling import Sample
from labeler.stats.shares import wilson
from labeler.stats.student import t_quantile

MOST_QUERIES = 2000
"""Every two queries are compared in every draw: of more queries there is no interval."""
FEWEST_APART = 5
"""Where fewer queries differ from the most common value, no interval holds what it should."""
FEWEST_QUERIES = 20
"""Of fewer, intervals of tau covered .73 of the time in scripts/simulate_raters.py."""


class Association(NamedTuple):
    """How far two values of a query go together, with its interval; `None` where undefined."""

    value: float | None
    low: float | None
    high: float | None


UNDEFINED = Association(None, None, None)


def tau_over_queries(x: Floats, y: Floats, seed: int = 0) -> Association:
    """Kendall's tau-b of `(queries,)` values; `None` where one of the two ties all queries.

    A query that a draw holds twice ties with itself in both, which tau-b leaves out.
    """
    signs_x, signs_y = _signs(x), _signs(y)
    agreeing = signs_x * signs_y

    def tau(counts: Floats) -> Floats:
        untied = _pairs(counts, np.abs(signs_x)) * _pairs(counts, np.abs(signs_y))
        return _ratio(_pairs(counts, agreeing), np.sqrt(untied))

    return _with_interval(tau, min(_apart(x), _apart(y)), len(x), seed)


def _with_interval(tau: Compute, apart: int, queries: int, seed: int) -> Association:
    value = float(tau(np.ones(queries))) if queries else math.nan
    if not math.isfinite(value):
        return UNDEFINED
    if apart < FEWEST_APART or not FEWEST_QUERIES <= queries <= MOST_QUERIES:
        return Association(value, None, None)
    # what is added up over queries is how often each is drawn
    sample = Sample(np.eye(queries), seed=seed)
    low, high = between("cluster-bootstrap", sample, tau, bounded=True)
    if low is None or high is None:
        return Association(value, None, None)
    return Association(value, max(low, -1.0), min(high, 1.0))


def _apart(values: Floats) -> int:
    """How many queries have another value than the most common one."""
    _, counts = np.unique(values, return_counts=True)
    return len(values) - int(counts.max(initial=0))


def concordance(first: Flags, y: Floats) -> Association:
    """The chance that of a query in the mask and one outside, the first has the higher `y`.

    Ties count half. That is the area under the curve. The interval is Wilson's, of as many queries
    as the jackknife's variance is worth: never of fewer than the harmonic mean of both sides, nor
    of more than if the two were alike (Mann and Whitney 1947, Annals of Mathematical Statistics
    18).
    """
    inside, outside = y[first], y[~first]
    m, n = len(inside), len(outside)
    if not m or not n:
        return UNDEFINED
    # (m, n): whether each of the mask lies above each of the others
    above = (1 + np.sign(inside[:, None] - outside[None, :])) / 2
    value = float(above.mean())
    if min(m, n) < FEWEST_APART:
        return Association(value, None, None)
    variance = _placements(above.mean(axis=1)) + _placements(above.mean(axis=0))
    most, least = 3 * m * n / (m + n + 1), 2 * m * n / (m + n)
    worth = min(max(value * (1 - value) / variance, least), most) if variance > 0 else least
    stretch = t_quantile((1 + LEVEL) / 2, m + n - 2) / NORMAL_QUANTILE
    low, high = wilson(np.array([value]), worth / stretch**2)
    return Association(value, float(low[0]), float(high[0]))


def _placements(shares: Floats) -> float:
    """What one side's queries add to the variance: the jackknife's of their mean placements."""
    total = float(shares.sum())
    return jackknife_error((total - shares) / (len(shares) - 1)) ** 2


def _signs(values: Floats) -> Floats:
    """For every ordered pair, 1 where the first is higher, -1 where lower, 0 where tied."""
    return np.asarray(np.sign(values[:, None] - values[None, :]), dtype=np.float64)


def _pairs(counts: Floats, cells: Floats) -> Floats:
    """The sum of `(n, n)` cells over all ordered pairs of `(..., n)` counted queries."""
    return np.asarray(((counts @ cells) * counts).sum(axis=-1), dtype=np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan))
