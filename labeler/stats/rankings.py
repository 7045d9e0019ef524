"""How alike two rankings of systems are, with intervals over queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.correlation import max_drop, rbo, tau_ap, tau_ap_b, tau_b
from labeler.stats.intervals import Compute, Interval, Replicates, jackknife, stretched
from labeler.stats.resampling import BLOCK, Sample

DRAWS = 2000
"""A correlation compares every two systems of a draw, which costs more than a sum."""


class RankStatistic(NamedTuple):
    """A function of `(..., systems)` scores by two qrels, its range, whether less is more alike."""

    compute: Callable[[Floats, Floats], Any]
    least: float = -1.0
    most: float = 1.0
    less_is_alike: bool = False


RANK_STATISTICS = {
    "tau_b": RankStatistic(tau_b),
    "tau_ap": RankStatistic(tau_ap),
    "tau_ap_b": RankStatistic(tau_ap_b),
    "rbo": RankStatistic(rbo, 0.0),
    "max_drop": RankStatistic(max_drop, 0.0, math.inf, less_is_alike=True),
}


class Correlation(NamedTuple):
    """A rank statistic's value and its interval of 95 %; `None` where undefined."""

    value: float | None
    low: float | None
    high: float | None


def correlations(first: Floats, second: Floats, seed: int = 0) -> dict[str, Correlation]:
    """Every rank statistic of the systems' mean scores by two qrels, `(systems, queries)` each.

    Higher scores are better.
    """
    x, y = first.mean(axis=1), second.mean(axis=1)
    # (queries, 2 systems), so that the same draws serve both qrels
    sample = Sample(np.concatenate([first, second]).T, DRAWS, seed)
    return {
        name: _correlation(statistic, float(statistic.compute(x, y)), sample)
        for name, statistic in RANK_STATISTICS.items()
    }


def _correlation(statistic: RankStatistic, value: float, sample: Sample) -> Correlation:
    if not math.isfinite(value):
        return Correlation(None, None, None)
    of = Replicates(sample, of_sums(statistic), freedom=sample.queries - 1.0)
    low, high = rank_interval(statistic, of) or (None, None)
    return Correlation(value, low, high)


def rank_interval(statistic: RankStatistic, of: Replicates) -> Interval:
    """The interval over queries of one rank statistic; `None` for fewer than two queries.

    Resampling queries adds noise of its own, so that resampled leaderboards are less alike
    than those they come from, and percentiles lie too low. Therefore, on the unlike side, it is the
    stretched percentile, and on the alike side whichever is farther, that or the jackknife's end:
    scripts/simulate_leaderboards.py has how often that covers.
    """
    ends = stretched(of)
    if ends is None:
        return None
    low, high = ends
    left = jackknife(of) or ends
    if statistic.less_is_alike:
        low = min(low, left[0])
    else:
        high = max(high, left[1])
    if statistic.most == math.inf:  # places, which are whole
        low, high = float(math.floor(low)), float(math.ceil(high))
    return max(low, statistic.least), min(high, statistic.most)


def of_sums(statistic: RankStatistic) -> Compute:
    """The statistic of `(..., 2 systems)` sums, by the first qrels and then by the second.

    Sums rank systems as their means do.
    """

    def compute(sums: Floats) -> Floats:
        systems = sums.shape[-1] // 2
        rows = sums.reshape(-1, 2 * systems)
        # every two systems are compared in every row, so that rows are taken a block at a time
        size = max(1, BLOCK // (4 * systems**2))
        blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
        values = [statistic.compute(block[:, :systems], block[:, systems:]) for block in blocks]
        return np.concatenate(values).astype(np.float64).reshape(sums.shape[:-1])

    return compute
