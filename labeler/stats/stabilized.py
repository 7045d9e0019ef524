"""Intervals of statistics of tables, on the scale on which their standard error stays the same.

A few large or odd queries decide a kappa and its standard error together: a sample that missed them
shows a value that is too low with an error that is too small. Intervals that take the error as it
is then miss the truth on one side. How the error follows the value is seen by leaving queries out;
on the scale that undoes it, an interval of t reaches farther on that side.
"""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.intervals import (
    Interval,
    Replicates,
    degrees,
    jackknife_error,
    stretched,
)
from labeler.stats.levels import LEVEL
from labeler.stats.resampling import AT_ONCE
from labeler.stats.student import t_quantile

STEP = 1e-4
"""The share of a table's sum that is added to a cell to see how the statistic changes."""
LEAST_LOG, MOST_BEND = 3.0, 0.9
"""The most that one query left out changes the log of the variance, and the most that a scale
bends over half an interval."""
FEWEST_DEGREES = 4.0
MOST_LEFT_OUT = 400
"""Of more queries, those of the greatest influence are left out, which tell it alone."""


def of_tables(of: Replicates) -> Interval:
    """The stabilized interval, on neither side narrower than the stretched percentiles.

    Coverage of both together: scripts/simulate_coverage.py.
    """
    drawn, moved = stretched(of), stabilized(of)
    if drawn is None or moved is None:
        return drawn
    return min(drawn[0], moved[0]), max(drawn[1], moved[1])


def stabilized(of: Replicates) -> Interval:
    """The value and t standard errors either way, where the error is that of each end's own value.

    Where the log of the variance changes by `b` with the value, the error does not on the scale
    `(1 - exp(-b (x - value) / 2)) * 2 / b`: Tibshirani (1988), Biometrika 75(3), in a line's
    approximation. A bounded statistic is taken on Fisher's scale (arctanh) first.
    """
    values = np.append(of.without_one, of.value)
    if of.sample.queries < 2 or not np.isfinite(values).all():
        return None
    fishers = of.bounded and bool(np.abs(values).max() < 1)
    moved = np.arctanh(values) if fishers else values
    error = jackknife_error(moved[:-1])
    if error <= 0:
        return of.value, of.value
    reached = t_quantile((1 + LEVEL) / 2, degrees_of(of.sample.sums))
    bend = float(np.clip(_slope(of, fishers=fishers) * reached / 2, -MOST_BEND, MOST_BEND))
    if abs(bend) < 1e-6:
        below = above = reached * error
    else:
        above = -math.log(1 - bend) / bend * reached * error
        below = math.log(1 + bend) / bend * reached * error
    ends = moved[-1] - below, moved[-1] + above
    low, high = np.tanh(ends) if fishers else ends
    return float(low), float(high)


def degrees_of(sums: Floats) -> float:
    """The degrees of freedom of a variance over queries with tables of these sizes.

    Influences grow with the size `m` of a query, so that a variance is as uncertain as of
    `sum(m²)² / sum(m⁴)` equal queries: Satterthwaite (1946), Biometrics Bulletin 2(6). They are
    never more than `degrees`, for queries of one size differ in influence too.
    """
    squares = sums.reshape(len(sums), -1).sum(axis=1) ** 2
    even = float(squares.sum()) ** 2 / max(float((squares**2).sum()), 1e-300)
    return min(degrees(len(sums)), max(even, min(FEWEST_DEGREES, len(sums) - 1.0)))


def _slope(of: Replicates, *, fishers: bool) -> float:
    """How much the log of the variance changes with the value, by one standard error.

    The variance is that of the delta method: the sum over queries of squared influences, which are
    the statistic's gradient times the query's sums.
    """
    tables = of.sample.sums
    flat = tables.reshape(len(tables), -1)
    influence = _gradients(of, of.sample.total[None], fishers=fishers) @ flat.T
    variance = float((influence**2).sum(axis=1)[0])
    if variance <= 0:
        return 0.0
    order = np.argsort(-np.abs(influence[0]))[:MOST_LEFT_OUT]
    gradients = _gradients(of, of.sample.total - tables[order], fishers=fishers)
    # without the influence of the query itself
    left = _variances(gradients, flat, order)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(left / variance)
    logs = np.clip(np.nan_to_num(logs, nan=-LEAST_LOG), -LEAST_LOG, LEAST_LOG)
    return float(-(influence[0][order] @ logs) / math.sqrt(variance))


def _variances(gradients: Floats, flat: Floats, order: Integers) -> Floats:
    """The delta method's variance at each gradient, each without one query.

    Of many queries the squared influences are had from the sums' products, which is the same but
    for rounding, and takes no matrix of queries.
    """
    if len(flat) <= AT_ONCE:
        influences = gradients @ flat.T
        own = influences[np.arange(len(order)), order]
        return np.asarray((influences**2).sum(axis=1) - own**2, dtype=np.float64)
    squares = np.einsum("if,fg,ig->i", gradients, flat.T @ flat, gradients)
    own = (gradients * flat[order]).sum(axis=1)
    return np.asarray(squares - own**2, dtype=np.float64)


def _gradients(of: Replicates, sums: Floats, *, fishers: bool) -> Floats:
    """The statistic's gradient at each of some sums, perhaps on Fisher's scale."""
    at = of.compute(sums)
    gradient = _gradient(of, sums, at)
    return gradient / np.maximum(1 - at**2, 1e-9)[:, None] if fishers else gradient


def _gradient(of: Replicates, sums: Floats, at: Floats) -> Floats:
    """The statistic's derivative by each of the sums, `(rows, features)`, by forward steps."""
    rows, shape = len(sums), sums.shape[1:]
    features = math.prod(shape)
    step = STEP * sums.reshape(rows, features).sum(axis=1)
    single = np.eye(features).reshape(features, *shape)
    # (rows, features, ...): each cell a step higher
    steps = step.reshape(rows, *(1 for _ in range(len(shape) + 1)))
    higher = of.compute(sums[:, None] + steps * single)
    return np.asarray((higher - at[:, None]) / step[:, None], dtype=np.float64)
