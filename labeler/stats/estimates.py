"""Means of people's scores with intervals, by what of them an assessor does not foretell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.intervals import in_blocks
from labeler.stats.means import tail_shift, unseen_others
from labeler.stats.student import t_of


@dataclass(frozen=True, eq=False)
class Design:
    """A simple random sample of a number of queries: the places of those that people judged."""

    judged: Integers
    total: int

    @property
    def count(self) -> int:
        """How many queries were drawn."""
        return len(self.judged)

    @property
    def open_share(self) -> float:
        """What a query's like leave open of the variance where the target is finite."""
        return 1 - self.count / self.total

    def mean(self, rows: Floats) -> Floats:
        """The mean of each row of `(rows, labelled)` values over all queries."""
        return np.asarray(rows @ np.full(self.count, 1 / self.count), dtype=np.float64)

    def centered(self, rows: Floats) -> Floats:
        """The values less the mean of their row."""
        return rows - self.mean(rows)[:, None]


Bounds = tuple[float, float] | None
"""Between which values lie; `None` where there is no highest one."""
UNIT: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; `None` for the ends where there is none."""

    value: float
    low: float | None
    high: float | None

    @property
    def width(self) -> float:
        """How wide the interval is; without end where there is none."""
        return math.inf if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """Means of people's scores, by what of them the assessor does not foretell.

    `parts` are people's scores and these residuals, `(rows, labelled)` each, and what all queries
    like these add to the error, `(rows, queries)`. `finite` says that the target is the mean over
    the collection's queries, and `tailed` that scores may have their tail on one side.
    """

    parts: tuple[Floats, Floats, Floats]
    leverage: Floats
    design: Design
    freedom: float
    finite: bool
    tailed: bool = True

    def means(self, shifts: Floats, bounds: Bounds) -> list[Mean]:
        """The means, moved by `shifts`, with intervals that stay within the bounds."""
        values = self.design.mean(self.parts[0]) + shifts
        low, high = self._ends(values)
        if bounds is None:
            # nothing says how far a query could be from others that are all alike
            unknown = (high - low < 1e-12) & bool(self._left_open > 0)
        else:
            values, low, high = (np.clip(ends, *bounds) for ends in (values, low, high))
            unknown = np.zeros(len(values), dtype=bool)
        rows = zip(*(column.tolist() for column in (values, low, high, unknown)), strict=True)
        return [Mean(v, None, None) if no else Mean(v, lo, hi) for v, lo, hi, no in rows]

    @property
    def _left_open(self) -> float:
        return self.design.open_share if self.finite else 1.0

    @cached_property
    def _pile(self) -> Floats:
        """How far each mean may lie off, as fewer queries may be alike than those labelled."""
        human, residual, _ = self.parts
        return unseen_others(residual, human, self.design.count, self._left_open)

    @cached_property
    def _half(self) -> Floats:
        """Half of Student's interval."""
        own, more = self.contributions
        variance = (own**2).sum(axis=1) * self.design.open_share + (more**2).sum(axis=1)
        return np.asarray(t_of(self.freedom) * np.sqrt(variance), dtype=np.float64)

    @property
    def piled(self) -> bool:
        """Whether queries that are alike say more of some interval than the others' spread."""
        return bool((self._pile > self._half).any())

    def _ends(self, values: Floats) -> tuple[Floats, Floats]:
        """Student's interval, its ends moved out by what the labelled queries may not show."""
        tail = tail_shift(self.parts[1], t_of(self.freedom)) * self._left_open
        tail = tail if self.tailed else 0.0
        shift = tail * np.sqrt((self.contributions[0] ** 2).sum(axis=1) / self.design.count)
        low = np.minimum(values - self._half + np.minimum(shift, 0.0), values - self._pile)
        return low, np.maximum(values + self._half + np.maximum(shift, 0.0), values + self._pile)

    @cached_property
    def contributions(self) -> tuple[Floats, Floats]:
        """What each query contributes to a mean's error, `(rows, queries)` each.

        The error left among similar queries (before the finite-population correction), and the
        part added by generalising beyond this collection. Squares are variances, and products of
        two rows covariances.
        """
        _, residual, more = self.parts
        # of residuals that are not alike: HC2 of MacKinnon and White (1985), J. of Econometrics 29
        own = self.design.centered(residual) / np.sqrt(1 - self.leverage) / self.design.count
        return own, more


