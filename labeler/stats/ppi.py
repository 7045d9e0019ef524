"""Prediction-powered means: people's scores on some queries, the assessor's on all of them.

PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453) at the level of queries. The labelled
queries are among all queries, so with a finite target it is survey sampling's regression estimator
(Cochran 1977, Sampling Techniques, chapter 7). How far to follow the assessor (lambda) is tuned for
each system alone, between 0 and 1: a system's corrected mean is the same whatever others are there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.levels import LEVEL
from labeler.stats.student import t_quantile, two_sided

FEWEST = 3
"""With fewer labelled queries nothing is corrected."""
MOST_LEVERAGE = 0.9
"""A query that pulls harder than this decides lambda alone, and leaves no residual to see it by."""
THESE, LIKE_THESE = "these", "like-these"
"""The mean over this collection's queries, or over all queries like these."""


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; `None` for the ends where too few queries tell."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CorrectedMean:
    """A system's mean from people alone, from the assessor alone, and from both.

    `weight` is what the assessor's scores are multiplied with (lambda), 0 where they tell nothing;
    `freedom` the degrees of freedom of the corrected interval.
    """

    judged: int
    queries: int
    human: Mean
    assessor: Mean
    corrected: Mean
    weight: float
    freedom: float

    @property
    def chance(self) -> float:
        """Two-sided p that the corrected mean, as of a difference, is 0; 1 where nothing tells."""
        mean = self.corrected
        if mean.low is None or mean.high is None:
            return 1.0
        error = (mean.high - mean.low) / 2 / _t(self.freedom)
        if error > 0:
            return two_sided(mean.value / error, self.freedom)
        return float(mean.value == 0)


def correct(
    human: Floats, assessor: Floats, judged: Integers, target: str = THESE
) -> CorrectedMean:
    """The three means of one system's scores; `correct_together` says more."""
    (corrected,) = correct_together(human[None, :], assessor[None, :], judged, target)
    return corrected


def correct_together(
    human: Floats, assessor: Floats, judged: Integers, target: str = THESE
) -> list[CorrectedMean]:
    """The three means of each system.

    `assessor` holds `(systems, queries)` scores, `judged` the places of the queries that people
    graded, a random sample of them, and `human` their `(systems, judged)` scores in that order.
    """
    inside = assessor[:, judged]
    n, total = human.shape[1], assessor.shape[1]
    weights = _weights(human, inside) if n < total else np.zeros(len(human))
    # (systems, labelled): what the assessor's scores, times the weight, do not tell of people's
    apart = _centered(inside)
    residual = _centered(human) - weights[:, None] * apart
    # a sample of n of N queries leaves 1 - n / N of the variance open
    errors = _errors(residual, apart) * (1 - n / total)
    # by how much the assessor's mean over all queries differs from that over the labelled ones
    shifts = assessor.mean(axis=1) - inside.mean(axis=1)
    freedom = _freedom(residual)
    systems = []
    for i, (own, weight) in enumerate(zip(human, weights.tolist(), strict=True)):
        alone = _sampled(own, total, target)
        corrected, degrees = alone, float(n - 1)
        if weight:
            spread, degrees = float(errors[i]) + _more(own, total, target), freedom
            corrected = _around(float(own.mean() + weight * shifts[i]), spread, degrees)
        means = alone, _assessors(assessor[i]), corrected
        systems.append(CorrectedMean(n, total, *means, weight, degrees))
    return systems


def _weights(human: Floats, assessor: Floats) -> Floats:
    """Each system's tuned lambda, within 0 and 1; 0 where the assessor tells nothing of people.

    That is where the residuals' variance, with the degree of freedom that lambda takes, is no
    smaller than people's own; and where one query decides.
    """
    n = human.shape[1]
    apart, own = _centered(assessor), _centered(human)
    # the slope of people's scores on the assessor's: cov(x, y) / var(x)
    slack = (apart**2).sum(axis=1)
    varies = slack > 1e-12
    slope = (apart * own).sum(axis=1) / np.where(varies, slack, 1.0)
    weight = np.clip(slope, 0.0, 1.0)
    # var(residual) on n - 2 degrees of freedom against var(people) on n - 1
    left = ((own - weight[:, None] * apart) ** 2).sum(axis=1)
    tells = left * (n - 1) < (own**2).sum(axis=1) * (n - 2)
    shared = _leverage(apart).max(axis=1) <= MOST_LEVERAGE
    return np.where(varies & tells & shared & (n > FEWEST), weight, 0.0)


def _centered(scores: Floats) -> Floats:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True), dtype=np.float64)


def _leverage(apart: Floats) -> Floats:
    """How far each query pulls its system's fit towards itself, 0 to 1."""
    slack = (apart**2).sum(axis=1, keepdims=True)
    return np.asarray(1 / apart.shape[1] + apart**2 / np.maximum(slack, 1e-12), dtype=np.float64)


def _errors(residual: Floats, apart: Floats) -> Floats:
    """Each estimate's variance, with an infinite population, of residuals that are not alike (HC2).

    MacKinnon and White (1985), Journal of Econometrics 29(3). Scores pile up at 0 and 1, so that
    the queries that tell the assessor's worth have other residuals than the rest.
    """
    own = residual**2 / (1 - np.minimum(_leverage(apart), MOST_LEVERAGE))
    return np.asarray(own.sum(axis=1) / residual.shape[1] ** 2, dtype=np.float64)


def _freedom(residual: Floats) -> float:
    """The degrees of freedom of the errors, by how heavy the tails of the residuals are.

    A variance of `n` values with kurtosis `k` is as uncertain as that of `2 n / (k - 1)` normal
    ones; two parameters were fitted. The kurtosis is that of all systems together: ten or twenty
    queries of a single one tell too little about it.
    """
    n = residual.shape[1]
    # kurtosis of all systems: n * sum(r^4) / sum(r^2)^2
    squares = residual**2
    spread = float((squares.sum(axis=1) ** 2).mean())
    kurtosis = n * float((squares**2).sum(axis=1).mean()) / spread if spread > 1e-24 else 3.0
    normal = 2 * n / max(kurtosis - 1, 1e-9) - 2
    return float(round(min(max(normal, 3.0), n - 2.0), 1))


def _variance(values: Floats, fitted: int) -> float:
    """The variance about the mean, `fitted` parameters having been fitted."""
    freedom = len(values) - fitted
    return float(((values - values.mean()) ** 2).sum()) / freedom if freedom > 0 else math.nan


def _more(human: Floats, total: int, target: str) -> float:
    """What all queries like these add to the variance over the collection's own."""
    return _variance(human, 1) / total if target == LIKE_THESE else 0.0


def _sampled(human: Floats, total: int, target: str) -> Mean:
    n = len(human)
    error = _variance(human, 1) * (1 - n / total) / n + _more(human, total, target)
    return _around(float(human.mean()), error, n - 1)


def _assessors(assessor: Floats) -> Mean:
    """What an evaluation with the assessor's labels alone would print."""
    n = len(assessor)
    return _around(float(assessor.mean()), _variance(assessor, 1) / n, n - 1)


def _around(value: float, variance: float, freedom: float) -> Mean:
    if freedom < 1 or not math.isfinite(variance):
        return Mean(value, None, None)
    reach = _t(freedom) * math.sqrt(max(variance, 0.0))
    return Mean(value, value - reach, value + reach)


def _t(freedom: float) -> float:
    return t_quantile((1 + LEVEL) / 2, freedom)
