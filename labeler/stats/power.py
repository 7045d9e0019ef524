"""How many queries a comparison needs: power of the paired t test.

After Sakai (2016), Information Retrieval Journal 19(3), who plans with it, and Urbano, Lima and
Hanjalic (SIGIR 2019), who find that the t test keeps its level on IR data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.stats.intervals import degrees
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.normal import normal_below
from labeler.stats.search import fewest
from labeler.stats.student import chi_square_quantile, t_quantile
from labeler.stats.studentized import chi_weights, range_quantile

POWER = 0.8
"""The power, four times of five, that studies plan for as a rule."""
MOST_QUERIES = 10_000_000


@dataclass(frozen=True)
class PlannedTest:
    """The test of one pair of runs among several, at a level for all of them together.

    Of all pairs Tukey's HSD, as the randomised one is of many queries; with a `named_baseline`
    Holm's first step, the strictest. `pooled` is the deviation over all pairs, by which HSD judges
    every pair; where it is not given, that of the pair itself.
    """

    runs: int = 2
    named_baseline: bool = False
    pooled: float | None = None

    def bound(self, queries: int, deviation: float, level: float) -> tuple[float, int]:
        """How many standard errors of the pair a difference must reach, and their freedom."""
        several = self.runs > 2
        alone = t_quantile(1 - level / 2, queries - 1)
        if not several:
            return alone, queries - 1
        if self.named_baseline:
            return t_quantile(1 - level / 2 / (self.runs - 1), queries - 1), queries - 1
        freedom = (queries - 1) * (self.runs - 1)
        reach = range_quantile(1 - level, self.runs, freedom) / math.sqrt(2)
        scale = 1.0 if self.pooled is None else self.pooled / deviation
        return max(reach * scale, alone), freedom


ALONE = PlannedTest()


def power(
    queries: int,
    difference: float,
    deviation: float,
    level: float = SIGNIFICANT,
    test: PlannedTest = ALONE,
) -> float:
    """The chance that a two-sided paired test finds a true mean difference.

    `deviation` is the standard deviation of the differences over queries. Without a `test` of
    several runs it is the paired t test.
    """
    bound, freedom = test.bound(queries, deviation, level)
    shift = abs(difference) / deviation * math.sqrt(queries)
    return 1 - _noncentral_t(bound, freedom, shift) + _noncentral_t(-bound, freedom, shift)


def exceeds(bound: float, freedom: int, shift: float) -> float:
    """The chance that noncentral t lies above a bound."""
    return 1 - _noncentral_t(bound, freedom, shift)


def _noncentral_t(t: float, freedom: int, shift: float) -> float:
    """The probability that noncentral t lies below `t`: a normal averaged over chi."""
    s, weights = chi_weights(freedom)
    return float(normal_below(t * s - shift) @ weights)


def detectable(
    queries: int,
    deviation: float,
    target: float = POWER,
    level: float = SIGNIFICANT,
    test: PlannedTest = ALONE,
) -> float:
    """The smallest true difference that so many queries find with a target power."""
    if queries < 2:
        raise Misuse("a paired comparison needs at least 2 queries")
    low, high = 0.0, deviation
    while power(queries, high, deviation, level, test) < target:
        low, high = high, high * 2
    while high - low > 1e-6 * deviation:
        middle = (low + high) / 2
        enough = power(queries, middle, deviation, level, test) >= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def queries_needed(
    difference: float,
    deviation: float,
    target: float = POWER,
    level: float = SIGNIFICANT,
    test: PlannedTest = ALONE,
) -> int:
    """The fewest queries that find a true difference with a target power."""
    if difference == 0 or deviation == 0:
        raise Misuse("a difference and a deviation of 0 have no sample size")

    def suffice(queries: int) -> bool:
        return power(queries, difference, deviation, level, test) >= target

    queries = fewest(suffice, MOST_QUERIES)
    if queries is None:
        raise Misuse(f"a difference of {difference:g} needs over {MOST_QUERIES:,} queries")
    return queries


def paired_deviations(values: Floats) -> dict[tuple[int, int], float]:
    """The standard deviation of the differences of each pair of rows, over the columns."""
    runs = len(values)
    return {
        (i, j): float(np.nanstd(values[i] - values[j], ddof=1))
        for i in range(runs)
        for j in range(i + 1, runs)
    }


def variance_factors(values: Floats, share: float) -> tuple[float, float]:
    """What to multiply a pooled variance of differences by to get the ends of its interval.

    From the scores `(runs, queries)`. Each end is the farther of two: chi-square's, which heavy
    tails make too near, and that of the logarithm by the jackknife over queries, which few queries
    do. `share` is that of samples whose interval holds the truth, as a rule.
    """
    residuals = np.nan_to_num(values - np.nanmean(values, axis=1, keepdims=True))
    residuals -= residuals.mean(axis=0)
    each = (residuals**2).sum(axis=0)  # a query's share of the variance, up to a factor
    n = len(each)
    error = float(each.std(ddof=1) / math.sqrt(n) / each.mean())
    reach = math.exp(t_quantile((1 + share) / 2, degrees(n)) * error)
    low = (n - 1) / chi_square_quantile((1 + share) / 2, n - 1)
    high = (n - 1) / chi_square_quantile((1 - share) / 2, n - 1)
    return min(low, 1 / reach), max(high, reach)


def pooled(deviations: list[float]) -> float:
    """The root of the mean variance."""
    return math.sqrt(sum(deviation**2 for deviation in deviations) / len(deviations))
