"""The chart of grades given again: no alarm where nothing changed, one soon after a change."""

import numpy as np

from labeler.stats.drift import LEVEL, REACH, ChartPoint, GivenAgain, chart


def asked(usual: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    step = rng.choice([-1, 1], size=usual.shape)
    return np.clip(np.where(rng.random(usual.shape) < noise, usual + step, usual), 0, 3).astype(
        float
    )


def charted(
    seed: int, after: int = 4, lower: float = 0.0, pairs: int = 50
) -> tuple[ChartPoint, ...]:
    """Four controls, then `after` at which a share of the pairs is graded lower by one."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, 4, pairs)
    now = np.where(rng.random(pairs) < lower, np.maximum(usual - 1, 0), usual)
    states = [usual] * 4 + [now] * after
    controls = [GivenAgain(np.arange(pairs), asked(state, 0.1, rng)) for state in states]
    return chart(asked(usual, 0.1, rng), controls)


def test_an_assessor_that_stays_as_it_is_raises_few_alarms() -> None:
    alarms = sum(point.is_out for seed in range(12) for point in charted(seed))
    assert alarms <= 3  # of 96 points, .004 of them by chance


def test_a_third_of_the_pairs_graded_lower_is_shown_within_four_controls() -> None:
    shown = [any(point.is_out for point in charted(seed, lower=0.4)[4:]) for seed in range(6)]
    assert sum(shown) >= 5
    before = [any(point.is_out for point in charted(seed, lower=0.4)[:4]) for seed in range(6)]
    assert sum(before) <= 1


def test_grades_that_are_all_alike_have_a_kappa_of_1_and_raise_nothing() -> None:
    twos = np.full(5, 2.0)
    points = chart(twos, [GivenAgain(np.arange(5), twos)] * 3, draws=99)
    assert [point.kappa for point in points] == [1.0, 1.0, 1.0]
    assert not any(point.is_out for point in points)


def test_few_pairs_show_nothing_however_far_they_moved() -> None:
    old, new = np.zeros(3), np.full(3, 3.0)
    (point,) = chart(old, [GivenAgain(np.arange(3), new)], draws=999)
    assert point.shift == 3.0
    assert point.moved.p > LEVEL


def test_an_average_is_out_where_its_p_is_at_most_the_level() -> None:
    points = [*charted(1, lower=0.4), *charted(2)]
    for average in (average for point in points for average in (point.agreement, point.moved)):
        assert average.is_out == (average.p <= LEVEL)
        assert average.low < average.center < average.high


def test_controls_may_hold_other_pairs_each() -> None:
    rng = np.random.default_rng(0)
    old = rng.integers(0, 4, 60).astype(float)
    controls = [
        GivenAgain(drawn := np.sort(rng.choice(60, 20, replace=False)), old[drawn])
        for _ in range(REACH + 3)
    ]
    points = chart(old, controls, points=3, draws=99)
    assert len(points) == 3
    assert all(abs(p.kappa - 1.0) < 1e-9 and abs(p.shift) < 1e-9 for p in points)
