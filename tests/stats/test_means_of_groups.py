"""What is said of the least of several means, and of whether means differ at all."""

import numpy as np
import pytest

from labeler.metrics.scores import Weighting
from labeler.stats.groups import GroupMean, interaction_p, least_mean, may_be_least
from labeler.stats.means import weighted_bounded, weighted_interval, weighted_mean


def test_the_least_mean_is_at_least_as_uncertain_as_each_groups_lower_end() -> None:
    means = [GroupMean(0.4, 0.3, 0.5, 20), GroupMean(0.5, 0.2, 0.8, 5)]
    low, high = least_mean(means)
    assert low == 0.2
    assert 0.5 < high < 0.55


def test_of_one_group_the_interval_stays_as_it_is() -> None:
    assert least_mean([GroupMean(0.4, 0.3, 0.5, 20)]) == pytest.approx((0.3, 0.5))


def test_a_group_far_above_another_may_not_be_the_least() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(mean, 0.1, 30) for mean in (0.2, 0.21, 0.8)]
    assert may_be_least(groups) == [0, 1]
    assert may_be_least([np.array([0.1]), np.full(30, 0.9)]) == [0, 1]


def test_means_that_differ_are_told_and_equal_ones_in_5_of_100_samples() -> None:
    rng = np.random.default_rng(1)
    apart = [rng.normal(mean, 0.1, 20) for mean in (0.0, 0.0, 0.3)]
    assert interaction_p(apart) < 0.001
    p = [interaction_p(list(rng.normal(0, 0.1, (3, 20))), seed) for seed in range(60)]
    assert sum(value < 0.05 for value in p) <= 8


def test_values_without_a_difference_have_no_interaction() -> None:
    assert interaction_p([np.zeros(10), np.zeros(12)]) == 1.0
    assert interaction_p([np.arange(10.0)]) == 1.0
    assert interaction_p([]) == 1.0


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
    low, high = weighted_bounded(values, one, (0.0, 1.0)) or (0.5, 0.5)
    assert (low, high) == (0.0, 1.0)
    assert weighted_mean(values, one.weights) == pytest.approx(0.872)


def test_scores_of_1_alone_are_not_certain_with_weights_either() -> None:
    values, weighting = np.ones(20), Weighting(np.arange(1.0, 21.0))
    low, high = weighted_bounded(values, weighting, (0.0, 1.0)) or (1.0, 1.0)
    assert low < 0.85
    assert high == 1.0
