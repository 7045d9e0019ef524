"""Does an assessor that says 70 % find people agreeing 70 times of 100?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.agreement.tables import FloatArray
from labeler.data import Pair, Qrels

Distributions = Mapping[Pair, Mapping[int, float]]
"""Pair to grade to probability, as a judgement's distribution says."""


class Bin(NamedTuple):
    """Pairs whose probability lies from `low` to `high`: the mean of it, and what came true."""

    low: float
    high: float
    pairs: int
    said: float
    true: float


@dataclass(frozen=True)
class Calibration:
    """Reliability at one cut of the scale ("people's grade is at least `cut`").

    `error` is the expected calibration error, the bins' mean distance weighted by their pairs;
    `brier` the mean squared error of the probabilities.
    """

    cut: int
    pairs: int
    bins: tuple[Bin, ...]
    error: float
    brier: float


def calibration(
    people: Qrels, distributions: Distributions, cuts: Sequence[int], bins: int = 10
) -> list[Calibration]:
    """One table a cut; empty where no judged pair carries a distribution."""
    rows = [
        (people[pair.query_id][pair.doc_id], shares)
        for pair, shares in distributions.items()
        if people.get(pair.query_id, {}).get(pair.doc_id, -1) >= 0 and sum(shares.values()) > 0
    ]
    return [_at_cut(rows, cut, bins) for cut in cuts] if rows else []


def _at_cut(rows: list[tuple[int, Mapping[int, float]]], cut: int, bins: int) -> Calibration:
    said = np.array([_mass(shares, cut) for _, shares in rows])
    true = np.array([float(grade >= cut) for grade, _ in rows])
    place = np.minimum((said * bins).astype(np.int64), bins - 1)
    table = tuple(_bin(said, true, place == b, b, bins) for b in range(bins) if (place == b).any())
    error = sum(row.pairs * abs(row.said - row.true) for row in table) / len(rows)
    return Calibration(cut, len(rows), table, float(error), float(np.mean((said - true) ** 2)))


def _mass(shares: Mapping[int, float], cut: int) -> float:
    """The probability of `cut` or more, of a distribution that may not sum to 1 exactly."""
    above = sum(share for grade, share in shares.items() if grade >= cut)
    return min(max(above / sum(shares.values()), 0.0), 1.0)


def _bin(said: FloatArray, true: FloatArray, chosen: FloatArray, b: int, bins: int) -> Bin:
    mean, share = float(said[chosen].mean()), float(true[chosen].mean())
    return Bin(b / bins, (b + 1) / bins, int(chosen.sum()), mean, share)
