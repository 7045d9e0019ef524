"""The share of queries that people call good, of any draw of queries and raters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labeler.stats.means import query_share, share_interval


def test_of_one_rater_it_is_wilsons_interval_of_the_queries() -> None:
    values = np.array([1.0, 1.0, 0.0, 1.0])
    share = query_share(values, np.ones(4))
    assert (share.value, share.low, share.high) == (0.75, *share_interval(values))
    assert math.isnan(query_share(np.zeros(0), np.zeros(0)).value)


def test_raters_who_always_agree_add_no_query() -> None:
    values = np.tile([1.0, 1.0, 1.0, 0.0], 10)
    alone, together = (query_share(values, np.full(40, raters)) for raters in (1.0, 5.0))
    assert together.high - together.low > 0.95 * (alone.high - alone.low)
    unsure = query_share(np.full(40, 0.75), np.full(40, 5.0))
    assert unsure.high - unsure.low < 0.6 * (alone.high - alone.low)


def test_raters_who_all_call_all_queries_good_say_as_much_as_one() -> None:
    ends = [query_share(np.full(10, 3 / 3), np.full(10, raters))[1:3] for raters in (1.0, 3.0)]
    assert ends[0] == pytest.approx(ends[1])


@pytest.mark.parametrize("raters", [1, 3])
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_the_interval_holds_the_share(share: float, raters: int) -> None:
    rng, held = np.random.default_rng(5), 0
    for _ in range(300):
        chances = rng.beta(share, 1 - share, 30)
        values = rng.binomial(raters, chances) / raters
        ends = query_share(values, np.full(30, float(raters)))
        held += ends.low <= share <= ends.high
    assert held / 300 >= 0.92
