"""Whether two values go together over queries."""

from __future__ import annotations

import numpy as np
import pytest

from labeler.stats.correlation import concordance, tau_b, tau_over_queries


def test_it_is_tau_b_of_the_queries() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 3, 30).astype(float), rng.random(30)
    tau = tau_over_queries(x, y)
    assert tau.value == pytest.approx(float(tau_b(x, y)))
    assert tau.low is not None
    assert tau.high is not None
    assert tau.low < tau.value < tau.high


def test_one_value_throughout_goes_with_nothing() -> None:
    assert tau_over_queries(np.ones(30), np.arange(30.0)).value is None
    assert concordance(np.ones(30, dtype=bool), np.arange(30.0)).value is None


def test_few_queries_have_a_value_and_no_interval() -> None:
    x = np.array([1.0] * 28 + [0.0] * 2)
    assert tau_over_queries(x, np.arange(30.0))[1:] == (None, None)
    assert concordance(x > 0, np.arange(30.0))[1:] == (None, None)
    assert tau_over_queries(np.arange(19.0), np.arange(19.0))[1:] == (None, None)


def test_the_concordance_counts_pairs_and_halves_of_ties() -> None:
    y = np.array([3.0, 1.0, 2.0, 1.0])
    assert concordance(np.array([True, True, False, False]), y).value == pytest.approx(2.5 / 4)


def test_queries_that_are_parted_perfectly_leave_open_what_few_would() -> None:
    part = concordance(np.arange(20) > 9, np.arange(20.0))
    assert part.value == 1.0
    assert part.low is not None
    assert 0.5 < part.low < 0.75
