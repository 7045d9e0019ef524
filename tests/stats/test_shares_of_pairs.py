"""Intervals of shares of pairs that come in clusters, as those of one query."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labeler.stats.means import clustered_interval, difference_interval


def test_pairs_that_are_all_alike_count_as_many_as_their_queries() -> None:
    low, high = clustered_interval(np.zeros(20), list("aabbccddddbbccaaaabb"))
    assert (low, high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 4)))  # none of 4 queries
    assert all(math.isnan(end) for end in clustered_interval(np.zeros(0), []))


def test_pairs_of_a_query_that_go_together_count_as_one() -> None:
    values = np.repeat([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 10)
    together = clustered_interval(values, [number // 10 for number in range(80)])
    apart = clustered_interval(values, [number % 40 for number in range(80)])
    assert together[1] - together[0] > 2 * (apart[1] - apart[0])
    # 1.75 of eight queries, less one for their spread: between the ends for 1 and for 2 of 7
    assert 0.0036 < together[0] < 0.0367
    assert 0.5787 < together[1] < 0.7096


def test_intervals_of_a_family_of_shares_hold_together() -> None:
    draws, wrong = np.random.default_rng(3), 0
    for _ in range(300):
        attacks = (draws.random((15, 20)) < 0.05).astype(float)
        worst = attacks[attacks.mean(axis=1).argmax()]
        low, high = clustered_interval(worst, range(20), 15)
        wrong += not low <= 0.05 <= high
    assert wrong <= 15


@pytest.mark.parametrize(("share", "alike"), [(0.1, 0.0), (0.3, 0.9), (0.5, 0.5)])
def test_an_interval_of_clustered_pairs_holds_the_share(share: float, alike: float) -> None:
    draws, held = np.random.default_rng(7), 0
    for _ in range(400):
        spread = 1 / alike - 1 if alike else 1e6
        chances = draws.beta(share * spread, (1 - share) * spread, 20)
        values = (draws.random((20, 5)) < chances[:, None]).astype(float).ravel()
        low, high = clustered_interval(values, np.repeat(np.arange(20), 5).tolist())
        held += low <= share <= high
    assert 0.92 <= held / 400 <= 0.99


def test_a_difference_of_shares_is_within_both_ends() -> None:
    low, high = difference_interval((0.5, 0.3, 0.7), (0.1, 0.0, 0.3))
    assert (low, high) == pytest.approx((0.4 - math.hypot(0.2, 0.2), 0.4 + math.hypot(0.2, 0.1)))
    assert difference_interval((1.0, 0.9, 1.0), (0.0, 0.0, 0.1))[1] == 1.0
