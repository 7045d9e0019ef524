"""Two samples that come in blocks: how far apart their distributions are, with test and interval.

Searches of one session, or of one day, are not independent. So what is permuted and left out is a
block of them: a day, or a handful of sessions. All that is needed of the points themselves are the
sums of their distances by pairs of blocks, so that thousands of permutations cost next to nothing.

The distance of two distributions is `2 E d(X, Y) - E d(X, X') - E d(Y, Y')`. With the Euclidean
distance it is the energy distance (Székely and Rizzo 2013, J. of Statistical Planning and Inference
143), with 1 less a Gaussian kernel the squared maximum mean discrepancy (Gretton et al. 2012, J. of
Machine Learning Research 13). Either is 0 for equal distributions alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.stats.intervals import Interval
from labeler.stats.levels import LEVEL, SIGNIFICANT
from labeler.stats.sides import ROUNDS, BlockSides
from labeler.stats.student import t_quantile


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums of the distances of all points by pairs of blocks, `(blocks, blocks)`.

    `mass` is how many points each block has, `(blocks,)`.
    """

    sums: Floats
    mass: Floats

    def merged(self, labels: Integers) -> BlockSums:
        """The same of larger blocks: those with one label, in the order of the labels."""
        names, which = np.unique(labels, return_inverse=True)
        member = np.zeros((len(names), len(labels)))
        member[which, np.arange(len(labels))] = 1.0
        return BlockSums(member @ self.sums @ member.T, member @ self.mass)

    def of(self, blocks: Flags | Integers) -> BlockSums:
        """The same of some blocks."""
        return BlockSums(self.sums[blocks][:, blocks], self.mass[blocks])

    @property
    def between(self) -> Floats:
        """The sums with 0 on the diagonal: pairs of one block are no independent points."""
        between = self.sums.copy()
        np.fill_diagonal(between, 0.0)
        return between


def apart(of: BlockSums, first: Floats, second: Floats) -> Floats:
    """The distances of two samples that hold the blocks so many times, `(rows, blocks)` each.

    Only pairs of different blocks count, so that it is 0 on average where nothing differs, and may
    be below; what days of one sample differ by is then no distance of the samples.
    """
    sums, squares = of.between, of.mass**2
    first_of, second_of = first @ sums, second @ sums
    n, m = first @ of.mass, second @ of.mass
    # (rows,): mean distances across, and of different blocks inside
    across = _mean((first_of * second).sum(axis=1), n * m)
    inside_first = _mean((first_of * first).sum(axis=1), n * n - first @ squares)
    inside_second = _mean((second_of * second).sum(axis=1), m * m - second @ squares)
    return np.asarray(2 * across - inside_first - inside_second, dtype=np.float64)


def _mean(sums: Floats, pairs: Floats) -> Floats:
    """The sums over pairs; nan where there are none, as of a sample of one block."""
    means: Floats = np.divide(sums, pairs, out=np.full(len(sums), math.nan), where=pairs > 0)
    return means


class SampleShift(NamedTuple):
    """How far apart two samples are, with its interval, and p of the permutation test.

    `smallest_p` is the least that this test could have said of so many blocks, `limit` the distance
    that chance reaches with a probability of the level that was asked for.
    """

    value: float
    low: float | None
    high: float | None
    p: float
    smallest_p: float
    limit: float


def shift(of: BlockSums, sides: BlockSides, level: float = SIGNIFICANT) -> SampleShift:
    """The distance of the two samples of blocks.

    The test moves blocks between the samples. It is exact where blocks are exchangeable.
    """
    value = float(apart(of, sides.observed, 1 - sides.observed)[0])
    by_chance = sides.by_chance(lambda drawn: apart(of, drawn, 1 - drawn))
    low, high = interval_apart(of, sides.first) or (None, None)
    limit = float(np.quantile(by_chance, 1 - level, method="higher"))
    p = sides.p(value, by_chance) if math.isfinite(value) else 1.0
    return SampleShift(value, low, high, p, sides.smallest_p, limit)


def interval_apart(of: BlockSums, first: Flags) -> Interval:
    """The interval of the distance, by leaving out one block each; `None` with fewer than three.

    The jackknife of two samples. A distance is never below 0, and so are the ends.
    """
    sides: tuple[Floats, Floats] = first.astype(np.float64), (~first).astype(np.float64)
    value = float(apart(of, sides[0][None, :], sides[1][None, :])[0])
    variances, freedoms = [], []
    for number in (0, 1):
        blocks = np.flatnonzero(sides[number])
        if len(blocks) < 3:
            return None
        without = [np.tile(side, (len(blocks), 1)) for side in sides]
        without[number][np.arange(len(blocks)), blocks] = 0.0
        values = apart(of, without[0], without[1])
        spread = float(((values - values.mean()) ** 2).sum())
        variances.append((len(blocks) - 1) / len(blocks) * spread)
        freedoms.append(len(blocks) - 1)
    return _above_zero(t_interval(value, variances, freedoms))


