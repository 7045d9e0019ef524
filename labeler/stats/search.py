"""The smallest number for which something holds, as it does for all larger ones."""

from __future__ import annotations

from collections.abc import Callable


def fewest(holds: Callable[[int], bool], at_most: int) -> int | None:
    """The smallest whole number, 2 or more, for which it holds; None beyond `at_most`.

    >>> fewest(lambda n: n * n >= 50, 1000)
    8
    """
    low, high = 1, 2
    while not holds(high):
        low, high = high, high * 2
        if high > at_most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
