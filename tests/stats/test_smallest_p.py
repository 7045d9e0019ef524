"""The least p that a comparison could have had, given how many queries differ."""

import numpy as np
import pytest

from labeler.stats.significance import holm, randomization_test, smallest_p


@pytest.mark.parametrize(("differing", "queries"), [(1, 12), (3, 12), (5, 10), (10, 10)])
def test_no_differences_of_so_many_queries_have_a_smaller_p(differing: int, queries: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.zeros((40, queries))
    rows[:, :differing] = rng.uniform(-1, 1, (40, differing))
    rows[0, :differing] = 0.5
    p = randomization_test(rows, seed=0)
    assert p.min() == pytest.approx(smallest_p(differing))


def test_of_several_runs_the_least_is_after_holm() -> None:
    for differing, least in (([3, 3], [0.5, 0.5]), ([0, 0], [1.0, 1.0])):
        assert holm(np.array([smallest_p(count) for count in differing])).tolist() == least
