"""What is said of the least of several means, and of whether means differ at all."""

import numpy as np
import pytest

from labeler.metrics.scores import Weighting
from labeler.stats.means import bounded_interval, weighted_interval


def test_a_weighted_interval_is_students_where_weights_are_equal() -> None:
    values = np.random.default_rng(2).random(25)
    alike = Weighting(np.full(25, 3.0))
    low, high = weighted_interval(values, alike) or (0.0, 0.0)
    half = 2.0638985616 * values.std(ddof=1) / 5  # t of 24 degrees at .975, as R's qt gives it
    assert low == pytest.approx(values.mean() - half)
    assert high == pytest.approx(values.mean() + half)


@pytest.mark.parametrize("dominant", [0.5, 0.9, 0.99])
def test_a_weighted_interval_holds_where_one_query_has_most_of_the_weight(dominant: float) -> None:
    rng, others = np.random.default_rng(5), 9
    weighting = Weighting(np.array([dominant, *[(1 - dominant) / others] * others]))
    samples = rng.normal(0.5, 0.1, (400, 1 + others))
    ends = np.array([weighted_interval(values, weighting) or (0.5, 0.5) for values in samples])
    covered = (ends[:, 0] <= 0.5) & (ends[:, 1] >= 0.5)
    assert covered.mean() >= 0.95 - 3 * (0.95 * 0.05 / 400) ** 0.5


def test_a_query_of_nearly_all_the_weight_leaves_nearly_everything_open() -> None:
    values = np.array([0.9, 0.1, 0.2, 0.3, 0.2])
    one = Weighting(np.array([96.0, 1, 1, 1, 1]))
    low, high = bounded_interval(values, (0.0, 1.0), weighting=one) or (0.5, 0.5)
    assert (low, high) == (0.0, 1.0)


def test_scores_of_1_alone_are_not_certain_with_weights_either() -> None:
    values, weighting = np.ones(20), Weighting(np.arange(1.0, 21.0))
    low, high = bounded_interval(values, (0.0, 1.0), weighting=weighting) or (1.0, 1.0)
    assert low < 0.85
    assert high == 1.0
