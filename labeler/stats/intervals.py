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

from labeler.arrays import Floats
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

    @property
    def is_defined(self) -> bool:
        """Whether it has a value for all queries and without any one of them."""
        if self.sample.queries < 2:
            return False
        return math.isfinite(self.value) and bool(np.isfinite(self.without_one).all())


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

    A bounded statistic is less skewed on Fisher's scale (arctanh), and is measured there. There is
    none of a statistic that is not defined without one of the queries.
    """
    if not of.is_defined:
        return None
    values = np.append(of.without_one, of.value)
    fishers = of.bounded and bool(np.abs(values).max() < 1)
    moved = np.arctanh(values) if fishers else values
    half = t_of(of.freedom or of.sample.queries - 1) * jackknife_error(moved[:-1])
    ends = moved[-1] + np.array([-half, half])
    low, high = (np.tanh(ends) if fishers else ends).tolist()
    return low, high


def cluster_bootstrap(of: Replicates) -> Interval:
    """The stretched percentiles, never narrower than the jackknife's interval on either side.

    Each of the two alone covers too little for some statistic in scripts/simulate_coverage.py.
    """
    drawn = stretched(of)
    ends = None if drawn is None else jackknife(of)
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
    below, above = np.quantile(defined, [low, high]).tolist()
    return below, above


# Intervals of statistics of tables, `(queries, k, k)`, people's grades in rows.
#
# A few large or odd queries decide a kappa and its standard error together: a sample that missed
# them shows a value that is too low with an error that is too small. Intervals that take the error
# as it is then miss the truth on one side. Three things stand against that. How the error follows
# the value is seen by leaving queries out. The degrees of freedom count the queries that bear on
# the statistic. And each end allows for a query that was not drawn: one that agrees wholly, or as
# chance would, as shares of few cases are reckoned with a few cases more.

UNSEEN = 0.7
"""The size of the query that was not drawn, in queries as large as these are (root mean square).

The least at which all intervals of `scripts/simulate_coverage.py` over 10 and 25 queries of kappa,
alpha and kappa at a cut hold in .93 of cases or more.
"""
STEP = 1e-4
"""The share of a table's sum that is added to a cell to see how the statistic changes."""
LEAST_LOG, MOST_BEND = 3.0, 0.9
"""The most that one query left out changes the log of the variance, and the most that a scale
bends over half an interval."""
FEWEST_DEGREES = 4.0
MOST_LEFT_OUT = 400
"""Of more queries only these many, of the greatest influence, are left out one by one."""


def of_tables(of: Replicates) -> Interval:
    """The stabilized interval, each end moved out for a query that was not drawn.

    Both distances are added as independent errors are, by their squares. There is no interval of a
    statistic that is not defined without one of the queries.
    """
    if not of.is_defined:
        return None
    reached = t_of(degrees_of(of))
    distances, moves = _stabilized(of, reached), reached * _moves(of)
    return moved_out(of, of.value - distances[0], of.value + distances[1], moves)


def moved_out(of: Replicates, low: float, high: float, moves: Floats) -> tuple[float, float]:
    """An interval whose ends allow for moves of the value, too, by the squares of all distances."""
    below = math.hypot(of.value - low, *np.minimum(moves, 0))
    return of.value - below, of.value + math.hypot(high - of.value, *np.maximum(moves, 0))


def _stabilized(of: Replicates, reached: float) -> Floats:
    """How far so many standard errors reach below and above, each error that of the end's value.

    Where the log of the variance changes by `b` with the value, the error does not on the scale
    `(1 - exp(-b (x - value) / 2)) * 2 / b`: Tibshirani (1988), Biometrika 75(3), in a line's
    approximation. The error is the delta method's. It is not taken on Fisher's scale (arctanh),
    which near 1 makes wide intervals of one odd pair.
    """
    queries = of.sample.queries
    influence = _cells(of) @ _gradients(of, of.sample.total[None])[0]
    variance = float(influence @ influence)
    if variance <= 0:
        return np.zeros(2)
    error = math.sqrt(variance * queries / (queries - 1))
    bend = float(np.clip(_slope(of, influence) * reached / 2, -MOST_BEND, MOST_BEND))
    bends = np.array([bend, -bend])
    return reached * error * (np.log1p(bends) / bends if abs(bend) > 1e-6 else np.ones(2))


