"""Numbers from outside: whatever a server, a store or a file holds, a usable number or none."""

import json
import math
from collections.abc import Callable

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.files.boundary import (
    LARGEST_AMOUNT,
    LARGEST_COUNT,
    amount,
    count,
    finite,
    log_probability,
)

READERS: dict[str, tuple[Callable[[object], float | None], float, float]] = {
    "count": (count, 0, LARGEST_COUNT),
    "amount": (amount, 0, LARGEST_AMOUNT),
    "log probability": (log_probability, -9999, 0),
    "share": (lambda value: finite(value, 0, 1), 0, 1),
}

ODD = [math.nan, math.inf, -math.inf, float("1e308"), 5e-324, -0.0, 10**400, -(10**400), 2**63]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("name", READERS)
@steadily(150)
@given(value=ANYTHING)
def test_whatever_comes_in_is_a_number_within_bounds_or_none(name: str, value: object) -> None:
    read, least, most = READERS[name]
    number = read(value)
    assert number is None or least <= number <= most
    if number is not None:
        assert not isinstance(number, bool)
        assert json.loads(json.dumps(number, allow_nan=False)) == number
        assert math.copysign(1, number) > 0 or number < 0
        assert number + 10**6 * LARGEST_COUNT < 2**63


@every_row(
    ("value", "number"),
    [
        (100, 100),
        (100.0, 100),
        ("100", 100),
        (0, 0),
        (-0.0, 0),
        (100.5, None),
        ("100.0", None),
        ("1_0", None),
        ("٣", None),
        (" 1", None),
        (-1, None),
        (True, None),
        (10**400, None),
        ([1], None),
    ],
)
def test_a_count_is_read_as_servers_write_it(value: object, number: int | None) -> None:
    assert count(value) == number


def test_a_log_probability_that_was_rounded_up_is_0_and_one_of_nothing_is_very_low() -> None:
    assert log_probability(1e-7) == 0
    assert log_probability(-math.inf) == -9999
    for value in (1000.0, 0.5, math.inf, math.nan, 10**400, "-1"):
        assert log_probability(value) is None
