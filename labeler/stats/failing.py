"""Whether replies fail more often now than they did: Fisher's exact test, one-sided."""

from __future__ import annotations

from math import exp, lgamma


def fails_more_p(now: tuple[int, int], before: tuple[int, int]) -> float:
    """The chance of so many failures among the replies of now, were both times alike.

    Either is how many of how many failed. 1 where one of them has none at all.

    >>> round(fails_more_p((5, 40), (0, 200)), 5)
    0.0001
    """
    (failed, replies), (failed_before, replies_before) = now, before
    if not replies or not replies_before:
        return 1.0
    failures, total = failed + failed_before, replies + replies_before
    return min(
        1.0,
        sum(
            exp(
                _log_choose(replies, k)
                + _log_choose(replies_before, failures - k)
                - _log_choose(total, failures)
            )
            for k in range(failed, min(failures, replies) + 1)
            if failures - k <= replies_before
        ),
    )


def _log_choose(total: int, part: int) -> float:
    return lgamma(total + 1) - lgamma(part + 1) - lgamma(total - part + 1)
