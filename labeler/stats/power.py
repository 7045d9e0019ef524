"""How many queries a comparison needs: power of the paired t test.

After Sakai (2016), Information Retrieval Journal 19(3), who plans with it, and Urbano, Lima and
Hanjalic (SIGIR 2019), who find that the t test keeps its level on IR data.
"""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.student import t_quantile

POWER = 0.8
"""The power, four times of five, that studies plan for as a rule."""
MOST_QUERIES = 10_000_000
_POINTS = 2001


def power(queries: int, difference: float, deviation: float, level: float = SIGNIFICANT) -> float:
    """The chance that the two-sided paired t test finds a true mean difference.

    `deviation` is the standard deviation of the differences over queries.
    """
    freedom = queries - 1
    bound = t_quantile(1 - level / 2, freedom)
    shift = abs(difference) / deviation * math.sqrt(queries)
    return 1 - _noncentral_t(bound, freedom, shift) + _noncentral_t(-bound, freedom, shift)


def exceeds(bound: float, freedom: int, shift: float) -> float:
    """The chance that noncentral t lies above a bound."""
    return 1 - _noncentral_t(bound, freedom, shift)


def _noncentral_t(t: float, freedom: int, shift: float) -> float:
    """The probability that noncentral t lies below `t`: a normal averaged over chi, by Simpson."""
    # s is chi over sqrt(freedom), within 12 standard deviations of 1
    spread = 12 / math.sqrt(2 * freedom)
    s = np.linspace(max(1e-9, 1 - spread), 1 + spread, _POINTS)
    # the logarithm of its density: 2 (f/2)^(f/2) / Gamma(f/2) * s^(f-1) * exp(-f s^2 / 2)
    half = freedom / 2
    log_density = math.log(2) + half * math.log(half) - math.lgamma(half)
    density = np.exp(log_density + (freedom - 1) * np.log(s) - half * s**2)
    # Simpson's weights: 1 4 2 4 ... 2 4 1
    weights = np.where(np.arange(_POINTS) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    values = _normal_below(t * s - shift) * density * weights
    return float(values.sum() * (s[1] - s[0]) / 3)


def _normal_below(z: Floats) -> Floats:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in z.tolist()])


def detectable(
    queries: int, deviation: float, target: float = POWER, level: float = SIGNIFICANT
) -> float:
    """The smallest true difference that so many queries find with a target power."""
    if queries < 2:
        raise Misuse("a paired comparison needs at least 2 queries")
    low, high = 0.0, deviation
    while power(queries, high, deviation, level) < target:
        low, high = high, high * 2
    while high - low > 1e-6 * deviation:
        middle = (low + high) / 2
        enough = power(queries, middle, deviation, level) >= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def queries_needed(
    difference: float, deviation: float, target: float = POWER, level: float = SIGNIFICANT
) -> int:
    """The fewest queries that find a true difference with a target power."""
    if difference == 0 or deviation == 0:
        raise Misuse("a difference and a deviation of 0 have no sample size")
    low, high = 1, 2
    while power(high, difference, deviation, level) < target:
        low, high = high, high * 2
        if high > MOST_QUERIES:
            raise Misuse(f"a difference of {difference:g} needs over {MOST_QUERIES:,} queries")
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(middle, difference, deviation, level) >= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def paired_deviations(values: Floats) -> dict[tuple[int, int], float]:
    """The standard deviation of the differences of each pair of rows, over the columns."""
    runs = len(values)
    return {
        (i, j): float(np.nanstd(values[i] - values[j], ddof=1))
        for i in range(runs)
        for j in range(i + 1, runs)
    }


def pooled(deviations: list[float]) -> float:
    """The root of the mean variance."""
    return math.sqrt(sum(deviation**2 for deviation in deviations) / len(deviations))
