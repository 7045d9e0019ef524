"""Calibration: whether of pairs with a probability of 70 % people grade 70 in 100 so high."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.data import Pair, Qrels
from labeler.report.table import Interval
from labeler.stats.intervals import Ends, in_blocks
from labeler.stats.student import LEVEL, t_quantile

Distributions = Mapping[Pair, Mapping[int, float]]
"""Pair to grade to probability, as a judgement's distribution says."""


FLIPS = 1000
"""How many random signs of queries tell what chance comes to."""


class Bin(NamedTuple):
    """The pairs whose probability, by the assessor, lies from `low` to `high`.

    `probability` is its mean over them and `true` the share whose grade by people reaches the cut,
    both weighted as the pairs are; `pairs` is a plain count.
    """

    low: float
    high: float
    pairs: int
    probability: float
    true: float


@dataclass(frozen=True)
class Calibration:
    """Reliability at one cut of the scale ("people's grade is at least `cut`").

    `error` is the expected calibration error: the bins' mean distance by the weight of their pairs,
    less what chance alone puts there, with the ends of its interval over queries; `plain_error` is
    the same with chance in it. `brier` is the mean squared error of the probabilities.
    """

    cut: int
    pairs: int
    bins: tuple[Bin, ...]
    error: float
    low: float | None
    high: float | None
    plain_error: float
    brier: float

    @property
    def interval(self) -> Interval:
        """The error with the ends of its interval."""
        return Interval(self.error, self.low, self.high)


class _Rows(NamedTuple):
    """Of each pair: its query, people's grade, the distribution beside it, and its weight."""

    queries: list[str]
    grades: list[int]
    shares: list[Mapping[int, float]]
    weights: Floats


def calibration(
    human: Qrels,
    distributions: Distributions,
    cuts: Sequence[int],
    weights: Mapping[Pair, float] | None = None,
    bins: int = 10,
) -> list[Calibration]:
    """One table a cut; empty where no pair that people graded carries a distribution.

    `weights` are one over the inclusion probabilities of sampled pairs.
    """
    graded = [
        (
            pair.query_id,
            human[pair.query_id][pair.doc_id],
            shares,
            weights[pair] if weights else 1.0,
        )
        for pair, shares in distributions.items()
        if pair.doc_id in human.get(pair.query_id, {})
        and sum(shares.values()) > 0
        and (weights is None or pair in weights)
    ]
    if not graded:
        return []
    queries, grades, shares, weight = zip(*graded, strict=True)
    weighted = np.array(weight, dtype=np.float64)
    rows = _Rows(list(queries), list(grades), list(shares), weighted)
    return [_at_cut(rows, cut, bins) for cut in cuts]


def renamed(distributions: Distributions, grades: Mapping[int, int]) -> Distributions:
    """The distributions with their grades replaced as a map says, shares of equal grades added."""
    if not grades:
        return distributions
    renamed_shares: dict[Pair, dict[int, float]] = {}
    for pair, shares in distributions.items():
        mine = renamed_shares.setdefault(pair, {})
        for grade, share in shares.items():
            to = grades.get(grade, grade)
            mine[to] = mine.get(to, 0.0) + share
    return renamed_shares


def _at_cut(rows: _Rows, cut: int, bins: int) -> Calibration:
    probability = np.array([_mass(shares, cut) for shares in rows.shares])
    true = np.array([float(grade >= cut) for grade in rows.grades])
    bin_index = np.minimum((probability * bins).astype(np.int64), bins - 1)
    table = []
    for b in range(bins):
        inside = bin_index == b
        if inside.any():
            weight = rows.weights[inside]
            mean, share = (
                float(np.average(x[inside], weights=weight)) for x in (probability, true)
            )
            table.append(Bin(b / bins, (b + 1) / bins, int(inside.sum()), mean, share))
    brier = float(np.average((probability - true) ** 2, weights=rows.weights))
    residuals = _residuals(rows.queries, bin_index, rows.weights * (true - probability), bins)
    plain = float(np.abs(residuals.sum(axis=0)).sum() / rows.weights.sum())
    each = _residuals(rows.queries, 0 * bin_index, rows.weights, 1)[:, 0]
    error, ends = debiased(residuals, each)
    return Calibration(cut, len(rows.grades), tuple(table), error, *ends, plain, brier)


def _residuals(queries: Sequence[str], bin_index: Integers, values: Floats, bins: int) -> Floats:
    """The sums of values by query and bin."""
    _, row_of_query = np.unique(np.array(queries), return_inverse=True)
    size = (int(row_of_query.max()) + 1) * bins
    sums = np.bincount(row_of_query * bins + bin_index, weights=values, minlength=size)
    return sums.reshape(-1, bins).astype(np.float64)


def debiased(residuals: Floats, weights: Floats) -> tuple[float, Ends]:
    """The expected calibration error without what chance alone puts there, and its ends.

    `residuals` are sums of what came true less what was said, `(queries, bins)`; `weights` sum each
    query's pairs. A bin's distance takes its sign from the same pairs, so that every bin looks off.
    Here each query's part has the sign that the other queries give, and the parts of a calibrated
    assessor cancel; of few pairs a small error is then put too low. The ends allow for that: the
    low one is 0 unless random signs of whole queries come to as much in fewer than 25 of 1,000
    draws. One query has no others: its plain error, and no ends.
    """
    whole, queries = weights.sum(), len(residuals)
    total = residuals.sum(axis=0)
    plain = float(np.abs(total).sum() / whole)
    if queries < 2:
        return plain, (None, None)
    error = max(float(_by_others(residuals) / whole), 0.0)
    parts = (residuals * np.sign(total)).sum(axis=1)
    squares = float(((parts - plain * weights) ** 2).sum())
    spread = math.sqrt(squares * queries / (queries - 1)) / whole
    half = t_quantile((1 + LEVEL) / 2, queries - 1) * spread
    flipped = [_by_others(s[..., None] * residuals) for s in in_blocks(_signs, queries, FLIPS, 0)]
    chance = np.quantile(np.concatenate(flipped), (1 + LEVEL) / 2) / whole
    low = error - half if error > chance else 0.0
    return error, (max(low, 0.0), min((error + plain) / 2 + half, 1.0))


def _signs(rng: np.random.Generator, rows: int, queries: int) -> Floats:
    return rng.choice(np.array([-1.0, 1.0]), (rows, queries))


def _by_others(residuals: Floats) -> Floats:
    """The sums over `(..., queries, bins)` of each query's part, signed by the other queries."""
    others = residuals.sum(axis=-2, keepdims=True) - residuals
    return np.asarray((residuals * np.sign(others)).sum(axis=(-2, -1)), dtype=np.float64)


def _mass(shares: Mapping[int, float], cut: int) -> float:
    """The probability of `cut` or more, of a distribution that may not sum to 1 exactly."""
    above = sum(share for grade, share in shares.items() if grade >= cut)
    return min(max(above / sum(shares.values()), 0.0), 1.0)
