"""How many queries a comparison needs: power of the paired t test.

After Sakai (2016), Information Retrieval Journal 19(3), who plans with it, and Urbano, Lima and
Hanjalic (SIGIR 2019), who find that the t test keeps its level on IR data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.stats.intervals import degrees
from labeler.stats.means import normal_below, unseen_losses
from labeler.stats.student import SIGNIFICANT, crossed, f_quantile, t_of, t_quantile

# The smallest number for which something holds, as it does for all larger ones.


def fewest(holds: Callable[[int], bool], at_most: int) -> int | None:
    """The smallest whole number, 2 or more, for which it holds; None beyond `at_most`.

    >>> fewest(lambda n: n * n >= 50, 1000)
    8
    """

    def is_fewer(number: float) -> bool:
        return number < 2 or (number <= at_most and not holds(int(number)))

    enough = int(crossed(is_fewer, 2.0, 0.0, 1.0))
    return enough if enough <= at_most else None


# The studentized range without scipy: what the largest difference of alike systems may be.

_QUANTILE_STEP = 0.02
_WIDEST = 40.0
_TAIL = 8.5
_POINTS = 1001


@lru_cache(maxsize=256)
def range_quantile(probability: float, systems: int, freedom: int) -> float:
    """The range that the means of `systems` alike systems stay below with this probability.

    It is in standard errors, which have `freedom` degrees of freedom: Tukey's studentized range.
    """
    (s, weights), table = chi_weights(freedom), _normal_ranges(systems)
    steps = np.arange(len(table)) * _QUANTILE_STEP

    def is_below(width: float) -> bool:
        """Whether the range lies below `width` less often: averaged over chi."""
        return float(np.interp(width * s, steps, table) @ weights) < probability

    return crossed(is_below, 2.0, 1e-9)


@lru_cache(maxsize=8)
def _normal_ranges(systems: int) -> Floats:
    """The probability that the range of `systems` normal values lies below each step.

    k times the integral of phi(z) (Phi(z) - Phi(z - w))^(k - 1), where z is the largest value.
    """
    steps, tail = round(_WIDEST / _QUANTILE_STEP), round(_TAIL / _QUANTILE_STEP)
    z = np.arange(-tail - steps, tail + 1, dtype=np.float64) * _QUANTILE_STEP
    below = normal_below(z)
    density = np.exp(-(z[steps:] ** 2) / 2) / math.sqrt(2 * math.pi)

    def integral(w: int) -> float:
        others = below[steps:] - below[steps - w : -w or None]
        return systems * _QUANTILE_STEP * float((density * others ** (systems - 1)).sum())

    return np.minimum([integral(w) for w in range(steps + 1)], 1.0)


@lru_cache(maxsize=64)
def chi_weights(freedom: int, points: int = _POINTS) -> tuple[Floats, Floats]:
    """Values of chi over the root of its degrees of freedom, and their weights by Simpson's rule.

    Within 12 standard deviations of 1.
    """
    spread = 12 / math.sqrt(2 * freedom)
    s = np.linspace(max(1e-9, 1 - spread), 1 + spread, points)
    # the logarithm of its density: 2 (f/2)^(f/2) / Gamma(f/2) * s^(f-1) * exp(-f s^2 / 2)
    half = freedom / 2
    log_density = math.log(2) + half * math.log(half) - math.lgamma(half)
    density = np.exp(log_density + (freedom - 1) * np.log(s) - half * s**2)
    weights = np.where(np.arange(points) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    return s, density * weights * (s[1] - s[0]) / 3


POWER = 0.8
"""The power, four times of five, that studies plan for as a rule."""
MOST_QUERIES = 10_000_000
"""A plan for more is none."""


def power(queries: int, difference: float, deviation: float, runs: int = 2) -> float:
    """The chance that a true mean difference is found, by the test of the best with the others.

    `deviation` is the standard deviation of the differences over queries. Of two `runs` it is the
    paired t test. Of more a difference must lie beyond Tukey's range, the most that the best of
    alike runs can lie above another one, in the pair's own errors: the strictest step.
    """
    freedom = queries - 1
    if runs == 2:
        bound = t_of(freedom)
    else:
        bound = range_quantile(1 - SIGNIFICANT, runs, freedom) / math.sqrt(2)
    shift = abs(difference) / deviation * math.sqrt(queries)
    return 1 - _noncentral_t(bound, freedom, shift) + _noncentral_t(-bound, freedom, shift)


def _noncentral_t(t: float, freedom: int, shift: float) -> float:
    """The probability that noncentral t lies below `t`: a normal averaged over chi.

    From 20 degrees of freedom on, a tenth of the points gives it as exactly.
    """
    s, weights = chi_weights(freedom, 101 if freedom >= 20 else _POINTS)
    return float(normal_below(t * s - shift) @ weights)


def detectable(queries: int, deviation: float, target: float = POWER, runs: int = 2) -> float:
    """The smallest true difference that `queries` queries find with the `target` power."""
    if queries < 2:
        raise Misuse("a paired comparison needs at least 2 queries")

    return crossed(
        lambda difference: power(queries, difference, deviation, runs) < target,
        deviation,
        0.0,
        1e-6 * deviation,
    )


def queries_needed(
    difference: float, deviation: float, target: float = POWER, runs: int = 2
) -> int | None:
    """The fewest queries that find a true difference; None where they are `MOST_QUERIES`."""
    return fewest(lambda n: power(n, difference, deviation, runs) >= target, MOST_QUERIES)


def pooled_deviation(values: Floats) -> float:
    """The root of the mean variance of the differences of each two rows, over the columns."""
    each = [
        float(np.nanstd(values[i] - values[j], ddof=1))
        for i, j in combinations(range(len(values)), 2)
    ]
    return math.sqrt(sum(deviation**2 for deviation in each) / len(each))


KNOWN = 1e7
"""The degrees of freedom of a variance that is as good as known."""


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
    # chi-square over its degrees of freedom is F beside a variance that is known
    low, high = (1 / f_quantile((1 + side) / 2, n - 1, KNOWN) for side in (share, -share))
    return min(low, 1 / reach), max(high, reach)


# How much a mean of paired differences may have lost or gained: tests against a margin.
#
# Two one-sided tests at 5 % (Schuirmann 1987, J. of Pharmacokinetics and Biopharmaceutics 15(6)): a
# loss of the margin is excluded where the lower bound of the mean lies above it, a gain where the
# upper one lies below. Absence of a proven difference is not proof of its absence, so that what few
# or varying queries leave open is not excluded.


def lower_bound(differences: Floats, largest: float, level: float = SIGNIFICANT) -> float:
    """The least that the mean of `(queries,)` differences may be; it is lower in 5 % of samples.

    The most that it may be is the negative of that of the negatives.

    Student's bound, with the degrees of freedom that heavy tails leave (`degrees`), lowered where
    losses are rare and large (Johnson 1978, JASA 73), and never above what losses that the sample
    has not seen could take. `largest` is how much a query may lose, 0 where nothing is known of
    that. `nan` for fewer than two queries.
    """
    n = len(differences)
    if n < 2:
        return math.nan
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    quantile = t_quantile(1 - level, degrees(n))
    bound = mean - quantile * math.sqrt(variance / n)
    third = float(((differences - mean) ** 3).mean())
    if variance > 0 and third < 0:
        bound += third * (1 + 2 * quantile**2) / (6 * variance * n)
    return min(bound, mean - unseen_losses(differences, largest, level))


# A series of tests that err in 5 % all together.

FALL, ALL_LOOKS = 1.6, 2.285766
"""How fast levels fall, and the sum of 1 / look ** 1.6 over all looks: Riemann's zeta."""


def level_of(look: int) -> float:
    """The level of the `look`th of a series of tests, counted from 1, that may have no end.

    All of them together err in 5 % of series at most, whatever they have in common: their levels
    add up to that. They fall with the power 1.6 of the look: alpha spending as in Tian and Ramdas
    (2021), Statistical Methods in Medical Research 30(4).

    >>> [round(level_of(look), 5) for look in (1, 10, 100)]
    [0.02187, 0.00055, 1e-05]
    """
    return SIGNIFICANT / ALL_LOOKS / math.pow(look, FALL)
