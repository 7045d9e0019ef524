"""Calibration: whether of pairs with a probability of 70 % people grade 70 in 100 so high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.data import Pair, Qrels

Distributions = Mapping[Pair, Mapping[int, float]]
"""Pair to grade to probability, as a judgement's distribution says."""


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

    `error` is the expected calibration error, the bins' mean distance by the weight of their pairs;
    `brier` the mean squared error of the probabilities.
    """

    cut: int
    pairs: int
    bins: tuple[Bin, ...]
    error: float
    brier: float


class _Rows(NamedTuple):
    """People's grades, the distributions beside them, and the pairs' weights."""

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
        (human[pair.query_id][pair.doc_id], shares, weights[pair] if weights else 1.0)
        for pair, shares in distributions.items()
        if pair.doc_id in human.get(pair.query_id, {})
        and sum(shares.values()) > 0
        and (weights is None or pair in weights)
    ]
    if not graded:
        return []
    grades, shares, weight = zip(*graded, strict=True)
    rows = _Rows(list(grades), list(shares), np.array(weight, dtype=np.float64))
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
    whole = rows.weights.sum()
    bin_index = np.minimum((probability * bins).astype(np.int64), bins - 1)
    table, error = [], 0.0
    for b in range(bins):
        inside = bin_index == b
        if inside.any():
            weight = rows.weights[inside]
            mean, share = (
                float(np.average(x[inside], weights=weight)) for x in (probability, true)
            )
            table.append(Bin(b / bins, (b + 1) / bins, int(inside.sum()), mean, share))
            error += float(weight.sum() / whole) * abs(mean - share)
    brier = float(np.average((probability - true) ** 2, weights=rows.weights))
    return Calibration(cut, len(rows.grades), tuple(table), error, brier)


def _mass(shares: Mapping[int, float], cut: int) -> float:
    """The probability of `cut` or more, of a distribution that may not sum to 1 exactly."""
    above = sum(share for grade, share in shares.items() if grade >= cut)
    return min(max(above / sum(shares.values()), 0.0), 1.0)
