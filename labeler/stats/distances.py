"""Distances of points, and their sums by pairs of blocks, in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.stats.blocks import BlockSums

Points = NDArray[np.float32]

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


def mean_distances(some: Points, points: Points, shares: Floats) -> Floats:
    """The mean distance of each of some points to others that count by their shares, `(some,)`."""
    means = np.zeros(len(some))
    for first in range(0, len(some), _ROWS):
        means[first : first + _ROWS] = distances(some[first : first + _ROWS], points) @ shares
    return means


def block_sums(points: Points, mass: Floats, blocks: Integers) -> BlockSums:
    """The sums of the distances of all pairs of points by pairs of blocks.

    Each of the `(points, dimensions)` counts `mass` times; blocks are numbered from 0, and each has
    a point. Memory is that of 512 rows of distances.
    """
    order = np.argsort(blocks, kind="stable")
    points, mass, blocks = points[order], mass[order], blocks[order]
    starts = np.searchsorted(blocks, np.arange(int(blocks.max()) + 1))
    sums = np.zeros((len(starts), len(starts)))
    for first in range(0, len(points), _ROWS):
        rows = slice(first, first + _ROWS)
        away = distances(points[rows], points) * mass
        # (rows, blocks), then the rows of a block are added to its own
        by_block = np.add.reduceat(away, starts, axis=1) * mass[rows, None]
        np.add.at(sums, blocks[rows], by_block)
    totals = np.bincount(blocks, weights=mass).astype(np.float64)
    return BlockSums((sums + sums.T) / 2, totals)
