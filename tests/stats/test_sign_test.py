"""The exact sign test."""

from __future__ import annotations

from math import comb

import pytest

from labeler.stats.significance import sign_test, smallest_p


@pytest.mark.parametrize(("wins", "losses"), [(9, 1), (1, 9), (7, 3), (0, 6), (30, 50), (400, 300)])
def test_the_sign_test_is_the_sum_of_the_binomials_as_extreme(wins: int, losses: int) -> None:
    n = wins + losses
    exact = 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    assert sign_test(wins, losses) == pytest.approx(exact, rel=1e-9)


def test_as_many_wins_as_losses_show_nothing() -> None:
    assert sign_test(0, 0) == sign_test(1, 0) == sign_test(4, 4) == 1.0
    assert sign_test(5, 0) == pytest.approx(smallest_p(5))
