"""Plans for the test that is made of several runs, and the uncertainty of what they stand on."""

import math

import numpy as np
import pytest
from every_row import every_row
from scipy import stats

from labeler.stats.families import Systems, p_of_all_pairs
from labeler.stats.power import (
    KNOWN,
    detectable,
    queries_needed,
    range_quantile,
    variance_factors,
)
from labeler.stats.student import f_quantile


@pytest.mark.parametrize(("systems", "freedom"), [(2, 9), (3, 4), (5, 84), (11, 420)])
def test_the_studentized_range_is_scipys(systems: int, freedom: int) -> None:
    wanted = stats.studentized_range.ppf(0.95, systems, freedom)
    assert range_quantile(0.95, systems, freedom) == pytest.approx(wanted, rel=1e-4)


@every_row("freedom", [9, 42, 400])
@every_row("probability", [0.025, 0.2, 0.8, 0.975])
def test_chi_square_is_scipys(probability: float, freedom: int) -> None:
    wanted = stats.chi2.ppf(probability, freedom)
    assert freedom * f_quantile(probability, freedom, KNOWN) == pytest.approx(wanted, rel=1e-5)


def test_more_runs_need_more_queries() -> None:
    needed = [queries_needed(0.05, 0.15, runs=runs) or 0 for runs in (2, 3, 5, 11)]
    assert needed[0] > 0
    assert needed == sorted(set(needed))


def test_a_difference_may_need_more_queries_than_anybody_has() -> None:
    assert queries_needed(1e-6, 0.15) is None


@pytest.mark.sweep
def test_the_planned_power_is_that_of_the_test_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    runs, deviation = 5, 0.15
    least = detectable(30, deviation, runs=runs)
    found = 0
    for seed in range(150):
        values = rng.normal(0, deviation / math.sqrt(2), (runs, 30))
        values[0] += least
        found += p_of_all_pairs(Systems(values), seed)[0, 1] < 0.05
    assert found / 150 == pytest.approx(0.8, abs=0.1)  # 3 standard errors


@pytest.mark.parametrize("queries", [10, 40])
def test_the_range_of_a_deviation_holds_the_truth(queries: int) -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(400):
        values = rng.standard_t(6, (4, queries))
        variance = float(np.mean([np.var(values[i] - values[j], ddof=1) for i, j in PAIRS]))
        low, high = variance_factors(values, 0.95)
        held += variance * low <= 2 * 6 / 4 <= variance * high
    assert held >= 370


PAIRS = [(i, j) for i in range(4) for j in range(i)]
