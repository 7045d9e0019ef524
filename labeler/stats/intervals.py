"""Intervals of 95 % over queries, of whatever is a function of sums over queries.

There is one method, `cluster_bootstrap`, for means, for statistics of agreement and for
correlations of leaderboards. Percentiles alone and the jackknife alone are there to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labeler.arrays import Floats
from labeler.stats.levels import LEVEL, NORMAL_QUANTILE
from labeler.stats.resampling import DRAWS, Sample
from labeler.stats.student import t_quantile

Compute = Callable[[Floats], Floats]
"""`(..., features)` sums to `(...)` values, `nan` where undefined."""

Interval = tuple[float, float] | None
Ends = tuple[float | None, float | None]

MOST_UNDEFINED = 0.05
"""With a larger share of undefined draws there is no interval."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """A statistic of a sample: of all queries, of each draw, and of all queries but one each.

    `bounded` says that it cannot exceed 1, as kappa. `freedom` are the degrees of freedom of its
    variance, those of `degrees` where nothing better is known.
    """

    sample: Sample
    compute: Compute
    bounded: bool = False
    freedom: float | None = None

    @cached_property
    def value(self) -> float:
        """The statistic of all queries."""
        return float(self.compute(self.sample.total))

    @cached_property
    def drawn(self) -> Floats:
        """The statistic of each draw, `(draws,)`."""
        return self.sample.of_draws(self.compute)

    @cached_property
    def without_one(self) -> Floats:
        """The statistic of all queries but one, `(queries,)`."""
        return self.sample.of_rest(self.compute)


def percentile(of: Replicates) -> Interval:
    """The middle 95 % of the draws' values: too narrow for few queries."""
    return quantiles(of.drawn, (1 - LEVEL) / 2, (1 + LEVEL) / 2)


def stretched(of: Replicates) -> Interval:
    """Percentiles whose ends are moved away from the value as far as t exceeds the normal.

    The draws' spread is too small by `sqrt((n - 1) / n)`, and the normal's reach is shorter than
    t's: Hesterberg (2015), The American Statistician 69(4). He takes percentiles further out;
    moving the ends covers the same, to .003, of means of TREC DL 2019 (scripts/simulate_means.py),
    and does not hang on the outermost few draws.
    """
    n, ends = of.sample.queries, percentile(of)
    if n < 2 or ends is None or not math.isfinite(of.value):
        return None
    freedom = degrees(n) if of.freedom is None else of.freedom
    stretch = reach(n, freedom) / NORMAL_QUANTILE
    below, above = max(of.value - ends[0], 0.0), max(ends[1] - of.value, 0.0)
    return of.value - stretch * below, of.value + stretch * above


def jackknife(of: Replicates) -> Interval:
    """The value and t standard errors of the jackknife either way; of a mean, Student's interval.

    A bounded statistic is less skewed on Fisher's scale (arctanh), and is measured there.
    """
    n = of.sample.queries
    values = np.append(of.without_one, of.value)
    if n < 2 or not np.isfinite(values).all():
        return None
    on_fishers = of.bounded and bool(np.abs(values).max() < 1)
    moved = np.arctanh(values) if on_fishers else values
    half = t_quantile((1 + LEVEL) / 2, n - 1) * jackknife_error(moved[:-1])
    ends = moved[-1] - half, moved[-1] + half
    low, high = np.tanh(ends) if on_fishers else ends
    return float(low), float(high)


def cluster_bootstrap(of: Replicates) -> Interval:
    """The stretched percentiles, never narrower than the jackknife's interval on either side.

    Each of the two alone covers too little for some statistic in scripts/simulate_coverage.py.
    """
    drawn = stretched(of)
    left = None if drawn is None else jackknife(of)
    if drawn is None or left is None:
        return drawn
    return min(drawn[0], left[0]), max(drawn[1], left[1])


METHODS: dict[str, Callable[[Replicates], Interval]] = {
    "cluster-bootstrap": cluster_bootstrap,
    "percentile": percentile,
    "jackknife": jackknife,
}
"""What resamples queries, by name; the first is the default."""


def between(method: str, sample: Sample, compute: Compute, *, bounded: bool = False) -> Ends:
    """The ends of a method's interval of 95 %, `None` where there is none."""
    if sample.queries < 2:
        return None, None
    return METHODS[method](Replicates(sample, compute, bounded)) or (None, None)


def naive(
    table: Floats, compute: Compute, pairs: int, draws: int | None, seed: int
) -> tuple[Interval, float]:
    """The interval that resamples single pairs as if they were independent, and its variance."""
    shares = table.ravel() / table.sum()
    drawn = np.random.default_rng(seed).multinomial(pairs, shares, size=draws or DRAWS)
    values = compute(drawn.reshape(-1, *table.shape).astype(np.float64))
    return quantiles(values, (1 - LEVEL) / 2, (1 + LEVEL) / 2), float(np.nanvar(values))


def reach(queries: int, freedom: float) -> float:
    """How many standard deviations of the draws' values a t interval reaches."""
    return t_quantile((1 + LEVEL) / 2, freedom) * math.sqrt(queries / (queries - 1))


def degrees(queries: int) -> float:
    """The degrees of freedom of a variance estimated from so many queries of unequal influence.

    Of `n` contributions with kurtosis `k` it is as uncertain as of `2 n / (k - 1)` normal ones;
    queries' contributions to agreement have 5 to 9 on TREC DL 2019, 6.5 as a rule. With few
    queries that would overshoot, as percentiles are coarse there: scripts/simulate_coverage.py.
    """
    return max(min(queries - 1.0, 6.0), (queries - 1) / 2.75)


def errors_reached(method: str, queries: int) -> float:
    """How many standard errors of so many queries a method's interval reaches, as a rule."""
    if method == "cluster-bootstrap":
        return reach(queries, degrees(queries))
    return t_quantile((1 + LEVEL) / 2, queries - 1)


def jackknife_error(without_one: Floats) -> float:
    """The standard error of a value, from the values without one query each.

    `sqrt((n - 1) / n * sum((x - mean(x)) ** 2))`: Efron and Stein (1981), Annals of Statistics 9.
    """
    n = len(without_one)
    spread = np.sum((without_one - without_one.mean()) ** 2)
    return float(np.sqrt((n - 1) / n * spread))


def quantiles(values: Floats, low: float, high: float) -> Interval:
    """Two quantiles of the defined values; `None` where more than `MOST_UNDEFINED` are not."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2 or len(defined) < (1 - MOST_UNDEFINED) * len(values):
        return None
    return _quantile(defined, low), _quantile(defined, high)


def _quantile(values: Floats, share: float) -> float:
    """The quantile between the two nearest values, as numpy's, which loads masked arrays first."""
    position = share * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above))
    low, high, part = float(ordered[below]), float(ordered[above]), position - below
    # from the nearer of the two, so that the result never leaves them
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