def _above_zero(ends: tuple[float, float]) -> Interval:
    return max(ends[0], 0.0), max(ends[1], 0.0)


def t_interval(
    value: float, variances: Sequence[float], freedoms: Sequence[int]
) -> tuple[float, float]:
    """The interval of a value whose variance is a sum of estimated ones.

    With degrees of freedom after Welch (1947), Biometrika 34, and Satterthwaite.
    """
    total = sum(variances)
    if total <= 0:
        return value, value
    parts = zip(variances, freedoms, strict=True)
    freedom = total**2 / sum(variance**2 / of for variance, of in parts)
    half = t_quantile((1 + LEVEL) / 2, round(freedom, 1)) * math.sqrt(total)
    return value - half, value + half


class SetShift(NamedTuple):
    """How far a sample is from a fixed set of points, with its interval.

    `inside` is the mean distance of two of the sample's points. So many points drawn from it would
    be as far from it as the set is: `worth`, with its interval. `p` is that of a set that was drawn
    from it.
    """

    value: float
    low: float | None
    high: float | None
    inside: float
    p: float

    @property
    def worth(self) -> float:
        """How many points drawn at random from the sample's distribution would be as near to it."""
        return self.inside / self.value if self.value > 0 else math.inf

    @property
    def worth_ends(self) -> tuple[float, float] | None:
        """The interval of the worth."""
        if self.low is None or self.high is None or not self.high > 0:
            return None
        return self.inside / self.high, self.inside / self.low if self.low > 0 else math.inf


def fixed_shift(of: BlockSums, fixed: Flags, seed: int = 0, rounds: int = ROUNDS) -> SetShift:
    """How far the sample of the other blocks is from the points of `fixed`, each a block of one.

    The mass of a fixed point is its weight. The points are all there are of their distribution, so
    that even a set drawn from the sample's is away from it: n points by 1/n of the mean distance
    of two, on average (Mak and Joseph 2018, Annals of Statistics 46(6)).
    """
    points, sample = of.of(fixed), of.of(~fixed)
    whole = float(points.mass.sum())
    within = float(points.sums.sum()) / whole**2
    # (blocks of the sample,): the mean distance of the fixed points to each block's, summed
    to_blocks = of.sums[fixed][:, ~fixed].sum(axis=0) / whole
    blocks = len(sample.mass)
    rows = np.vstack([np.ones(blocks), 1.0 - np.eye(blocks)])
    values, inside = _to_fixed(sample, to_blocks, within, rows)
    value = float(values[0])
    ends = None
    if blocks >= 3:
        spread = float(((values[1:] - values[1:].mean()) ** 2).sum())
        ends = _above_zero(t_interval(value, [(blocks - 1) / blocks * spread], [blocks - 1]))
    low, high = ends or (None, None)
    p = _drawn_p(of, fixed, seed, rounds)
    return SetShift(max(value, 0.0), low, high, float(inside[0]), p)


def _to_fixed(
    sample: BlockSums, to_blocks: Floats, within: float, rows: Floats
) -> tuple[Floats, Floats]:
    """Distances to the fixed points for each row of blocks, and mean distances inside."""
    n = rows @ sample.mass
    pairs = n * n - rows @ sample.mass**2
    inside = _mean(((rows @ sample.between) * rows).sum(axis=1), pairs)
    return 2 * _mean(rows @ to_blocks, n) - within - inside, inside


def _drawn_p(of: BlockSums, fixed: Flags, seed: int, rounds: int) -> float:
    """p of a set of points that was drawn from the sample's distribution.

    By the multiplier bootstrap: points and blocks get random weights around what they have, and
    the distance between the two noises is the distance that chance makes. So weights of the points
    count, and blocks of the sample stay whole.
    """
    shares = np.where(fixed, of.mass / of.mass[fixed].sum(), of.mass / of.mass[~fixed].sum())
    signed = np.where(fixed, shares, -shares) / of.mass
    value = -float(signed @ of.sums @ signed)
    rng, reached = np.random.default_rng(seed), 0
    for start in range(0, rounds, 2000):
        noise = rng.standard_normal((min(2000, rounds - start), len(fixed)))
        for side in (fixed, ~fixed):
            own, count = shares[side], int(side.sum())
            centered = noise[:, side] - (noise[:, side] @ own)[:, None]
            noise[:, side] = centered * math.sqrt(count / max(count - 1, 1)) * own / of.mass[side]
        reached += int((-((noise @ of.sums) * noise).sum(axis=1) >= value).sum())
    return (1 + reached) / (1 + rounds)
