"""Intervals that treat the pairs of one query as what they are: not independent.

Whatever is a function of sums over queries (a contingency table is one) can be resampled at once:
draws of queries are a matrix of counts, and one matrix product with the queries' tables gives the
tables of all draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from labeler.arrays import Floats
from labeler.stats.student import t_quantile

NORMAL = NormalDist()

Compute = Callable[[Floats], Floats]
"""`(..., features)` sums to `(...)` values, `nan` where undefined."""

Interval = tuple[float, float] | None
Ends = tuple[float | None, float | None]

LEVEL = 0.95
DRAWS = 1000
MOST_UNDEFINED = 0.05
"""With a larger share of undefined draws there is no interval."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Sums by query, `(queries, ...)`, and how to resample them.

    Without `draws` there are `DRAWS`, or of few queries, which cost little, up to ten times as
    many, so that the ends hardly depend on the seed.
    """

    sums: Floats
    draws: int | None = None
    seed: int = 0

    @property
    def count(self) -> int:
        """How many draws."""
        return self.draws or max(DRAWS, min(10 * DRAWS, 250 * DRAWS // max(len(self.sums), 1)))

    @cached_property
    def total(self) -> Floats:
        """The sums of all queries."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    @cached_property
    def resampled(self) -> Floats:
        """The sums of each draw of as many queries, with replacement."""
        queries, draws = len(self.sums), self.count
        chosen = np.random.default_rng(self.seed).integers(0, queries, (draws, queries))
        chosen += np.arange(draws)[:, None] * queries
        counts = np.bincount(chosen.ravel(), minlength=draws * queries)
        weights = counts.reshape(draws, queries).astype(np.float64)
        flat = weights @ self.sums.reshape(queries, -1)
        return np.asarray(flat.reshape(draws, *self.sums.shape[1:]), dtype=np.float64)

    @cached_property
    def without_one(self) -> Floats:
        """The sums of all queries but one, for each."""
        return np.asarray(self.total - self.sums, dtype=np.float64)


def percentile(sample: Sample, compute: Compute, _bounded: bool = False) -> Interval:
    """The middle 95 % of the cluster bootstrap's draws."""
    tail = (1 - LEVEL) / 2
    return _quantiles(compute(sample.resampled), tail, 1 - tail)


def expanded_percentile(sample: Sample, compute: Compute, _bounded: bool = False) -> Interval:
    """Percentiles further out, as far as t with `n - 1` degrees exceeds the normal at `n` queries.

    Hesterberg (2015), The American Statistician 69(4): the plain percentiles of a small sample are
    too narrow by the factor `sqrt((n - 1) / n)` and by the normal in place of t.
    """
    n = len(sample.sums)
    if n < 2:
        return None
    tail = NORMAL.cdf(-reach(n, n - 1))
    return _quantiles(compute(sample.resampled), tail, 1 - tail)


def reach(queries: int, freedom: float) -> float:
    """How many standard deviations of the bootstrap's draws a t interval reaches."""
    return t_quantile((1 + LEVEL) / 2, freedom) * math.sqrt(queries / (queries - 1))


def errors_reached(method: str, queries: int) -> float:
    """How many standard errors of so many queries a method's interval reaches, as a rule."""
    if method == "cluster-bootstrap":
        return reach(queries, degrees(queries))
    return t_quantile((1 + LEVEL) / 2, queries - 1)


def degrees(queries: int) -> float:
    """The degrees of freedom of a variance estimated from so many queries of unequal influence.

    Of `n` contributions with kurtosis `k` it is as uncertain as of `2 n / (k - 1)` normal ones;
    queries' contributions to agreement have 5 to 9 on TREC DL 2019, 6.5 as a rule. With few
    queries that would overshoot, as percentiles are coarse there: scripts/simulate_coverage.py.
    """
    return max(min(queries - 1.0, 6.0), (queries - 1) / 2.75)


def stretched_percentile(sample: Sample, compute: Compute) -> Interval:
    """Percentiles whose ends are moved away from the value as far as t exceeds the normal.

    The degrees of freedom are those of `degrees`. Quantiles that far out, of 1,000 draws, would be
    less sure themselves.
    """
    n, value = len(sample.sums), float(compute(sample.total))
    ends = percentile(sample, compute)
    if n < 2 or ends is None or not math.isfinite(value):
        return None
    stretch = reach(n, degrees(n)) / NORMAL.inv_cdf((1 + LEVEL) / 2)
    below, above = max(value - ends[0], 0.0), max(ends[1] - value, 0.0)
    return value - stretch * below, value + stretch * above