def _bearing(of: Replicates) -> Floats:
    """How much of what decides the statistic lies in each query, `(queries,)`.

    Its cells, each times the size of the gradient there: of kappa at a rare grade, the pairs that
    either gave it count, and the many others hardly do. The gradient is that halfway to agreement
    by chance, for where all agree, more agreement changes nothing.
    """
    halfway = (of.sample.total + _by_chance(of.sample.total)) / 2
    sizes: Floats = _cells(of) @ np.abs(_gradients(of, halfway[None])[0])
    return sizes


def _by_chance(table: Floats) -> Floats:
    """The table of as many pairs and the same grades that agrees by chance alone."""
    expected: Floats = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return expected


def _cells(of: Replicates) -> Floats:
    return of.sample.sums.reshape(of.sample.queries, -1)


def degrees_of(of: Replicates) -> float:
    """The degrees of freedom of the variance of a statistic of tables.

    Influences grow with what a query bears on the statistic, `m`, so that a variance is as
    uncertain as of `sum(m²)² / sum(m⁴)` equal queries: Satterthwaite (1946), Biometrics Bulletin
    2(6). They are never more than `degrees`, for queries of one size differ in influence too.
    """
    queries, squares = of.sample.queries, _bearing(of) ** 2
    even = float(squares.sum()) ** 2 / max(float((squares**2).sum()), 1e-300)
    return min(degrees(queries), max(even, min(FEWEST_DEGREES, queries - 1.0)))


def _moves(of: Replicates) -> Floats:
    """How far a query of `UNSEEN` would move the statistic: all alike, and alike by chance, `(2,)`.

    Both have the grades of all queries together.
    """
    total, bearing = of.sample.total, _bearing(of)
    alike = np.diag(total.sum(axis=0) + total.sum(axis=1)) / 2
    share = UNSEEN * math.sqrt((bearing**2).mean()) / max(float(bearing.sum()), 1e-300)
    return of.compute(total + share * np.stack([alike, _by_chance(total)])) - of.value


def _slope(of: Replicates, influence: Floats) -> float:
    """How much the log of the variance changes with the value, by one standard error.

    The variance is that of the delta method: the sum over queries of squared influences. It is
    taken at the gradient without one query, and without the influence of that query.
    """
    variance = float(influence @ influence)
    order = np.argsort(-np.abs(influence))[:MOST_LEFT_OUT]
    gradients, cells = _gradients(of, of.sample.total - of.sample.sums[order]), _cells(of)
    # the cells' products give the squared influences without a matrix of queries
    squares = (gradients @ (cells.T @ cells) * gradients).sum(axis=1)
    left = squares - (gradients * cells[order]).sum(axis=1) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(left / variance)
    logs = np.clip(np.nan_to_num(logs, nan=-LEAST_LOG), -LEAST_LOG, LEAST_LOG)
    return float(-(influence[order] @ logs) / math.sqrt(variance))


def _gradients(of: Replicates, sums: Floats) -> Floats:
    """The statistic's derivative by each cell at some tables, `(rows, cells)`, by forward steps."""
    cells = math.prod(sums.shape[1:])
    step = STEP * sums.reshape(len(sums), -1).sum(axis=1)[:, None]
    # (rows, cells, k, k): each cell a step higher
    steps = step[..., None, None] * np.eye(cells).reshape(cells, *sums.shape[1:])
    gradients: Floats = (of.compute(sums[:, None] + steps) - of.compute(sums)[:, None]) / step
    return gradients
