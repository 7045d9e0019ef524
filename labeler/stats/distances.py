"""Sums of the distances of points by pairs of blocks, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.stats.blocks import BlockSums

Points = NDArray[np.float32]
Distance = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Squared Euclidean distances to distances."""

DistanceName = Literal["energy", "gaussian"]

_ROWS = 512
_HEURISTIC = 1000
"""Points whose distances give the bandwidth: half a million pairs."""


def distance_of(name: DistanceName, points: Points, seed: int = 0) -> Distance:
    """The Euclidean distance, or what a Gaussian kernel lacks to 1.

    The kernel's bandwidth is the median distance of different points, of a thousand of them: the
    rule of Gretton et al. (2012), J. of Machine Learning Research 13.
    """
    if name == "energy":
        return _root
    rng = np.random.default_rng(seed)
    count = len(points)
    some = points if count <= _HEURISTIC else points[rng.choice(count, _HEURISTIC, replace=False)]
    squared = _squared(some, some)[np.triu_indices(len(some), 1)]
    above = squared[squared > 1e-9]
    return partial(_gaussian, float(np.median(above)) if len(above) else 1.0)


def _root(squared: NDArray[np.float32]) -> NDArray[np.float32]:
    root: NDArray[np.float32] = np.sqrt(squared)
    return root


def _gaussian(bandwidth: float, squared: NDArray[np.float32]) -> NDArray[np.float32]:
    lack: NDArray[np.float32] = np.float32(1.0) - np.exp(squared / np.float32(-2.0 * bandwidth))
    return lack


class BlockPoints(NamedTuple):
    """Points, `(points, dimensions)`, each counted `mass` times, and the block of each, from 0.

    Every block up to the last has a point.
    """

    points: Points
    mass: Floats
    blocks: Integers

    @property
    def totals(self) -> Floats:
        """How many points each block has."""
        return np.asarray(np.bincount(self.blocks, weights=self.mass), dtype=np.float64)

    def ordered(self) -> BlockPoints:
        """The same with the points of a block one after another."""
        order = np.argsort(self.blocks, kind="stable")
        return BlockPoints(self.points[order], self.mass[order], self.blocks[order])


def sums_between(some: BlockPoints, others: BlockPoints, distance: Distance) -> Floats:
    """The sums of the distances of all pairs by blocks, `(blocks of some, blocks of others)`.

    Memory is that of 512 rows of distances.
    """
    some, others = some.ordered(), others.ordered()
    starts = np.searchsorted(others.blocks, np.arange(int(others.blocks.max()) + 1))
    sums = np.zeros((int(some.blocks.max()) + 1, len(starts)))
    for first in range(0, len(some.points), _ROWS):
        rows = slice(first, first + _ROWS)
        away = distance(_squared(some.points[rows], others.points)) * others.mass
        # (rows, blocks), then the rows of a block are added to its own
        by_block = np.add.reduceat(away, starts, axis=1) * some.mass[rows, None]
        np.add.at(sums, some.blocks[rows], by_block)
    return sums


def block_sums(points: Points, mass: Floats, blocks: Integers, distance: Distance) -> BlockSums:
    """The sums over pairs of blocks of points."""
    every = BlockPoints(points, mass, blocks)
    sums = sums_between(every, every, distance)
    return BlockSums((sums + sums.T) / 2, every.totals)


def _squared(some: Points, points: Points) -> NDArray[np.float32]:
    """Squared distances; those of equal points are 0 but for rounding, and never below."""
    lengths = np.einsum("ij,ij->i", points, points)
    own = np.einsum("ij,ij->i", some, some)
    squared = own[:, None] + lengths[None, :] - 2 * (some @ points.T)
    # what rounding leaves of equal points would count as a distance once its root is taken
    squared[squared < 1e-6] = 0.0
    return np.asarray(squared, dtype=np.float32)


def mean_distances(some: Points, points: Points, shares: Floats, distance: Distance) -> Floats:
    """The mean distance of each of some points to others that count by their shares, `(some,)`."""
    blocks = [
        distance(_squared(some[first : first + _ROWS], points)) @ shares
        for first in range(0, len(some), _ROWS)
    ]
    return np.concatenate(blocks).astype(np.float64) if blocks else np.zeros(0)


def cross(some: Points, points: Points, distance: Distance) -> NDArray[np.float32]:
    """The distances of all pairs, `(some, points)`."""
    away = np.empty((len(some), len(points)), dtype=np.float32)
    for first in range(0, len(some), _ROWS):
        away[first : first + _ROWS] = distance(_squared(some[first : first + _ROWS], points))
    return away
