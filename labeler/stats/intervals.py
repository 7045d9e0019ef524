"""Intervals of 95 % over queries, of whatever is a function of sums over queries.

There is one method, `cluster_bootstrap`, for means, for statistics of agreement and for
correlations of leaderboards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.student import LEVEL, NORMAL_QUANTILE, t_of

# Resampled queries: how often each is drawn, and the sums of whatever is added up over them.
#
# Pairs of one query are not independent, so queries are what is drawn, with replacement and as many
# as there are (the cluster bootstrap). Whatever is a function of sums over queries (a mean, a
# contingency table) can be had of all draws at once: draws are a matrix of counts, and one matrix
# product with the queries' own values gives the sums of every draw.

DRAWS = 1000
"""How many draws of many queries; `draws_of` says how many of few."""
BLOCK = 4_000_000
"""The most cells of a matrix that is held at a time: 32 MB."""

AT_ONCE = 1 << 16
"""More queries than this are left out one by one in blocks of this many."""

Draw = Callable[[np.random.Generator, int, int], Floats]
"""A generator, a number of rows and of queries to a matrix `(rows, queries)`."""


def draws_of(queries: int) -> int:
    """As many draws as there are by default: `DRAWS`, and of few queries up to ten times as many.

    Few queries cost little, and with more draws the ends hardly depend on the seed.
    """
    return max(DRAWS, min(10 * DRAWS, 250 * DRAWS // max(queries, 1)))


def drawn_counts(queries: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each query is drawn, `(draws, queries)` in blocks of draws."""
    return in_blocks(_counts, queries, draws, seed)


def in_blocks(draw: Draw, queries: int, rows: int, seed: int) -> Iterator[Floats]:
    """The rows of a random matrix, as many at a time as fit into a block.

    A matrix that fits into one is kept for the next measure and the next run of the same queries.
    """
    if queries * rows <= BLOCK:
        yield _whole(draw, queries, rows, seed)
        return
    rng, size = np.random.default_rng(seed), max(1, BLOCK // 4 // queries)
    for start in range(0, rows, size):
        yield draw(rng, min(size, rows - start), queries)


@lru_cache(maxsize=4)
def _whole(draw: Draw, queries: int, rows: int, seed: int) -> Floats:
    matrix = draw(np.random.default_rng(seed), rows, queries)
    matrix.setflags(write=False)
    return matrix


def _counts(rng: np.random.Generator, draws: int, queries: int) -> Floats:
    # (draws, queries): which query each place of a draw holds
    drawn = rng.integers(0, queries, (draws, queries))
    # each draw has its own stretch of numbers, so that one count tells all draws apart
    drawn += queries * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * queries)
    return counts.reshape(draws, queries).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Sample:
    """What is added up over queries, `(queries, ...)`, and how often and from where it is drawn.

    Without `draws` there are `draws_of` the queries.
    """

    sums: Floats
    draws: int | None = None
    seed: int = 0

    @property
    def queries(self) -> int:
        """How many queries."""
        return len(self.sums)

    @property
    def count(self) -> int:
        """How many draws."""
        return self.draws or draws_of(self.queries)

    @cached_property
    def total(self) -> Floats:
        """The sums of all queries, `(...)`."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    @cached_property
    def resampled(self) -> Floats:
        """The sums of each draw, `(draws, ...)`."""
        flat = self.sums.reshape(self.queries, -1)
        # (draws, queries) @ (queries, features)
        blocks = [block @ flat for block in drawn_counts(self.queries, self.count, self.seed)]
        return np.concatenate(blocks).reshape(-1, *self.sums.shape[1:])

    @cached_property
    def without_one(self) -> Floats:
        """The sums of all queries but one, `(queries, ...)`, for the jackknife."""
        return self.total - self.sums

    def of_rest(self, compute: Callable[[Floats], Floats]) -> Floats:
        """A function of the sums of all queries but one, `(queries,)`."""
        blocks = np.split(self.sums, range(AT_ONCE, self.queries, AT_ONCE))
        return np.concatenate([compute(self.total - block) for block in blocks])


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
        return self.compute(self.sample.resampled)

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
    measured = _measured(of)
    if measured is None:
        return None
    half = t_of(of.sample.queries - 1) * measured.error
    return measured.back(half, half)


@dataclass(frozen=True)
class _Measured:
    """A value, perhaps on Fisher's scale (arctanh), and its standard error by the jackknife."""

    value: float
    error: float
    fishers: bool

    def back(self, below: float, above: float) -> tuple[float, float]:
        """The ends so far below and above the value, on its own scale."""
        ends = np.array([self.value - below, self.value + above])
        low, high = (np.tanh(ends) if self.fishers else ends).tolist()
        return low, high


