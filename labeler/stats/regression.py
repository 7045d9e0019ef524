"""A straight line through systems, how far a new one may lie from it, and what of it is noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.intervals import jackknife_error
from labeler.stats.student import LEVEL, t_quantile

# Ordered outcomes from what foretells them: logistic and isotonic regressions of all cuts.

RIDGE = 0.05
"""The penalty of a squared slope, so that a few pairs that grades part perfectly have a fit."""
HOLD = 1e-3
"""The penalty of a squared intercept, so that a grade that nobody gave has one, too."""
ORDINAL_STEPS = 60


def cumulative_logistic(
    columns: Floats, outcome: Integers, weight: Floats
) -> tuple[Floats, Floats]:
    """Intercepts of the cuts and slopes that all cuts share: `logit P(Y >= k) = a_k + x_k b`.

    `columns` are `(rows, cuts, features)`, and an outcome is a position from 0 to `cuts`. The cuts'
    regressions are fitted together by Newton's method, which a small ridge keeps from diverging.
    The slopes are shared as in McCullagh (1980), Journal of the Royal Statistical Society B 42(2).
    """
    _, cuts, features = columns.shape
    above = (outcome[:, None] > np.arange(cuts)).astype(np.float64)
    share = weight[:, None] / weight.mean()
    penalty = np.repeat([HOLD, RIDGE], [cuts, features])
    theta = np.zeros(cuts + features)
    loss = _ordinal_loss(theta, columns, above, share, penalty)
    for _ in range(ORDINAL_STEPS):
        step = _newton_step(theta, columns, above, share, penalty)
        size = 1.0
        while (
            new := _ordinal_loss(theta + size * step, columns, above, share, penalty)
        ) > loss + 1e-12:
            size /= 2
            if size < 1e-6:
                return theta[:cuts], theta[cuts:]
        theta, loss = theta + size * step, new
        if np.abs(size * step).max() < 1e-9:
            break
    return theta[:cuts], theta[cuts:]


def _linear(theta: Floats, columns: Floats) -> Floats:
    cuts = columns.shape[1]
    return np.asarray(theta[:cuts] + columns @ theta[cuts:], dtype=np.float64)


def _ordinal_loss(
    theta: Floats, columns: Floats, above: Floats, share: Floats, penalty: Floats
) -> float:
    """The weighted log loss of all cuts with the ridge."""
    eta = _linear(theta, columns)
    return float((share * (np.logaddexp(0, eta) - above * eta)).sum() + (penalty * theta**2).sum())


def _newton_step(
    theta: Floats, columns: Floats, above: Floats, share: Floats, penalty: Floats
) -> Floats:
    cuts = columns.shape[1]
    probability = logistic_function(_linear(theta, columns))
    residual = share * (above - probability)
    gradient = np.concatenate([residual.sum(axis=0), np.einsum("nc,ncf->f", residual, columns)])
    curvature = share * probability * (1 - probability)
    size = len(theta)
    hessian = np.zeros((size, size))
    hessian[:cuts, :cuts] = np.diag(curvature.sum(axis=0))
    hessian[:cuts, cuts:] = np.einsum("nc,ncf->cf", curvature, columns)
    hessian[cuts:, :cuts] = hessian[:cuts, cuts:].T
    hessian[cuts:, cuts:] = np.einsum("nc,ncf,ncg->fg", curvature, columns, columns)
    hessian += np.diag(2 * penalty)
    return np.asarray(np.linalg.solve(hessian, gradient - 2 * penalty * theta), dtype=np.float64)


def logistic_function(values: Floats) -> Floats:
    """One over one plus the exponential of the negative, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), dtype=np.float64)


def isotonic(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The knots of the rising step function of `x` closest to `y`: distinct `x`, and its values.

    Adjacent violators are pooled: Ayer et al. (1955), Annals of Mathematical Statistics 26(4).
    """
    knots, knot = np.unique(x, return_inverse=True)
    mass = np.bincount(knot, weights=weight)
    means = np.bincount(knot, weights=weight * y) / mass
    blocks: list[tuple[float, float, int]] = []
    for mean, of, _ in zip(means.tolist(), mass.tolist(), knots, strict=True):
        block = (mean, of, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            pooled = (before[0] * before[1] + block[0] * block[1]) / both
            block = (pooled, both, before[2] + block[2])
        blocks.append(block)
    values = np.repeat([mean for mean, _, _ in blocks], [count for _, _, count in blocks])
    return knots, values.astype(np.float64)


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