def freedom_of(residual: Floats, fitted: int) -> float:
    """The degrees of freedom of the errors, by how heavy the tails of the residuals are.

    A variance of `n` values with kurtosis `k` is as uncertain as that of `2 n / (k - 1)` normal
    ones, and so many parameters were fitted. The kurtosis is that of all systems together: ten or
    twenty queries of a single one tell too little about it.
    """
    n = residual.shape[1]
    # kurtosis of all systems: n * sum(r^4) / sum(r^2)^2
    squares = residual**2
    spread = float((squares.sum(axis=1) ** 2).mean())
    kurtosis = n * float((squares**2).sum(axis=1).mean()) / spread if spread > 1e-24 else 3.0
    normal = 2 * n / max(kurtosis - 1, 1e-9) - fitted
    return float(round(min(max(normal, 3.0), n - float(fitted)), 1))


# Whether the queries that people judged are like the others, by what is known of all of them.

SHUFFLES = 10_000
"""How many other choices of as many queries are drawn."""
_MOST_CELLS = 4_000_000
"""Of very many queries fewer choices are drawn: this many cells at the most, and 1,000 choices."""


@dataclass(frozen=True)
class Balance:
    """The p of the largest difference of all features, in standard deviations.

    `feature` is the place of the one that differs most; `labelled` and `others` are its means over
    the labelled queries and over the others.
    """

    p: float
    feature: int
    labelled: float
    others: float


def balance(features: Floats, labelled: Integers, shuffles: int = SHUFFLES) -> Balance | None:
    """Hold the labelled queries' mean features against those of as many queries at random.

    `features` are `(features, queries)`, `labelled` positions among the queries. A permutation
    test of the largest standardized difference, so that a random sample is suspected in at most 5 %
    of cases, however many features there are; `None` where nothing varies or no query is left.
    """
    queries, n = features.shape[1], len(labelled)
    varying = features.std(axis=1) > 1e-12
    if not varying.any() or not 0 < n < queries:
        return None
    spread = np.where(varying, features.std(axis=1), 1.0)
    standard = (features - features.mean(axis=1, keepdims=True)) / spread[:, None]
    observed = np.abs(standard[:, labelled].mean(axis=1)) * varying
    furthest = int(observed.argmax())
    rounds = min(shuffles, max(1000, _MOST_CELLS // queries))
    beaten = 0
    for order in in_blocks(_keys, queries, rounds, 0):
        # (rounds, n): as many queries at random as are labelled
        drawn = np.argpartition(order, n - 1, axis=1)[:, :n]
        largest = np.abs(standard[:, drawn].mean(axis=2)).max(axis=0)
        beaten += int((largest >= observed[furthest] - 1e-12).sum())
    p = (1 + beaten) / (1 + rounds)
    values = features[furthest]
    others = np.delete(values, labelled)
    return Balance(p, furthest, float(values[labelled].mean()), float(others.mean()))


def _keys(rng: np.random.Generator, rounds: int, queries: int) -> Floats:
    """Random numbers, of which each round's smallest choose the queries."""
    return rng.random((rounds, queries))


# Draws of a fixed size in which the chance of each is known.

_ROUNDING = 1e-9


def inclusions(weights: Floats, share: float) -> Floats:
    """Probabilities in proportion to `weights` that add up to `share`, none above 1."""
    result = np.zeros(len(weights))
    is_open = np.ones(len(weights), dtype=np.bool_)
    while is_open.any():
        rest = share - float((~is_open).sum())
        result[is_open] = weights[is_open] * max(rest, 0.0) / weights[is_open].sum()
        above = is_open & (result > 1)
        if not above.any():
            break
        result[above], is_open = 1.0, is_open & ~above
    return np.minimum(result, 1.0)


def systematic(inclusion: Floats, start: float) -> list[int]:
    """Which are drawn: those at which the running sum of probabilities passes `start` + 0, 1, 2 …

    After Madow (1949), Annals of Mathematical Statistics 20(3).
    """
    passed = np.floor(np.cumsum(inclusion) - start + 1 + _ROUNDING)
    return np.flatnonzero(np.diff(passed, prepend=0.0) > 0).tolist()