def _measured(of: Replicates) -> _Measured | None:
    """A bounded statistic on Fisher's scale; `None` of one that is not defined without a query."""
    values = np.append(of.without_one, of.value)
    if of.sample.queries < 2 or not np.isfinite(values).all():
        return None
    fishers = of.bounded and bool(np.abs(values).max() < 1)
    moved = np.arctanh(values) if fishers else values
    return _Measured(float(moved[-1]), jackknife_error(moved[:-1]), fishers)


def cluster_bootstrap(of: Replicates) -> Interval:
    """The stretched percentiles, never narrower than the jackknife's interval on either side.

    Each of the two alone covers too little for some statistic in scripts/simulate_coverage.py.
    """
    return _no_narrower(of, jackknife)


def _no_narrower(of: Replicates, other: Callable[[Replicates], Interval]) -> Interval:
    """The stretched percentiles, on neither side narrower than another interval."""
    drawn = stretched(of)
    ends = None if drawn is None else other(of)
    if drawn is None or ends is None:
        return drawn
    return min(drawn[0], ends[0]), max(drawn[1], ends[1])


def between(sample: Sample, compute: Compute, *, bounded: bool = False) -> Ends:
    """The ends of the interval of 95 % of a function of sums, `None` where there is none."""
    if sample.queries < 2:
        return None, None
    return cluster_bootstrap(Replicates(sample, compute, bounded)) or (None, None)


def of_next_set(
    value: float, low: float, high: float, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """Where the same figure of another set of as many queries lies, in 95 of 100 cases.

    `low` and `high` hold that of all queries like these. The other set varies about it as this one
    does, so both ends lie farther off by the root of two (Hahn and Meeker 1991, Statistical
    Intervals, chapter 4).
    """
    below, above = (math.sqrt(2) * (end - value) + value for end in (low, high))
    return max(below, bounds[0]), min(above, bounds[1])


def reach(queries: int, freedom: float) -> float:
    """How many standard deviations of the draws' values a t interval reaches."""
    return t_of(freedom) * math.sqrt(queries / (queries - 1))


def degrees(queries: int) -> float:
    """The degrees of freedom of a variance estimated from so many queries of unequal influence.

    Of `n` contributions with kurtosis `k` it is as uncertain as of `2 n / (k - 1)` normal ones;
    queries' contributions to agreement have 5 to 9 on TREC DL 2019, 6.5 as a rule. With few
    queries that would overshoot, as percentiles are coarse there: scripts/simulate_coverage.py.
    """
    return max(min(queries - 1.0, 6.0), (queries - 1) / 2.75)


def jackknife_error(without_one: Floats) -> float:
    """The standard error of a value, from the values without one query each.

    `sqrt((n - 1) / n * sum((x - mean(x)) ** 2))`: Efron and Stein (1981), Annals of Statistics 9.
    """
    n = len(without_one)
    return float(np.sqrt((n - 1) / n * np.sum((without_one - without_one.mean()) ** 2)))


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


# Intervals of statistics of tables, on the scale on which their standard error stays the same.
#
# A few large or odd queries decide a kappa and its standard error together: a sample that missed
# them shows a value that is too low with an error that is too small. Intervals that take the error
# as it is then miss the truth on one side. How the error follows the value is seen by leaving
# queries out; on the scale that undoes it, an interval of t reaches farther on that side.

STEP = 1e-4
"""The share of a table's sum that is added to a cell to see how the statistic changes."""
LEAST_LOG, MOST_BEND = 3.0, 0.9
"""The most that one query left out changes the log of the variance, and the most that a scale
bends over half an interval."""
FEWEST_DEGREES = 4.0
MOST_LEFT_OUT = 400
"""Of more queries only these many, of the greatest influence, are left out one by one."""


def of_tables(of: Replicates) -> Interval:
    """The stabilized interval, on neither side narrower than the stretched percentiles.

    Coverage of both together: scripts/simulate_coverage.py.
    """
    return _no_narrower(of, stabilized)


def stabilized(of: Replicates) -> Interval:
    """The value and t standard errors either way, where the error is that of each end's own value.

    Where the log of the variance changes by `b` with the value, the error does not on the scale
    `(1 - exp(-b (x - value) / 2)) * 2 / b`: Tibshirani (1988), Biometrika 75(3), in a line's
    approximation. A bounded statistic is taken on Fisher's scale (arctanh) first.
    """
    measured = _measured(of)
    if measured is None:
        return None
    if measured.error <= 0:
        return of.value, of.value
    reached = t_of(degrees_of(of.sample.sums))
    bend = float(np.clip(_slope(of, fishers=measured.fishers) * reached / 2, -MOST_BEND, MOST_BEND))
    if abs(bend) < 1e-6:
        below = above = reached * measured.error
    else:
        above = -math.log(1 - bend) / bend * reached * measured.error
        below = math.log(1 + bend) / bend * reached * measured.error
    return measured.back(below, above)


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

    With many queries, the sums' products give the squared influences: the same but for rounding,
    without a matrix of queries.
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
