"""Prediction-powered means: people's scores on some queries, the assessor's on all of them.

PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453) at the level of queries. The labelled
queries are among all queries, so with a finite target it is survey sampling's regression estimator
(Cochran 1977, Sampling Techniques, chapter 7), whose variance for few queries is used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from labeler.agreement.tables import FloatArray, IntArray
from labeler.metrics.student import t_quantile

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


def correct(
    people: FloatArray, assessor: FloatArray, labelled: IntArray, target: str = THESE
) -> Corrected:
    """The three means of one system's scores.

    `assessor` holds a score a query, `labelled` the places of the queries that people graded, a
    random sample of them, and `people` their scores in that order.
    """
    inside = assessor[labelled]
    n, total = len(people), len(assessor)
    power = _power(people, inside)
    shift = float(assessor.mean() - inside.mean())
    value = float(people.mean()) + power * shift
    error = _error(people, inside, power, shift, 1 - n / total)
    return Corrected(
        n,
        total,
        _sampled(people, total, target),
        _assessors(assessor),
        _around(value, error + _more(people, total, target), n - 2 if power else n - 1),
        power,
    )


def _power(people: FloatArray, assessor: FloatArray) -> float:
    """The tuned lambda, not below 0; 0 where there is nothing to tune it on."""
    apart = assessor - assessor.mean()
    slack = float(apart @ apart)
    if slack <= 0 or len(people) < FEWEST + 1:
        return 0.0
    return max(float(apart @ (people - people.mean())) / slack, 0.0)


def _error(
    people: FloatArray, assessor: FloatArray, power: float, shift: float, unseen: float
) -> float:
    """The estimate's variance: residuals as if each query had been left out of the fit (HC3).

    MacKinnon and White (1985), Journal of Econometrics 29(3). Scores pile up at 0 and 1, so the
    textbook's variance, which takes residuals to be alike everywhere, is too small for them.
    """
    n = len(people)
    if not power:
        return _variance(people, 1) * unseen / n
    apart = assessor - assessor.mean()
    slack = float(apart @ apart)
    residual = people - people.mean() - power * apart
    leverage = np.minimum(1 / n + apart**2 / slack, 0.99)
    weight = np.sqrt(unseen) / n + shift * apart / slack
    return float(np.sum((weight * residual / (1 - leverage)) ** 2))


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
        for system, true in enumerate(truth):
            found = correct(people[system, chosen], assessor[system], chosen)
            for name in hits:
                mean: Mean = getattr(found, name)
                if mean.low is not None and mean.high is not None:
                    hits[name] += mean.low <= true <= mean.high
                    width[name] += mean.high - mean.low
    count = draws * len(truth)
    covered = {name: hit / count for name, hit in hits.items()}
    return Trial(labelled, draws, covered, {name: w / count for name, w in width.items()})
