"""The least p that a comparison could have had, given how many queries differ."""

from itertools import product

import numpy as np
import pytest

from labeler.stats.families import each_pair, smallest_p


@pytest.mark.parametrize("differing", [1, 3, 6])
def test_it_is_what_all_assignments_of_signs_say_of_the_surest_differences(differing: int) -> None:
    row = np.full(differing, 0.5)
    sums = [abs(row @ np.array(signs)) for signs in product((-1, 1), repeat=differing)]
    assert np.mean(np.array(sums) >= row.sum()) == smallest_p(differing)


@pytest.mark.parametrize(("differing", "could_tell"), [(5, False), (6, True)])
def test_so_few_differing_queries_are_never_told_apart(differing: int, could_tell: bool) -> None:
    row = np.zeros(12)
    row[:differing] = np.linspace(0.5, 0.6, differing)
    found = each_pair(row[None], 1.0)[0]
    assert found.p >= smallest_p(differing)
    assert (found.word == "unresolvable") == (not could_tell)
    assert found.low <= 0 or could_tell
