"""Calibration: whether of pairs with a probability of 70 % people grade 70 in 100 so high."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.agreement.align import PairWeights, drawn_weights
from labeler.arrays import Floats, Integers
from labeler.collection.judged_set import Distributions
from labeler.data import Qrels
from labeler.report.table import Interval
from labeler.stats.intervals import Ends, in_blocks
from labeler.stats.student import LEVEL, t_of
from labeler.trec.pairs import NONE, PairColumns

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
    bins: Sequence[Bin]
    error: float
    low: float | None
    high: float | None
    plain_error: float
    brier: float

    @property
    def interval(self) -> Interval:
        """The error with the ends of its interval."""
        return Interval(self.error, self.low, self.high)


class CalibrationRows(NamedTuple):
    """Of each pair its query's place, people's grade, its weight, and the distribution beside it.

    `shares` are `(pairs, grades)`.
    """

    query: Integers
    human: Integers
    weight: Floats
    grades: Sequence[int]
    shares: Floats


def calibration(
    human: Qrels,
    distributions: Distributions,
    cuts: Sequence[int],
    weights: PairWeights = None,
) -> list[Calibration]:
    """One table a cut; empty where no pair that people graded carries a distribution.

    `weights` are one over the inclusion probabilities of sampled pairs.
    """
    pairs, people = distributions.pairs, PairColumns.of(human, np.int64)
    at, weight = pairs.rows_in(people), drawn_weights(pairs, weights)
    rows = (at != NONE) & (distributions.shares.sum(axis=1) > 0) & ~np.isnan(weight)
    if not rows.any():
        return []
    _, query = pairs.keep(rows).by_query_id()
    shares, grade = distributions.shares[rows], people.value[at[rows]]
    graded = CalibrationRows(query, grade, weight[rows], distributions.grades, shares)
    return [at_cut(graded, cut) for cut in cuts]


def renamed(distributions: Distributions, maps: Mapping[int, int]) -> Distributions:
    """The distributions with their grades replaced as a map says, shares of equal grades added."""
    if not maps:
        return distributions
    to = [maps.get(grade, grade) for grade in distributions.grades]
    grades = tuple(sorted(set(to)))
    is_of = np.array([[float(own == grade) for grade in grades] for own in to])
    return replace(distributions, grades=grades, shares=distributions.shares @ is_of)


BINS = 10


def at_cut(rows: CalibrationRows, cut: int) -> Calibration:
    """The reliability of the probabilities of a grade of `cut` or more."""
    above = rows.shares[:, np.array(rows.grades) >= cut].sum(axis=1)
    probability = np.clip(above / rows.shares.sum(axis=1), 0.0, 1.0)
    true = (rows.human >= cut).astype(np.float64)
    bin_index = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    pairs = np.bincount(bin_index)
    mass, likely, certain = (
        np.bincount(bin_index, rows.weight * each) for each in (1.0, probability, true)
    )
    table = [
        Bin(
            b / BINS,
            (b + 1) / BINS,
            int(pairs[b]),
            float(likely[b] / mass[b]),
            float(certain[b] / mass[b]),
        )
        for b in np.flatnonzero(pairs).tolist()
    ]
    brier = float(np.average((probability - true) ** 2, weights=rows.weight))
    residuals = _residuals(rows.query, bin_index, rows.weight * (true - probability), BINS)
    plain = float(np.abs(residuals.sum(axis=0)).sum() / rows.weight.sum())
    error, ends = debiased(residuals, _residuals(rows.query, 0 * bin_index, rows.weight, 1)[:, 0])
    return Calibration(cut, len(rows.human), tuple(table), error, *ends, plain, brier)


def _residuals(query: Integers, bin_index: Integers, values: Floats, bins: int) -> Floats:
    """The sums of values by query and bin."""
    size = (int(query.max()) + 1) * bins
    sums = np.bincount(query * bins + bin_index, weights=values, minlength=size)
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
    half = t_of(queries - 1) * spread
    flipped = [_by_others(s[..., None] * residuals) for s in in_blocks(_signs, queries, FLIPS, 0)]
    chance = np.quantile(np.concatenate(flipped), (1 + LEVEL) / 2) / whole
    low = error - half if error > chance else 0.0
    return error, (max(low, 0.0), min((error + plain) / 2 + half, 1.0))


def _signs(rng: np.random.Generator, rows: int, queries: int) -> Floats:
    return rng.choice(np.array([-1.0, 1.0]), (rows, queries))


def _by_others(residuals: Floats) -> Floats:
    """The sums over `(..., queries, bins)` of each query's part, signed by the other queries."""
    others = residuals.sum(axis=-2, keepdims=True) - residuals
    return np.asarray((residuals * np.sign(others)).sum(axis=(-2, -1)))
