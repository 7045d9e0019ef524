"""How long calls take, before any is made."""

import pytest

from labeler.models.call_plan import CallTimes, TrialCall, duration_of, time_of
from labeler.models.policies.learn import Abilities
from labeler.models.policies.limits import RateLimits

QUICK = CallTimes(server=1.0, process=0.001)


@pytest.mark.parametrize(
    ("limits", "bound", "seconds"),
    [
        (RateLimits(at_once=1000, requests=6000), "rpm", 10_001),
        (RateLimits(at_once=1000, requests=6000, tokens=600_000), "tpm", 50_001),
        (RateLimits(at_once=4), "concurrency", 250_001),
        (RateLimits(at_once=10_000), "machine", 1_001),
    ],
)
def test_the_slowest_of_all_limits_says_how_long_calls_take(
    limits: RateLimits, bound: str, seconds: float
) -> None:
    duration = duration_of(1_000_000, 500_000_000, limits, QUICK)
    assert (duration.bound, duration.seconds) == (bound, pytest.approx(seconds))


def test_no_calls_take_no_time_and_one_call_takes_its_own() -> None:
    assert duration_of(0, 0, RateLimits(16), QUICK).seconds == 0
    assert duration_of(1, 500, RateLimits(16), QUICK).seconds == pytest.approx(2, abs=1)


def test_calls_at_once_have_to_grow_first() -> None:
    few, many = (duration_of(100_000, 0, RateLimits(n), QUICK).seconds for n in (4, 64))
    assert few == pytest.approx(25_001)
    assert many == pytest.approx(100_000 / 64 + 5)


def test_a_call_for_trial_tells_how_long_many_take() -> None:
    assert time_of(TrialCall(0.8, Abilities()), 16_000).seconds == pytest.approx(802, abs=1)
