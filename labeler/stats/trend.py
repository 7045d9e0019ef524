"""A straight line through systems, how far a new one may lie from it, and what of it is noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.stats.intervals import jackknife_error
from labeler.stats.levels import LEVEL
from labeler.stats.student import t_quantile


@dataclass(frozen=True)
class Trend:
    """The least-squares line of `y` on `x` over so many points.

    `deviation` is that of the points around it, `spread` the sum of squares of `x` around its mean.
    """

    points: int
    mean_x: float
    mean_y: float
    slope: float
    deviation: float
    spread: float

    def at(self, x: float) -> float:
        """The line's `y` at this `x`."""
        return self.mean_y + self.slope * (x - self.mean_x)

    def reach(self, x: float, level: float = LEVEL) -> float:
        """How far from the line a new point at this `x` lies at most, with this probability.

        Half of Student's prediction interval, with two degrees of freedom fewer than points.
        """
        away = 1 + 1 / self.points + (x - self.mean_x) ** 2 / self.spread
        return t_quantile((1 + level) / 2, self.points - 2) * self.deviation * math.sqrt(away)


def trend(x: Floats, y: Floats) -> Trend | None:
    """The line through three points or more; `None` where all have one `x`."""
    if len(x) < 3:
        return None
    spread = float(((x - x.mean()) ** 2).sum())
    if not spread > 1e-12 * len(x):
        return None
    mean_x, mean_y = float(x.mean()), float(y.mean())
    slope = float(((x - mean_x) * (y - mean_y)).sum()) / spread
    left = y - mean_y - slope * (x - mean_x)
    deviation = math.sqrt(float((left**2).sum()) / (len(x) - 2))
    return Trend(len(x), mean_x, mean_y, slope, deviation, spread)


@dataclass(frozen=True)
class Components:
    """How the true scores of systems by two assessors hang together, noise of queries taken out.

    `slope` says by how much the second's mean changes where the first's changes by one, with its
    interval over queries; `own` is the standard deviation of systems around that line that queries
    do not explain, `noise` that of the noise of these queries.
    """

    slope: float
    low: float
    high: float
    own: float
    noise: float


def components(first: Floats, second: Floats) -> Components | None:
    """Of `(systems, queries)` scores by either; `None` where systems cannot be told from noise.

    A two-way layout, systems by queries, for each assessor: mean squares and mean products of
    systems hold those of the residuals, too, which are taken off (Cronbach, Gleser, Nanda and
    Rajaratnam 1972; Brennan 2001, Generalizability Theory, chapter 10). Regressing means on means
    would count the first's noise as compression by the second.
    """
    systems, queries = first.shape
    if systems < 3 or queries < 3:
        return None
    slope = _slope(first, second)
    others = np.array(list(_slopes_without_one(first, second)))
    if not math.isfinite(slope) or not np.isfinite(others).all():
        return None
    half = t_quantile((1 + LEVEL) / 2, queries - 1) * jackknife_error(others)
    left = second - slope * first
    between, within = _mean_products(left, left)
    own = math.sqrt(max(between - within, 0.0) / queries)
    return Components(slope, slope - half, slope + half, own, math.sqrt(within / queries))


def _slope(first: Floats, second: Floats) -> float:
    between, within = _mean_products(first, first)
    together, apart = _mean_products(first, second)
    # systems that hardly differ more than noise does have no line
    return (together - apart) / (between - within) if between > 2 * within else math.nan


def _slopes_without_one(first: Floats, second: Floats) -> Iterator[float]:
    for query in range(first.shape[1]):
        yield _slope(np.delete(first, query, axis=1), np.delete(second, query, axis=1))


def _mean_products(x: Floats, y: Floats) -> tuple[float, float]:
    """Mean products of two `(systems, queries)` layouts: between systems, and of the residuals."""
    systems, queries = x.shape
    by_system = [side.mean(axis=1, keepdims=True) for side in (x, y)]
    centred = [side - side.mean() for side in by_system]
    left = [
        side - mean - side.mean(axis=0, keepdims=True) + side.mean()
        for side, mean in zip((x, y), by_system, strict=True)
    ]
    between = queries * float((centred[0] * centred[1]).sum()) / (systems - 1)
    within = float((left[0] * left[1]).sum()) / ((systems - 1) * (queries - 1))
    return between, within
