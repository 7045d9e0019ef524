"""Prediction-powered means: people's scores on some queries, the assessor's on all of them.

PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453) at the level of queries. The labelled
queries are among all queries, so with a finite target it is survey sampling's regression estimator
(Cochran 1977, Sampling Techniques, chapter 7), whose variance for few queries is used here. How far
to follow the assessor (lambda) is one number for all systems by a measure: ten or twenty queries
of a single system tell too little about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from labeler.agreement.tables import FloatArray, IntArray
from labeler.metrics.student import t_quantile, two_sided

LEVEL = 0.95
FEWEST = 3
THESE, LIKE_THESE = "these", "like-these"
TARGETS = (THESE, LIKE_THESE)
"""The mean over this collection's queries, or over all queries like these."""


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; `None` for the ends where too few queries tell."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Corrected:
    """A system's mean from people alone, from the assessor alone, and from both.

    `power` is what the assessor's scores are multiplied with (lambda), 0 where they tell nothing.
    """

    labelled: int
    queries: int
    people: Mean
    assessor: Mean
    corrected: Mean
    power: float

    @property
    def freedom(self) -> int:
        """Of the corrected mean: the labelled queries less what was fitted to them."""
        return self.labelled - (2 if self.power else 1)

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
    people: FloatArray, assessor: FloatArray, labelled: IntArray, target: str = THESE
) -> Corrected:
    """The three means of one system's scores; `correct_together` says more."""
    (found,) = correct_together(people[None, :], assessor[None, :], labelled, target)
    return found


def correct_together(
    people: FloatArray, assessor: FloatArray, labelled: IntArray, target: str = THESE
) -> list[Corrected]:
    """The three means of each system.

    `assessor` holds `(systems, queries)` scores, `labelled` the places of the queries that people
    graded, a random sample of them, and `people` their `(systems, labelled)` scores in that order.
    """
    inside = assessor[:, labelled]
    n, total = people.shape[1], assessor.shape[1]
    power = _power(people, inside)
    shifts = assessor.mean(axis=1) - inside.mean(axis=1)
    errors = _errors(people, inside, power, shifts, 1 - n / total)
    found = []
    for own, all_of_it, shift, error in zip(people, assessor, shifts, errors, strict=True):
        value = float(own.mean() + power * shift)
        spread = float(error) + _more(own, total, target)
        means = _sampled(own, total, target), _assessors(all_of_it)
        corrected = _around(value, spread, n - 2 if power else n - 1)
        found.append(Corrected(n, total, *means, corrected, power))
    return found


def _power(people: FloatArray, assessor: FloatArray) -> float:
    """The tuned lambda, not below 0; 0 where there is nothing to tune it on."""
    apart = _centered(assessor)
    slack = float((apart * apart).sum())
    if slack <= 1e-12 or people.shape[1] < FEWEST + 1:
        return 0.0
    return max(float((apart * _centered(people)).sum()) / slack, 0.0)


def _centered(scores: FloatArray) -> FloatArray:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True), dtype=np.float64)


def _errors(
    people: FloatArray, assessor: FloatArray, power: float, shifts: FloatArray, unseen: float
) -> FloatArray:
    """Each estimate's variance: residuals as if each query had been left out of the fit (HC3).

    MacKinnon and White (1985), Journal of Econometrics 29(3), with queries as the clusters that all
    systems share. Scores pile up at 0 and 1, so the textbook's variance, which takes residuals to
    be alike everywhere, is too small for them.
    """
    n = people.shape[1]
    if not power:
        return np.array([_variance(own, 1) * unseen / n for own in people])
    apart = _centered(assessor)
    slack = float((apart * apart).sum())
    residual = _centered(people) - power * apart
    leverage = np.minimum(1 / n + (apart * apart).sum(axis=0) / slack, 0.99)
    pull = (apart * residual).sum(axis=0) / slack
    influence = np.sqrt(unseen) / n * residual + shifts[:, None] * pull
    return np.asarray(((influence / (1 - leverage)) ** 2).sum(axis=1), dtype=np.float64)


def _variance(values: FloatArray, fitted: int) -> float:
    """The variance about the mean, `fitted` parameters having been fitted."""
    freedom = len(values) - fitted
    return float(((values - values.mean()) ** 2).sum()) / freedom if freedom > 0 else math.nan


def _more(people: FloatArray, total: int, target: str) -> float:
    """What all queries like these add to the variance over the collection's own."""
    return _variance(people, 1) / total if target == LIKE_THESE else 0.0


def _sampled(people: FloatArray, total: int, target: str) -> Mean:
    n = len(people)
    error = _variance(people, 1) * (1 - n / total) / n + _more(people, total, target)
    return _around(float(people.mean()), error, n - 1)


def _assessors(assessor: FloatArray) -> Mean:
    """What an evaluation with the assessor's labels alone would print."""
    n = len(assessor)
    return _around(float(assessor.mean()), _variance(assessor, 1) / n, n - 1)


def _around(value: float, variance: float, freedom: int) -> Mean:
    if freedom < 1 or not math.isfinite(variance):
        return Mean(value, None, None)
    reach = _t(freedom) * math.sqrt(max(variance, 0.0))
    return Mean(value, value - reach, value + reach)


@cache
def _t(freedom: int) -> float:
    return t_quantile((1 + LEVEL) / 2, freedom)


@dataclass(frozen=True)
class Trial:
    """How often intervals held the truth, and how wide they were, over many random samples."""

    labelled: int
    draws: int
    covered: dict[str, float]
    width: dict[str, float]


def simulate(
    people: FloatArray, assessor: FloatArray, labelled: int, draws: int, seed: int
) -> Trial:
    """Hide people's scores but for `labelled` random queries, `draws` times.

    `people` and `assessor` are `(systems, queries)`; the truth is the mean of all of people's. All
    systems count alike.
    """
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(("people", "assessor", "corrected"), 0)
    width = dict.fromkeys(hits, 0.0)
    truth = people.mean(axis=1)
    for _ in range(draws):
        chosen = rng.choice(people.shape[1], labelled, replace=False)
        systems = correct_together(people[:, chosen], assessor, chosen)
        for found, true in zip(systems, truth, strict=True):
            for name in hits:
                mean: Mean = getattr(found, name)
                if mean.low is not None and mean.high is not None:
                    hits[name] += mean.low <= true <= mean.high
                    width[name] += mean.high - mean.low
    count = draws * len(truth)
    covered = {name: hit / count for name, hit in hits.items()}
    return Trial(labelled, draws, covered, {name: w / count for name, w in width.items()})
