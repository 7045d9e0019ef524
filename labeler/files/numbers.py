"""Numbers that come from outside: from a server, a store, a file, or a model of somebody's own.

Each function takes any value at all, and gives a number that can be added up, stored and written as
JSON, or None: for NaN, infinities, numbers of hundreds of digits, true and false, texts, lists.
"""

from __future__ import annotations

import math
import re

LARGEST_COUNT = 10**12 - 1
"""Tokens or calls: more than any one call takes, and few enough that sums fit into 64 bits."""

LARGEST_AMOUNT = 1e12
"""Dollars or seconds."""

LEAST_LOG_PROBABILITY = -9999.0
"""What some servers give in place of minus infinity."""

ROUNDING = 0.01
"""How far above 0 a log probability may lie that was computed with few bits."""

_DIGITS = re.compile(r"[0-9]{1,12}")


def finite(value: object, least: float, most: float) -> float | None:
    """A number from `least` to `most`; never -0.0, which not every file gives back."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) + 0.0 if least <= value <= most else None  # NaN compares as false


def count(value: object) -> int | None:
    """A whole number from 0, as servers write it: `100`, `100.0` or `"100"`."""
    if isinstance(value, str):
        return int(value) if _DIGITS.fullmatch(value) else None
    number = finite(value, 0, LARGEST_COUNT)
    return int(number) if number is not None and number.is_integer() else None


def amount(value: object) -> float | None:
    """A number of dollars or seconds, from 0."""
    return finite(value, 0, LARGEST_AMOUNT)


def log_probability(value: object) -> float | None:
    """A log probability, at most 0; minus infinity, that of what cannot be, is a very low one."""
    if isinstance(value, float) and value == -math.inf:
        return LEAST_LOG_PROBABILITY
    number = finite(value, -LARGEST_AMOUNT, ROUNDING)
    return None if number is None else min(0.0, max(LEAST_LOG_PROBABILITY, number))
