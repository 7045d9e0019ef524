"""Bounds of a loss: how often they are wrong, and what few queries cannot show."""

import math

import numpy as np
import pytest
from every_row import every_row
from scipy import stats

from labeler.evaluation.equivalence import bounds
from labeler.metrics import parse
from labeler.stats.means import largest_share
from labeler.stats.power import lower_bound
from labeler.stats.student import binomial_below


@pytest.mark.parametrize(("count", "of"), [(0, 1), (0, 59), (3, 20), (19, 20), (20, 20)])
def test_the_largest_share_is_clopper_and_pearsons(count: int, of: int) -> None:
    wanted = stats.binomtest(count, of).proportion_ci(0.90, "exact").high
    assert largest_share(count, of) == pytest.approx(wanted, abs=1e-6)
    assert binomial_below(count, of, 0.3) == pytest.approx(stats.binom.cdf(count, of, 0.3))


@pytest.mark.sweep
@every_row("queries", [15, 25, 50])
@every_row(
    ("values", "shares"),
    [
        ([-1.0, 0.0], [0.1, 0.9]),  # one query in ten is lost, and none won
        ([-1.0, 0.0, 1.0], [0.2, 0.7, 0.1]),
        ([-0.9, 0.05, 0.1], [0.1, 0.5, 0.4]),  # rare and large losses behind many small gains
        ([-0.5, -0.1, 0.0, 0.1, 0.3], [0.15, 0.25, 0.2, 0.25, 0.15]),
    ],
)
def test_a_true_loss_lies_beyond_the_bound_in_few_samples(
    values: list[float], shares: list[float], queries: int
) -> None:
    rng = np.random.default_rng(0)
    truth = float(np.dot(values, shares))
    drawn = rng.choice(values, size=(600, queries), p=shares)
    wrong = np.mean([lower_bound(row, 1.0) > truth for row in drawn])
    assert wrong <= 0.075  # .05 and three standard errors


def test_a_gain_is_a_loss_the_other_way() -> None:
    differences = np.random.default_rng(1).normal(0.01, 0.1, 40)
    base = np.full(40, 0.5)
    assert bounds(base + differences, base, parse("P@1"))[1] == pytest.approx(
        -lower_bound(-differences, 0.5)
    )
    assert math.isnan(lower_bound(differences[:1], 1.0))


def test_ties_alone_exclude_what_many_queries_can() -> None:
    assert lower_bound(np.zeros(58), 1.0) < -0.05 < lower_bound(np.zeros(59), 1.0)
    assert lower_bound(np.zeros(5), 0.0) == 0
