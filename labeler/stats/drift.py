"""Whether grades given again differ from the old by more than chance, and failures are more."""

from __future__ import annotations

from itertools import combinations
from math import exp, lgamma
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.intervals import BLOCK

# Whether grades given now are as those given before: three grades or more of each pair.
#
# Where nothing has changed, any of a pair's grades might as well have been the old one. So the
# old ones are chosen at random, pair by pair, as often as need be, and what is seen is held against
# that: tests that are exact whatever the assessor's own noise is.

RETEST_DRAWS = 10_000
FEWEST = 1000
"""If pairs are very many, fewer ways are drawn, but at least this many."""


class RetestP(NamedTuple):
    """Chances, were nothing changed: of so large a shift, and of new grades so far from old ones.

    `either` allows for both tests.
    """

    shift: float
    apart: float

    @property
    def either(self) -> float:
        """The chance of the smaller of the two p, at most (Bonferroni)."""
        return min(1.0, 2 * min(self.shift, self.apart))


def retest(old: Floats, new: Floats, seed: int = 0, draws: int = RETEST_DRAWS) -> RetestP:
    """The p of `(pairs,)` old grades and `(pairs, 2)` new ones.

    `shift` looks at the means of new and old grades, both ways; `apart` at whether the new grades
    are farther from the old one than from each other, which also sees changes that cancel out.
    """
    return changed(old[:, None], new, seed, draws)


def changed(before: Floats, after: Floats, seed: int = 0, draws: int = RETEST_DRAWS) -> RetestP:
    """The p of `(pairs, a)` grades given before and `(pairs, b)` after; `a + b` is 3 at the least.

    Were nothing changed, any `a` of a pair's grades might as well have been those of before.
    """
    grades = np.column_stack([before, after])
    if not len(grades):
        return RetestP(1.0, 1.0)
    # grades that are all alike add nothing to either statistic, whichever came first
    grades = grades[np.ptp(grades, axis=1) > 0]
    draws = max(min(draws, FEWEST), min(draws, BLOCK // max(len(grades), 1)))
    first = list(combinations(range(grades.shape[1]), before.shape[1]))
    # (pairs, ways): what each would add to either statistic, were those the grades of before
    shifts, farther = (
        np.column_stack([statistic(grades, which) for which in first])
        for statistic in (_shift, _farther)
    )
    rng, rows = np.random.default_rng(seed), np.arange(len(grades))
    drawn_shifts, drawn_farther = [], []
    for start in range(0, draws, at_once := max(1, BLOCK // max(len(grades), 1))):
        drawn = rng.integers(len(first), size=(min(at_once, draws - start), len(grades)))
        drawn_shifts.append(shifts[rows, drawn].sum(axis=1))
        drawn_farther.append(farther[rows, drawn].sum(axis=1))
    return RetestP(
        _share(np.abs(np.concatenate(drawn_shifts)), abs(float(shifts[:, 0].sum()))),
        _share(np.concatenate(drawn_farther), float(farther[:, 0].sum())),
    )


def _shift(grades: Floats, first: tuple[int, ...]) -> Floats:
    """The mean of the other grades less that of the first."""
    before, after = grades[:, first], np.delete(grades, first, axis=1)
    shift: Floats = after.mean(axis=1) - before.mean(axis=1)
    return shift


def _farther(grades: Floats, first: tuple[int, ...]) -> Floats:
    """How much farther the others are from the first than grades of one side are from each other.

    A side of one grade tells nothing of the latter.
    """
    before, after = grades[:, first], np.delete(grades, first, axis=1)
    across = np.abs(before[:, :, None] - after[:, None, :]).mean(axis=(1, 2))
    inside = [_inside(side) for side in (before, after) if side.shape[1] > 1]
    farther: Floats = across - np.mean(inside, axis=0)
    return farther


def _inside(side: Floats) -> Floats:
    """The mean distance of two different grades of each row."""
    times = side.shape[1]
    distances = np.abs(side[:, :, None] - side[:, None, :]).sum(axis=(1, 2))
    inside: Floats = distances / (times * (times - 1))
    return inside


def _share(drawn: Floats, observed: float) -> float:
    """The share of draws that reach what is observed, which counts as one of them."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))


# Whether replies fail more often now than they did: Fisher's exact test, one-sided.


class FailedReplies(NamedTuple):
    """How many of how many replies gave no grade."""

    failed: int
    replies: int


def fails_more_p(now: FailedReplies, before: FailedReplies) -> float:
    """The chance of as many failures among the replies of now or more, were both times alike.

    1 where one of them has no reply at all.

    >>> round(fails_more_p(FailedReplies(5, 40), FailedReplies(0, 200)), 5)
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
