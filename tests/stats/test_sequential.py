"""Bounds of a sum that hold at every look, while its values are drawn one by one."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labeler.arrays import Floats
from labeler.stats.sequential import (
    Drawn,
    capital,
    draw_order,
    draws_until,
    estimate,
    sum_bounds,
)

LOW, HIGH = np.array([-0.5, 0.0, -1.0, -0.2]), np.array([0.5, 0.1, 0.6, 0.9])
VALUES = np.array([0.2, 0.05, -1.0, 0.9])


def chance(order: tuple[int, ...]) -> float:
    """With what probability values are drawn in an order, each next one by its width."""
    widths = (HIGH - LOW)[list(order)]
    left = np.cumsum(widths[::-1])[::-1]
    return float(np.prod(widths / left))


@pytest.mark.parametrize("drawn", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("forecast", "since"), [(None, 0), (VALUES / 2, 0), (-VALUES, 0), (HIGH, 1), (VALUES, 2)]
)
def test_bets_on_the_true_sum_gain_nothing_in_the_mean_of_all_orders(
    drawn: int, forecast: Floats | None, since: int
) -> None:
    mean = estimated = 0.0
    for order in permutations(range(4)):
        o = list(order)
        first = VALUES[o][:drawn]
        of = Drawn(LOW[o], HIGH[o], None if forecast is None else forecast[o], since)
        money = np.exp(capital(of, first, VALUES.sum())[-1])
        mean += chance(order) * money
        estimated += chance(order) * estimate(of, first)
    assert_allclose([mean, estimated], [1.0, VALUES.sum()], atol=1e-9)


def test_orders_are_drawn_with_these_chances() -> None:
    draws = 4000
    drawn = [tuple(draw_order(list(HIGH - LOW), f"{seed}")) for seed in range(draws)]
    for order in permutations(range(4)):
        share, expected = drawn.count(order) / draws, chance(order)
        assert abs(share - expected) < 4 * (expected / draws) ** 0.5
    assert draw_order([0.0, 1.0], "0") == [1]


@pytest.mark.parametrize("worlds", [6, pytest.param(300, marks=pytest.mark.sweep)])
def test_bounds_hold_at_every_look_and_shrink_until_the_sum_is_known(worlds: int) -> None:
    draw, missed, n = np.random.default_rng(0), 0, 15
    for seed in range(worlds):
        low, high = -draw.random(n), draw.random(n)
        values = np.where(draw.random(n) < 0.7, low / 9, high)
        o = draw_order(list(high - low), f"{seed}")
        low, high, values = low[o], high[o], values[o]
        looks = [
            sum_bounds(Drawn(low, high), v, v) for drawn in range(n + 1) for v in [values[:drawn]]
        ]
        lows, highs = np.array(looks).T
        if (lows > values.sum() + 1e-6).any() or (highs < values.sum() - 1e-6).any():
            missed += 1
        else:
            assert (np.diff(lows) > -1e-6).all()
            assert (np.diff(highs) < 1e-6).all()
        assert_allclose(looks[0], (low.sum(), high.sum()))
        assert_allclose(looks[-1], values.sum(), atol=1e-6)
    assert missed / worlds <= 0.05
    assert missed or worlds < 300


def test_bounds_are_where_a_grid_of_sums_is_first_left_out() -> None:
    draw = np.random.default_rng(1)
    low, high = np.full(30, -1.0), np.full(30, 1.0)
    values = draw.normal(0.3, 0.1, 12)
    grid = np.linspace(-30, 30, 3001)
    held = [m for m in grid if capital(Drawn(low, high), values, m).max() < np.log(40)]
    low_end, high_end = sum_bounds(Drawn(low, high), values, values)
    certain = values.sum() - 18
    assert abs(low_end - min(m for m in held if m >= certain)) < 0.02
    turned = [-m for m in grid if capital(Drawn(-high, -low), -values, m).max() < np.log(40)]
    assert abs(high_end - max(m for m in turned if m <= values.sum() + 18)) < 0.02


def test_a_value_that_stays_open_widens_the_bounds_and_moves_neither_inwards() -> None:
    o = [2, 3, 0, 1]
    low, high, values = LOW[o], HIGH[o], VALUES[o][:2]
    settled = sum_bounds(Drawn(low, high), values, values)
    opened = sum_bounds(Drawn(low, high), values - [0.0, 0.3], values)
    assert opened[0] <= settled[0]
    assert opened[1] == settled[1]


def test_draws_that_nobody_judged_yet_loosen_no_bound() -> None:
    low, high, values = np.full(30, -1.0), np.full(30, 1.0), np.full(20, 0.9)
    settled = sum_bounds(Drawn(low, high), values, values)
    least, most = (np.append(values, ends[20:]) for ends in (low, high))
    assert_allclose(sum_bounds(Drawn(low, high), least, most), settled, atol=1e-6)


def test_good_forecasts_narrow_the_bounds_and_bad_ones_cost_little() -> None:
    draw, widths = np.random.default_rng(3), []
    low, high = np.full(300, -0.6), np.full(300, 0.6)
    for _ in range(20):
        values = draw.normal(0.02, 0.15, 300)
        near, far = values + draw.normal(0, 0.03, 300), draw.normal(0, 0.15, 300)
        some = values[:150]
        bounds = [
            sum_bounds(Drawn(low, high, forecast), some, some) for forecast in (None, near, far)
        ]
        widths.append([above - below for below, above in bounds])
    none, good, bad = np.mean(widths, axis=0)
    assert good < 0.85 * none
    assert bad < 1.1 * none


def test_draws_until_is_the_first_look_at_which_the_bounds_tell() -> None:
    draw, total, near = np.random.default_rng(4), 1.0, 2.0
    for case in range(12):
        low, high = -draw.random(40), draw.random(40)
        values = np.clip(draw.normal([0.3, 0.0, -0.2][case % 3], 0.1, 40), low, high)
        of = Drawn(low, high, values * draw.random(40), case)
        looks = [
            sum_bounds(of, values[:n], values[:n])
            for n in range(
                draws_until(of, values, np.array([total - near, total, total + near])) + 1
            )
        ]
        told = [a > total or b < total or (a > total - near and b < total + near) for a, b in looks]
        assert told.index(True) == len(looks) - 1
