"""Samples that come in blocks: which of many shares differ, and how far points are apart.

Searches of one session, or of one day, are not independent. So what is permuted is a block of them:
a day, or a handful of sessions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.stats.means import wilson

# Which blocks of points are the first of two samples, and all the ways in which they might be.

ROUNDS = 10_000
"""How many assignments of blocks are drawn; where there are fewer, all are gone through."""

_AT_ONCE = 2000


@dataclass(frozen=True, eq=False)
class BlockSides:
    """The blocks that are the first sample, `(blocks,)`; the others are the second.

    Where nothing differs, blocks of one stratum, as days of the week, could be either: as many of
    each stratum as are in the first sample. Without `strata` all blocks could. `seed` decides which
    `rounds` assignments are drawn, where there are more of them.
    """

    first: Flags
    strata: Integers | None = None
    seed: int = 0
    rounds: int = ROUNDS

    @property
    def observed(self) -> Floats:
        """The assignment that is, `(1, blocks)` of zeros and ones."""
        return self.first[None, :].astype(np.float64)

    @cached_property
    def _places(self) -> list[Integers]:
        strata = np.zeros(len(self.first)) if self.strata is None else self.strata
        return [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]

    @cached_property
    def ways(self) -> int:
        """How many assignments there are."""
        counts = ((len(inside), int(self.first[inside].sum())) for inside in self._places)
        return math.prod(math.comb(blocks, first) for blocks, first in counts)

    @property
    def smallest_p(self) -> float:
        """The least that a test of these blocks can say."""
        return 1 / min(self.ways, self.rounds + 1)

    def assigned(self, most: int = ROUNDS) -> Iterator[Floats]:
        """Assignments, `(rows, blocks)` of zeros and ones: all where there are few, else drawn."""
        rounds = min(most, self.rounds)
        if self.ways <= rounds:
            yield self._all()
            return
        rng = np.random.default_rng(self.seed)
        for start in range(0, rounds, _AT_ONCE):
            drawn = np.zeros((min(_AT_ONCE, rounds - start), len(self.first)))
            for inside in self._places:
                order = np.argsort(rng.random((len(drawn), len(inside))), axis=1)
                drawn[:, inside] = order < int(self.first[inside].sum())
            yield drawn

    def _all(self) -> Floats:
        of_strata = [
            [*combinations(inside.tolist(), int(self.first[inside].sum()))]
            for inside in self._places
        ]
        ways = [*product(*of_strata)]
        drawn = np.zeros((len(ways), len(self.first)))
        for row, way in enumerate(ways):
            drawn[row, [block for inside in way for block in inside]] = 1.0
        return drawn


# Shares of what comes in blocks, and which of many shares differ in two samples.


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


Points = NDArray[np.float32]

# Distances of points, in bounded memory.

_ROWS = 512


def distances(some: Points, points: Points) -> Points:
    """The Euclidean distances of all pairs, `(some, points)`; those of equal points are 0."""
    lengths = np.einsum("ij,ij->i", points, points)
    away = np.empty((len(some), len(points)), dtype=np.float32)
    for first in range(0, len(some), _ROWS):
        rows = some[first : first + _ROWS]
        own = np.einsum("ij,ij->i", rows, rows)
        squared = own[:, None] + lengths[None, :] - 2 * (rows @ points.T)
        # what rounding leaves of equal points would count as a distance once its root is taken
        squared[squared < 1e-6] = 0.0
        away[first : first + _ROWS] = np.sqrt(squared)
    return away
