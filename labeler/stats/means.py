"""Intervals of 95 % of a mean over queries: one for the same values, whoever asks for it."""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Floats
from labeler.stats.intervals import Interval, Replicates, cluster_bootstrap, jackknife
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import smallest_p, wins_ties_losses
from labeler.stats.resampling import Sample
from labeler.stats.unseen import at_the_bounds, unseen_differences

METHODS = {"bootstrap": cluster_bootstrap, "t": jackknife}
"""By name: the method of all intervals, and Student's, which the jackknife of a mean is."""


def mean_interval(values: Floats, method: str = "bootstrap", seed: int = 0) -> Interval:
    """The interval of the mean of `(queries,)` values, `nan` ones left out; `None` for under two.

    The degrees of freedom are Student's, one less than the queries: with them the intervals of
    eleven systems' means over 10 to 50 queries of TREC DL 2019 cover .92 to .96, and with the
    fewer that statistics of agreement need (`degrees`) up to .98: scripts/simulate_means.py.
    """
    defined = values[~np.isnan(values)]
    return METHODS[method](replicates_of_mean(defined, seed)) if len(defined) > 1 else None


def replicates_of_mean(values: Floats, seed: int = 0) -> Replicates:
    """The mean of `(queries,)` values, of each draw of them, and without one each."""
    sample = Sample(np.stack([values, np.ones_like(values)], axis=1), seed=seed)
    return Replicates(sample, _mean, freedom=len(values) - 1.0)


def _mean(sums: Floats) -> Floats:
    """`(..., 2)` sums of values and of ones to `(...)` means."""
    return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)


def bounded_interval(
    values: Floats, method: str, seed: int, bounds: tuple[float, float]
) -> Interval:
    """The interval of a mean of values that lie between two bounds, and never beyond them.

    A bootstrap's is moved out by what piles up at either bound (`at_the_bounds`).
    """
    ends, (least, most) = mean_interval(values, method, seed), bounds
    if ends is None:
        return None
    low, high = ends
    if method != "t":
        scale = most - least
        below, above = at_the_bounds((values - least) / scale)
        low, high = min(low, below * scale + least), max(high, above * scale + least)
    return max(low, least), min(high, most)


def paired_interval(values: Floats, method: str, seed: int, most: float) -> Interval:
    """The interval of a mean of paired differences of `most` at most, up or down.

    A bootstrap's is moved out by what the ties leave open (`unseen_differences`), and holds 0 where
    so few queries differ that no test could tell the mean from it.
    """
    if math.isinf(most):
        ends = mean_interval(values, method, seed)
    else:
        ends = bounded_interval(values, method, seed, (-most, most))
    if ends is None or method == "t":
        return ends
    low, high = ends
    defined = values[~np.isnan(values)]
    if not math.isinf(most):
        reach = unseen_differences(defined / most) * most
        low, high = min(low, defined.mean() - reach), max(high, defined.mean() + reach)
    if not smallest_p(sum(wins_ties_losses(defined)[::2])) < SIGNIFICANT:
        low, high = min(low, 0.0), max(high, 0.0)
    return max(low, -most), min(high, most)
