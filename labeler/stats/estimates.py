"""Means of people's scores with intervals, by what of them an assessor does not foretell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labeler.arrays import Floats
from labeler.stats.designs import Design
from labeler.stats.levels import LEVEL
from labeler.stats.student import t_quantile
from labeler.stats.unseen import tail_shift, unseen_others

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
        if self.freedom < 1:
            unknown = np.ones(len(values), dtype=bool)
        rows = zip(*(column.tolist() for column in (values, low, high, unknown)), strict=True)
        return [Mean(v, None, None) if no else Mean(v, lo, hi) for v, lo, hi, no in rows]

    @property
    def _left_open(self) -> float:
        return self.design.open_share if self.finite else 1.0

    @cached_property
    def _pile(self) -> Floats:
        """How far each mean may lie off, as fewer queries may be alike than those labelled."""
        human, residual, _ = self.parts
        return unseen_others(residual, human, self.design.effective, self._left_open)

    @cached_property
    def _half(self) -> Floats:
        """Half of Student's interval."""
        own, more = self.contributions
        variance = own**2 @ self.design.left_open + (more**2).sum(axis=1)
        return np.asarray(t_of(max(self.freedom, 1.0)) * np.sqrt(variance), dtype=np.float64)

    @property
    def piled(self) -> bool:
        """Whether queries that are alike say more of some interval than the others' spread."""
        return bool((self._pile > self._half).any())

    def _ends(self, values: Floats) -> tuple[Floats, Floats]:
        """Student's interval, its ends moved out by what the labelled queries may not show."""
        tail = tail_shift(self.parts[1], t_of(max(self.freedom, 1.0))) * self._left_open
        tail = tail if self.tailed else 0.0
        shift = tail * np.sqrt((self.contributions[0] ** 2).sum(axis=1) / self.design.effective)
        low = np.minimum(values - self._half + np.minimum(shift, 0.0), values - self._pile)
        high = np.maximum(values + self._half + np.maximum(shift, 0.0), values + self._pile)
        return low, high

    @cached_property
    def contributions(self) -> tuple[Floats, Floats]:
        """What each query contributes to a mean's error, `(rows, queries)` each.

        That is what its like leave open, before the finite population lessens it, and what all
        queries like these add over the collection's own. Squares are variances, and products of two
        rows covariances.
        """
        _, residual, more = self.parts
        # of residuals that are not alike: HC2 of MacKinnon and White (1985), J. of Econometrics 29
        own = self.design.centered(residual) / np.sqrt(1 - self.leverage) * self.design.share
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


def t_of(freedom: float) -> float:
    """How many standard errors an interval of 95 % reaches either way."""
    return t_quantile((1 + LEVEL) / 2, freedom)
