"""Rank correlation: published values, an independent oracle, and what must hold of any ranking."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from labeler.stats.correlation import swapped_pairs, tau_ap, tau_b

# Scores and coefficients of the tests of Urbano's R package ircor (its test data, sets 1 to 3).
SETS = [
    (
        (0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992),
        (0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988),
        (0.8519, 0.7454),
    ),
    (
        (0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38),
        (0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644),
        (0.2504, 0.2692),
    ),
    (
        (0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445),
        (0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25),
        (-0.6971, -0.5558),
    ),
]
TIED = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30)
OFTEN = steadily()


def one_digit(scores: tuple[float, ...]) -> list[float]:
    """Ties as the package's authors made them: R rounds to one digit, 0.25 to even."""
    return [round(score, 1) for score in scores]


@pytest.mark.parametrize(("x", "y", "published"), SETS)
def test_ap_correlation_equals_the_published_implementation(
    x: tuple[float, ...], y: tuple[float, ...], published: tuple[float, ...]
) -> None:
    found = (
        tau_ap(x, y),
        tau_ap(x, one_digit(y)),
    )
    assert found == pytest.approx(published, abs=5e-5)


@pytest.mark.sweep
@OFTEN
@given(
    st.integers(2, 7).flatmap(
        lambda items: st.lists(
            st.lists(st.integers(0, 4), min_size=2 * items, max_size=2 * items), min_size=1
        )
    )
)
def test_many_rankings_at_once_are_as_alike_as_one_at_a_time(rows: list[list[int]]) -> None:
    items = len(rows[0]) // 2
    x, y = np.array(rows)[:, :items], np.array(rows)[:, items:]
    for statistic in (tau_b, tau_ap):
        singly = [statistic(a, b) for a, b in zip(x, y, strict=True)]
        np.testing.assert_allclose(statistic(x, y), singly, atol=1e-12)


@OFTEN
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=6).flatmap(
        lambda y: st.tuples(st.permutations(range(len(y))), st.just(y))
    )
)
def test_ap_correlation_with_ties_is_the_mean_over_all_ways_to_break_them(
    scores: tuple[list[int], list[int]],
) -> None:
    x, y = scores
    n = len(x)
    values = []
    for order in permutations(range(n)):
        if any(y[a] < y[b] for a, b in pairwise(order)):
            continue
        shares = (sum(x[j] > x[order[i]] for j in order[:i]) / i for i in range(1, n))
        values.append(2 * sum(shares) / (n - 1) - 1)
    assert tau_ap(x, y) == pytest.approx(sum(values) / len(values))


@OFTEN
@given(TIED)
def test_tau_b_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    assert tau_b(x, y) == pytest.approx(kendalltau(x, y).statistic, nan_ok=True)


@OFTEN
@given(TIED)
def test_coefficients_stay_in_their_range_and_a_ranking_equals_itself(
    pairs: list[tuple[int, int]],
) -> None:
    x, y = zip(*pairs, strict=True)
    for coefficient in (tau_b, tau_ap):
        value = coefficient(x, y)
        assert math.isnan(value) or -1 - 1e-9 <= value <= 1 + 1e-9
    assert swapped_pairs(x, x) == []
    assert tau_b(x, x) == pytest.approx(1 if len(set(x)) > 1 else math.nan, nan_ok=True)


def test_a_reversed_ranking_swaps_every_pair() -> None:
    x, y = [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]
    assert (tau_b(x, y), tau_ap(x, y)) == pytest.approx((-1, -1))
    assert swapped_pairs(x, y) == [(0, 1), (0, 2), (1, 2)]


def test_a_swap_at_the_top_costs_more_than_one_at_the_bottom() -> None:
    truth = [5.0, 4.0, 3.0, 2.0, 1.0]
    top, bottom = [4.0, 5.0, 3.0, 2.0, 1.0], [5.0, 4.0, 3.0, 1.0, 2.0]
    assert tau_b(truth, top) == tau_b(truth, bottom)
    assert tau_ap(truth, top) < tau_ap(truth, bottom)
