"""How alike two rankings of systems are, with intervals over queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.correlation import max_drop, rbo, tau_ap, tau_ap_b, tau_b
from labeler.stats.intervals import Compute, Interval, Replicates, jackknife, reach, stretched
from labeler.stats.resampling import BLOCK, Sample

DRAWS = 2000
"""A correlation compares every two systems of a draw, which costs more than a sum."""


BIAS_OF_DRAWS = 1 / (math.sqrt(2) - 1)
"""How many times as far as the draws' mean lies below a value it lies below the truth itself."""
MOST_OF_ALL = 0.6
"""An interval that spans this share of all that a statistic could be says nothing."""
HALVES = 200
"""How often queries are parted into halves."""
FEWEST_TO_HALVE = 4


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
    """A rank statistic's value and its interval of 95 %; `None` where undefined.

    `open` says that the interval would span nearly all that the statistic could be: it would say
    nothing, and is not given.
    """

    value: float | None
    low: float | None
    high: float | None
    open: bool = False


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
    ends = rank_interval(statistic, of)
    if ends is None:
        return Correlation(value, None, None)
    least, most = possible_values(statistic, sample.sums.shape[1] // 2)
    if ends[1] - ends[0] >= MOST_OF_ALL * (most - least):
        return Correlation(value, None, None, open=True)
    return Correlation(value, *ends)


def possible_values(statistic: RankStatistic, systems: int) -> tuple[float, float]:
    """What the statistic is of equal orders and of reversed ones, the lower of the two first."""
    order = np.arange(systems, dtype=np.float64)
    same, turned = (float(statistic.compute(order, other)) for other in (order, order[::-1]))
    return min(same, turned), max(same, turned)


def rank_interval(statistic: RankStatistic, of: Replicates) -> Interval:
    """The interval over queries of one rank statistic; `None` for fewer than two queries.

    Noise of queries makes two leaderboards less alike than those of all queries would be, and
    resampling adds as much noise again. Of n queries a statistic falls short of its truth by about
    `c / sqrt(n)`, and in draws, whose noise is that of half as many queries, by `sqrt(2)` times as
    much: so the truth lies above the value by `1 / (sqrt(2) - 1)` times as much as the draws' mean
    lies below it. On the alike side the interval is moved by that, and reaches as far as the
    draws' standard deviation, their percentile or the jackknife do, whichever is farthest; on the
    other side the value may only be too low, so that the deviation is enough.
    scripts/simulate_leaderboards.py has how often that covers.
    """
    ends = stretched(of)
    if ends is None:
        return None
    sign = -1.0 if statistic.less_is_alike else 1.0
    defined = of.drawn[np.isfinite(of.drawn)]
    n = of.sample.queries
    deviation = reach(n, n - 1.0) * float(defined.std())
    short = max(sign * (of.value - float(defined.mean())), 0.0) * BIAS_OF_DRAWS
    # how far beyond the value the ends on the alike side lie
    farthest = max(sign * (end - of.value) for end in (*ends, *(jackknife(of) or ends)))
    alike = of.value + sign * (max(farthest, deviation) + short)
    unlike = of.value - sign * deviation
    low, high = min(alike, unlike), max(alike, unlike)
    if statistic.most == math.inf:  # places, which are whole
        low, high = float(math.floor(low)), float(math.ceil(high))
    return max(low, statistic.least), min(high, statistic.most)


def noise_ceiling(scores: Floats, seed: int = 0) -> float | None:
    """The tau-b that two sets of as many queries, graded by the same people, would have.

    From `(systems, queries)` scores by people alone: queries are parted into halves at random, and
    each half orders the systems. tau-b of two halves is turned into the correlation of normal
    scores that has it, `sin(pi / 2 tau)` after Greiner (1909), stepped up from half to all queries
    by Spearman (1910) and Brown (1910), and turned back. `None` for fewer than four queries.
    """
    queries = scores.shape[1]
    if queries < FEWEST_TO_HALVE or len(scores) < 2:
        return None
    order = np.random.default_rng(seed).random((HALVES, queries)).argsort(axis=1)
    first = (order < queries // 2).astype(np.float64)
    second = (order >= queries - queries // 2).astype(np.float64)
    # (halves, queries) @ (queries, systems): sums, which order as means do
    taus = tau_b(first @ scores.T, second @ scores.T)
    defined = taus[np.isfinite(taus)]
    if not len(defined):
        return None
    half = math.sin(math.pi / 2 * float(defined.mean()))
    if half <= 0:
        return 0.0
    return 2 / math.pi * math.asin(min(2 * half / (1 + half), 1.0))


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