def bca(sample: Sample, compute: Compute, _bounded: bool = False) -> Interval:
    """Bias-corrected and accelerated percentiles; Efron (1987), JASA 82(397)."""
    draws, without = compute(sample.resampled), compute(sample.without_one)
    point = float(compute(sample.total))
    draws = draws[~np.isnan(draws)]
    if not np.isfinite(point) or np.isnan(without).any() or len(draws) < 2:
        return None
    below = (np.sum(draws < point) + np.sum(draws == point) / 2) / len(draws)
    shift = NORMAL.inv_cdf(float(np.clip(below, 1 / len(draws), 1 - 1 / len(draws))))
    pull = without.mean() - without
    spread = np.sum(pull**2) ** 1.5
    acceleration = float(np.sum(pull**3) / (6 * spread)) if spread > 0 else 0.0
    ends = []
    for z in (NORMAL.inv_cdf((1 - LEVEL) / 2), NORMAL.inv_cdf((1 + LEVEL) / 2)):
        moved = shift + (shift + z) / (1 - acceleration * (shift + z))
        ends.append(NORMAL.cdf(moved))
    return _quantiles(draws, *ends)


def jackknife(sample: Sample, compute: Compute, bounded: bool = False) -> Interval:
    """The value and t standard errors of the jackknife over queries either way.

    A `bounded` statistic, as kappa is by 1, is less skewed on Fisher's scale (arctanh).
    """
    n, without = len(sample.sums), compute(sample.without_one)
    values = np.append(without, compute(sample.total))
    if n < 2 or not np.isfinite(values).all():
        return None
    bends = bounded and bool(np.abs(values).max() < 1)
    moved = np.arctanh(values) if bends else values
    reach = t_quantile((1 + LEVEL) / 2, n - 1) * jackknife_error(moved[:-1])
    ends = moved[-1] - reach, moved[-1] + reach
    low, high = np.tanh(ends) if bends else ends
    return float(low), float(high)


def cluster_bootstrap(sample: Sample, compute: Compute, bounded: bool = False) -> Interval:
    """The stretched percentiles, never narrower than the jackknife's interval on either side.

    Each of the two alone covers too little for some statistic in scripts/simulate_coverage.py.
    """
    drawn = stretched_percentile(sample, compute)
    left = jackknife(sample, compute, bounded)
    if drawn is None or left is None:
        return drawn
    return min(drawn[0], left[0]), max(drawn[1], left[1])


def jackknife_error(without_one: Floats) -> float:
    """The standard error from the values without one query each."""
    n = len(without_one)
    spread = np.sum((without_one - without_one.mean()) ** 2)
    return float(np.sqrt((n - 1) / n * spread))


def _quantiles(draws: Floats, low: float, high: float) -> Interval:
    defined = draws[~np.isnan(draws)]
    if len(defined) < 2 or len(defined) < (1 - MOST_UNDEFINED) * len(draws):
        return None
    ends = np.quantile(defined, [low, high])
    return float(ends[0]), float(ends[1])


METHODS: dict[str, Callable[[Sample, Compute, bool], Interval]] = {
    "cluster-bootstrap": cluster_bootstrap,
    "expanded": expanded_percentile,
    "percentile": percentile,
    "bca": bca,
    "jackknife": jackknife,
}
"""What resamples queries, by name; the first is the default."""


def between(method: str, sample: Sample, compute: Compute, *, bounded: bool = False) -> Ends:
    """The ends of a method's interval of 95 %, `None` where there is none."""
    if len(sample.sums) < 2:
        return None, None
    return METHODS[method](sample, compute, bounded) or (None, None)


def naive(
    table: Floats, compute: Compute, pairs: int, draws: int | None, seed: int
) -> tuple[Interval, float]:
    """The interval that resamples single pairs as if they were independent, and its variance."""
    shares = table.ravel() / table.sum()
    drawn = np.random.default_rng(seed).multinomial(pairs, shares, size=draws or DRAWS)
    values = compute(drawn.reshape(-1, *table.shape).astype(np.float64))
    return _quantiles(values, (1 - LEVEL) / 2, (1 + LEVEL) / 2), float(np.nanvar(values))
