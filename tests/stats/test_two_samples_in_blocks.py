"""Samples in blocks, against definitions written out."""

import math
from itertools import combinations

import numpy as np

from labeler.stats.blocks import BlockSides, block_share, shares_moved


def test_blocks_move_within_their_stratum_alone() -> None:
    sides = BlockSides(np.array([1, 0, 0, 1, 0], dtype=bool), np.array([0, 0, 0, 1, 1]))
    assert sides.ways == 3 * 2
    (drawn,) = sides.assigned()
    assert drawn[:, :3].sum(axis=1).tolist() == drawn[:, 3:].sum(axis=1).tolist() == [1.0] * 6
    assert len({tuple(row) for row in drawn.tolist()}) == 6


def test_p_of_few_blocks_is_the_share_of_all_assignments() -> None:
    counts, first = np.array([[3.0], [4.0], [1.0], [0.0], [2.0]]), np.arange(5) < 2
    moved = shares_moved(counts, np.full(5, 5.0), BlockSides(first))
    apart = [
        abs(counts[list(ways)].mean() - np.delete(counts, ways, axis=0).mean())
        for ways in combinations(range(5), 2)
    ]
    assert moved.p[0] == np.mean([each >= apart[0] - 1e-9 for each in apart])
    assert BlockSides(first).smallest_p == 1 / 10


def test_drawn_assignments_hold_the_level_where_nothing_differs() -> None:
    rng, rejected = np.random.default_rng(5), 0
    for world in range(200):
        counts = rng.zipf(1.6, (30, 12)).clip(max=40).astype(float)
        moved = shares_moved(counts, np.full(30, 40.0), BlockSides(np.arange(30) < 10, seed=world))
        rejected += moved.p.min() <= 0.1
    assert 8 <= rejected <= 33  # 20 are expected, with a standard error of 4


def test_of_many_shares_those_that_differ_are_told() -> None:
    rng = np.random.default_rng(1)
    counts = rng.binomial(20, 0.2, (60, 30)).astype(float)
    first = np.arange(60) < 20
    counts[first, 4] += 6
    moved = shares_moved(counts, np.full(60, 20.0), BlockSides(first))
    assert (moved.p <= 0.05).nonzero()[0].tolist() == [4]
    assert moved.first[4] == counts[first, 4].sum() / 400


def test_shares_of_blocks_that_are_all_alike_say_as_much_as_there_are_blocks() -> None:
    alone = block_share(np.array([1.0, 0, 0, 1]), np.ones(4))
    copied = block_share(np.array([50.0, 0, 0, 50]), np.full(4, 50.0))
    assert copied.value == alone.value == 0.5
    assert copied.high - copied.low > 0.9 * (alone.high - alone.low)
    assert math.isnan(block_share(np.zeros(2), np.zeros(2)).value)
