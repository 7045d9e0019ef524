"""Whether values change over time."""

from __future__ import annotations

import numpy as np
import pytest

from labeler.stats.drift import drift


def test_the_change_is_that_of_a_straight_line_from_the_first_to_the_last() -> None:
    values = np.linspace(1.0, 3.0, 40)
    line = drift(values, range(40))
    assert line.change == pytest.approx(2.0)
    assert line.p == pytest.approx(1 / 10_001)


def test_few_stretches_or_equal_values_say_nothing() -> None:
    assert drift(np.arange(8.0), list("aabbccdd")).p is None
    assert drift(np.ones(30), range(30)).p is None
    assert drift(np.ones(1), ["a"]).change == 0.0


def test_two_halves_of_two_queries_are_no_drift() -> None:
    values = np.repeat([0.0, 1.0, 0.0, 1.0, 1.0, 1.0], 20)
    alike = drift(values, np.repeat(list("abcdef"), 20).tolist())
    apart = drift(values, range(120))
    assert alike.p is not None
    assert apart.p is not None
    assert apart.p < 0.001
    assert alike.p > 0.1


def test_what_does_not_drift_is_called_so_as_often_as_the_level_says() -> None:
    rng, alarms = np.random.default_rng(3), 0
    for repeat in range(100):
        values = np.repeat(rng.normal(size=20), 4) + rng.normal(size=80)
        p = drift(values, np.repeat(np.arange(20), 4).tolist(), repeat).p
        alarms += p is not None and p < 0.05
    assert alarms <= 12
