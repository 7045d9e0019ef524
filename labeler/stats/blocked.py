"""Shares and quantiles of what comes in blocks, and which of many shares differ in two samples."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.stats.blocks import t_interval
from labeler.stats.shares import wilson
from labeler.stats.sides import BlockSides


class BlockShare(NamedTuple):
    """A share with the ends of its interval; `nan` where there is nothing to share."""

    value: float
    low: float
    high: float


def block_share(counts: Floats, mass: Floats, units: float | None = None) -> BlockShare:
    """The share of all points that so many of each block have, `(blocks,)` of `mass`.

    Wilson's interval of as many points as the spread over blocks is worth, and no more than there
    are points: Korn and Graubard (1998), Survey Methodology 24. Where all points are alike, that is
    as many as there are independent `units` in the blocks, as sessions; None are the blocks.
    """
    total = float(mass.sum())
    if not total > 0:
        return BlockShare(math.nan, math.nan, math.nan)
    share = float(counts.sum()) / total
    is_alike = units is not None and not 0 < share < 1
    worth = units if is_alike and units else _worth(counts, mass, share)
    low, high = wilson(np.array([share]), worth)
    return BlockShare(share, float(low[0]), float(high[0]))


def _worth(counts: Floats, mass: Floats, share: float) -> float:
    """How many independent points say as much of the share as these blocks do."""
    total, blocks = float(mass.sum()), int((mass > 0).sum())
    if not 0 < share < 1 or blocks < 2:
        return float(blocks) if blocks > 1 else 1.0
    left = counts - share * mass
    variance = blocks / (blocks - 1) * float(left @ left) / total**2
    return total / max(1.0, variance * total / (share * (1 - share)))


def block_quantile(
    values: Floats, mass: Floats, blocks: Integers, at: float = 0.5
) -> tuple[float, float, float]:
    """A quantile of `(points,)` values and its interval: Woodruff (1952), JASA 47.

    Where the share of points below a value cannot be told from `at`, the value is in the interval.
    """
    order = np.argsort(values, kind="stable")
    ordered, upto = values[order], np.cumsum(mass[order])
    shares = upto / upto[-1]

    def quantile(share: float) -> float:
        return float(ordered[min(int(np.searchsorted(shares, share - 1e-12)), len(ordered) - 1)])

    value = quantile(at)
    count = int(blocks.max()) + 1
    totals, below = (_added(m, blocks, count) for m in (mass, mass * (values <= value)))
    share = float(below.sum()) / float(totals.sum())
    low, high = wilson(np.array([at]), _worth(below, totals, share))
    return value, quantile(float(low[0])), quantile(float(high[0]))


class SharesMoved(NamedTuple):
    """Shares in two samples, `(features,)` each, and p of each difference.

    p allows for all features: it is the chance that any feature whatever differs so much.
    """

    first: Floats
    second: Floats
    p: Floats


def shares_moved(counts: Floats, mass: Floats, sides: BlockSides) -> SharesMoved:
    """Which of many shares differ: `(blocks, features)` counts of `(blocks,)` points.

    Blocks are moved between the samples. Differences are divided by their spread over all moves,
    and held against the largest of all features (Westfall and Young 1993).
    """
    observed = _differences(counts, mass, sides.observed)[0]
    values = np.concatenate(
        [_differences(counts, mass, drawn) for drawn in sides.assigned(_rounds(counts))]
    )
    spread = np.sqrt((values**2).mean(axis=0))
    spread = np.where(spread > 0, spread, np.inf)
    largest = np.sort(np.abs(values / spread).max(axis=1, initial=0.0))
    reached = len(values) - np.searchsorted(largest, np.abs(observed / spread) * (1 - 1e-9))
    drawn_too = 0 if sides.ways <= len(values) else 1  # the one that is counts as drawn
    p = (drawn_too + reached) / (drawn_too + len(values))
    shares = [counts[side].sum(axis=0) / mass[side].sum() for side in (sides.first, ~sides.first)]
    return SharesMoved(shares[0], shares[1], np.asarray(p, dtype=np.float64))


def _rounds(counts: Floats) -> int:
    """As many assignments as `(rounds, features)` differences fit into 160 MB, at most 10,000."""
    return int(min(10_000, max(1000, 20_000_000 // max(counts.shape[1], 1))))


def _differences(counts: Floats, mass: Floats, sides: Floats) -> Floats:
    first, second = sides @ counts, counts.sum(axis=0) - sides @ counts
    n = (sides @ mass)[:, None]
    differences: Floats = first / n - second / (mass.sum() - n)
    return differences


class Separation(NamedTuple):
    """How well scores tell two samples apart: the area under the ROC curve, its interval and p."""

    area: float
    low: float | None
    high: float | None
    p: float


def separation(scores: Floats, mass: Floats, blocks: Integers, sides: BlockSides) -> Separation:
    """The chance that a point of the first sample has the higher score, ties by half.

    `scores` must not depend on which sample these points are in. p is that of moving blocks, and
    one-sided, as a score is made to be higher in the first.
    """
    first = sides.first
    wins = _wins(scores, mass, blocks, len(first))
    totals = _added(mass, blocks, len(first))

    def area(drawn: Floats) -> Floats:
        others = 1 - drawn
        n = (drawn @ totals) * (others @ totals)
        return np.asarray(((drawn @ wins) * others).sum(axis=1) / n, dtype=np.float64)

    value = float(area(sides.observed)[0])
    low, high = _area_interval(wins, totals, first, value) or (None, None)
    return Separation(value, low, high, sides.p(value, sides.by_chance(area)))


def _added(values: Floats, blocks: Integers, count: int) -> Floats:
    added: Floats = np.bincount(blocks, weights=values, minlength=count).astype(np.float64)
    return added


def _wins(scores: Floats, mass: Floats, blocks: Integers, count: int) -> Floats:
    """How many pairs of points of two blocks the first block's wins, `(blocks, blocks)`."""
    _, rank = np.unique(scores, return_inverse=True)
    by_score = np.zeros((count, int(rank.max()) + 1))
    np.add.at(by_score, (blocks, rank), mass)
    below = np.cumsum(by_score, axis=1) - by_score / 2  # ties count by half
    wins: Floats = by_score @ below.T
    return wins


def _area_interval(
    wins: Floats, totals: Floats, first: Flags, value: float
) -> tuple[float, float] | None:
    """By the blocks' own areas, as DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44."""
    variances, freedoms = [], []
    across = wins[first][:, ~first]
    n, m = totals[first], totals[~first]
    for own, other, sums in ((n, m, across.sum(axis=1)), (m, n, across.sum(axis=0))):
        blocks = len(own)
        if blocks < 3:
            return None
        left = sums / other.sum() - own * value
        variances.append(blocks / (blocks - 1) * float(left @ left) / float(own.sum()) ** 2)
        freedoms.append(blocks - 1)
    low, high = t_interval(value, variances, freedoms)
    return max(low, 0.0), min(high, 1.0)
