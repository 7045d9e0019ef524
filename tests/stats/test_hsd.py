"""All pairs at once: the randomised HSD test against every way to deal, and what it holds."""

from itertools import permutations, product

import numpy as np
import pytest

from labeler.arrays import Floats
from labeler.stats.significance import randomised_hsd, randomization_test


def over_all_deals(values: Floats) -> Floats:
    """The p of each pair: the share of all ways to deal with a range as large."""
    means = values.mean(axis=1)
    ranges = [
        np.ptp(sum(column[list(deal)] for column, deal in zip(values.T, deals, strict=True)))
        for deals in product(permutations(range(len(values))), repeat=values.shape[1])
    ]
    observed = np.abs(means[:, None] - means) * values.shape[1]
    p = (np.array(ranges)[:, None, None] >= observed - 1e-9).mean(axis=0)
    np.fill_diagonal(p, 1.0)
    return np.asarray(p)


@pytest.mark.parametrize(("systems", "queries"), [(3, 5), (4, 3)])
def test_drawn_deals_say_what_all_deals_say(systems: int, queries: int) -> None:
    rng = np.random.default_rng(2)
    values = np.round(rng.random((systems, queries)), 1)
    values[0] += 0.4
    tests = randomised_hsd(values, seed=0)
    assert tests.p == pytest.approx(over_all_deals(values), abs=0.02)  # 4 standard errors


def test_of_two_systems_it_is_the_randomization_test() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((2, 30))
    values[0] += 0.12
    (alone,) = randomization_test(values[:1] - values[1:], seed=0)
    assert randomised_hsd(values, seed=0).p[0, 1] == pytest.approx(alone, abs=0.01)


def test_the_best_of_many_that_are_alike_is_rarely_told_from_any() -> None:
    rng = np.random.default_rng(5)
    told = sum((randomised_hsd(rng.random((12, 20)), s, 1000).p < 0.05).any() for s in range(60))
    assert told <= 8  # 3 expected, with a standard deviation of 1.7


def test_an_undefined_value_says_nothing() -> None:
    values = np.random.default_rng(6).random((3, 20))
    values[0] += 0.3
    undefined = np.full((3, 4), np.nan)
    undefined[1] = 0.7
    with_more = np.concatenate([values, undefined], axis=1)
    p, p_with_more = (randomised_hsd(v, 0).p for v in (values, with_more))
    assert p_with_more == pytest.approx(p, abs=0.02)
    assert (randomised_hsd(undefined, 0).p == 1).all()


@pytest.mark.parametrize(("systems", "queries"), [(2, 17), (3, 11), (7, 9), (90, 2)])
def test_each_deal_gives_every_query_out_once(systems: int, queries: int) -> None:
    """Values that are powers of two: any sum of one value of each query is told by its bits."""
    values = np.zeros((systems, queries))
    values[0] = 2.0 ** np.arange(queries)
    ranges = randomised_hsd(values, 0, 100).ranges * queries
    assert ranges == pytest.approx(np.round(ranges))
    assert ranges.max() <= 2.0**queries - 1
