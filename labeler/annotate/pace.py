"""How long the rest will take, by the rater's own pace."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

FEWEST_TIMES = 5
LONGEST_BY_MEDIAN = 5
"""A time of more medians than this was a break, and counts as so many."""


def seconds_left(times: Sequence[float], items: int) -> int | None:
    """The seconds that so many items will take at the pace of the last ones; None while unknown.

    >>> seconds_left([10, 20, 30, 20, 20, 4000], 3)
    100
    """
    if not items:
        return 0
    if len(times) < FEWEST_TIMES:
        return None
    longest = LONGEST_BY_MEDIAN * median(times)
    return round(items * fmean(min(time, longest) for time in times))
