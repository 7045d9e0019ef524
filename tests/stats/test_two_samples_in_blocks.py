"""Two samples in blocks, against definitions written out, and against scikit-learn."""

import math
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from labeler.stats.blocks import (
    BlockSides,
    block_quantile,
    block_share,
    fixed_shift,
    separation,
    shares_moved,
    shift,
)
from labeler.stats.distances import block_sums, distance_of
from labeler.stats.regression import linear_scores, logistic


def points_of(count: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).standard_normal((count, 5)).astype(np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def by_definition(first: list, second: list, apart) -> float:
    """Means over all pairs of points of different blocks; a point is its block and its vector."""

    def mean(one: list, other: list) -> float:
        return float(np.mean([apart(x, y) for b, x in one for c, y in other if b != c]))

    return 2 * mean(first, second) - mean(first, first) - mean(second, second)


@pytest.mark.parametrize("name", ["energy", "gaussian"])
def test_the_distance_of_two_samples_is_that_of_their_points_of_different_blocks(name) -> None:
    points, blocks = points_of(24), np.arange(24) // 3
    first = np.arange(8) < 3
    gaps = [np.linalg.norm(x - y) for x, y in combinations(points.astype(np.float64), 2)]
    width = float(np.median(np.square(gaps)))

    def apart(x, y) -> float:
        gap = float(np.linalg.norm(np.subtract(x, y, dtype=np.float64)))
        return gap if name == "energy" else 1 - math.exp(-(gap**2) / (2 * width))

    rows = [(b, x) for b, x in zip(blocks, points, strict=True)]
    expected = by_definition(rows[:9], rows[9:], apart)
    sums = block_sums(points, np.ones(24), blocks, distance_of(name, points))
    assert shift(sums, BlockSides(first)).value == pytest.approx(expected, abs=1e-5)


def test_a_point_of_mass_two_is_two_points() -> None:
    points, blocks = points_of(12), np.arange(12) // 2
    twice = np.concatenate([points, points[:4]])
    apart = distance_of("energy", points)
    mass = np.where(np.arange(12) < 4, 2.0, 1.0)
    one = block_sums(points, mass, blocks, apart)
    two = block_sums(twice, np.ones(16), np.concatenate([blocks, blocks[:4]]), apart)
    assert np.allclose(one.sums, two.sums, rtol=1e-6)
    assert one.mass.tolist() == two.mass.tolist()


def test_p_of_few_blocks_is_the_share_of_all_assignments() -> None:
    points = np.concatenate([points_of(6), points_of(9, 1) + 0.4]).astype(np.float32)
    blocks, first = np.arange(15) // 3, np.arange(5) < 2
    sums = block_sums(points, np.ones(15), blocks, distance_of("energy", points))
    every = [
        shift(sums, BlockSides(np.isin(np.arange(5), ways))).value
        for ways in combinations(range(5), 2)
    ]
    tested = shift(sums, BlockSides(first))
    assert tested.p == np.mean([value >= tested.value - 1e-9 for value in every])
    assert tested.smallest_p == 1 / 10


def test_blocks_move_within_their_stratum_alone() -> None:
    sides = BlockSides(np.array([1, 0, 0, 1, 0], dtype=bool), np.array([0, 0, 0, 1, 1]))
    assert sides.ways == 3 * 2
    (drawn,) = sides.assigned()
    assert drawn[:, :3].sum(axis=1).tolist() == drawn[:, 3:].sum(axis=1).tolist() == [1.0] * 6
    assert len({tuple(row) for row in drawn.tolist()}) == 6


def test_equal_points_in_both_samples_have_p_of_one() -> None:
    points = np.ones((8, 3), dtype=np.float32)
    sums = block_sums(points, np.ones(8), np.arange(8), distance_of("energy", points))
    tested = shift(sums, BlockSides(np.arange(8) < 4))
    assert (tested.value, tested.p, tested.low) == (0.0, 1.0, 0.0)


def test_of_one_block_there_is_nothing_to_say() -> None:
    points, blocks = points_of(9), np.repeat([0, 1, 2], 3)
    sums = block_sums(points, np.ones(9), blocks, distance_of("energy", points))
    tested = shift(sums, BlockSides(np.array([True, False, False])))
    assert math.isnan(tested.value)
    assert (tested.p, tested.low) == (1.0, None)


def test_drawn_assignments_hold_the_level_where_nothing_differs() -> None:
    rng, rejected = np.random.default_rng(5), 0
    for world in range(100):
        points = points_of(80, world)[rng.zipf(1.6, 90) % 80]  # the same queries again and again
        sums = block_sums(points, np.ones(90), np.arange(90) // 3, distance_of("energy", points))
        rejected += shift(sums, BlockSides(np.arange(30) < 10, seed=world)).p <= 0.1
    assert 2 <= rejected <= 20  # 10 is expected, with a standard error of 3


def test_a_set_is_worth_as_many_queries_as_it_has_where_it_was_drawn_at_random() -> None:
    rng, worths = np.random.default_rng(2), []
    for world in range(40):
        every = points_of(3000, 1)
        drawn, traffic = every[rng.choice(3000, 20)], every[rng.choice(3000, 400)]
        points = np.concatenate([drawn, traffic])
        blocks = np.concatenate([np.arange(20), 20 + np.arange(400) // 10])
        sums = block_sums(points, np.ones(420), blocks, distance_of("energy", points))
        fixed = np.arange(60) < 20
        worths.append(1 / fixed_shift(sums, fixed, seed=world, rounds=50).worth)
    assert 1 / np.mean(worths) == pytest.approx(20, rel=0.15)


def test_the_distance_to_fixed_points_counts_their_weights() -> None:
    points = points_of(10)
    apart = distance_of("energy", points)
    blocks = np.arange(10)
    mass = np.array([3.0, 1.0, *[1.0] * 8])
    sums = block_sums(points, mass, blocks, apart)
    of = fixed_shift(sums, np.arange(10) < 2, rounds=10)
    gaps = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    shares, others = np.array([0.75, 0.25]), gaps[2:, 2:]
    inside = others.sum() / (8 * 7)
    expected = 2 * shares @ gaps[:2, 2:].mean(axis=1) - shares @ gaps[:2, :2] @ shares - inside
    assert of.value == pytest.approx(expected, abs=1e-5)
    assert of.inside == pytest.approx(inside, abs=1e-5)


def test_logistic_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 6))
    outcome = (rows[:, 0] - rows[:, 1] + rng.standard_normal(300) > 0.5).astype(float)
    weights = rng.integers(1, 5, 300).astype(float)
    for ridge in (0.1, 1.0, 10.0):
        theirs = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=1000)
        theirs.fit(rows, outcome, sample_weight=weights)
        ours = logistic(rows, outcome, weights, ridge)
        assert np.allclose(ours, [*theirs.coef_[0], theirs.intercept_[0]], atol=1e-5)
        assert np.allclose(linear_scores(rows, ours), theirs.decision_function(rows), atol=1e-5)


def test_logistic_regression_ends_where_one_side_can_be_told_for_sure() -> None:
    rows = np.array([[0.0], [0.0], [1.0], [1.0]])
    found = logistic(rows, np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), ridge=1e-6)
    assert np.isfinite(found).all()
    assert (linear_scores(rows, found) > 0).tolist() == [False, False, True, True]


def test_the_area_is_that_of_scikit_learn_ties_by_half() -> None:
    rng = np.random.default_rng(3)
    scores, mass = rng.integers(0, 6, 90).astype(float), rng.integers(1, 4, 90).astype(float)
    blocks, first = np.arange(90) // 5, np.arange(18) < 7
    expected = roc_auc_score(first[blocks], scores, sample_weight=mass)
    assert separation(scores, mass, blocks, BlockSides(first)).area == pytest.approx(expected)


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


def test_the_interval_of_a_median_is_of_its_values() -> None:
    values = np.arange(101.0)
    assert block_quantile(values, np.ones(101), np.arange(101))[0] == 50.0
    _, low, high = block_quantile(values, np.ones(101), np.arange(101))
    assert 38 <= low <= 42
    assert 58 <= high <= 62
