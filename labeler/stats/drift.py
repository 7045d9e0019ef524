"""Whether grades given again differ from the old by more than chance, and failures are more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import exp, isnan, lgamma, nan, sqrt
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.intervals import BLOCK
from labeler.stats.student import SIGNIFICANT, t_quantile

# Whether grades given now are as those given before.
#
# Replies of one session, as within the same minutes, may be alike for that reason alone: at
# temperature 0, by a cache, or by one replica. So each session gives one grade of a pair.
# Where nothing has changed, the grades of any two sessions might as well have been the old and the
# new one. So these are chosen at random, pair by pair, as often as need be, and what is seen is
# held against that: tests that are exact whatever the assessor's noise is within and between
# sessions. Moves that cancel out need a third session: two alone do not tell them from noise.

DRAWS = 10_000
FEWEST = 1000
"""If pairs are very many, fewer ways are drawn, but at least this many."""
LEAST_CHANGE = 0.05
"""Of fewer grades a pair, in the mean, nothing is called a change, however sure it is."""


class SessionChange(NamedTuple):
    """By how many grades new grades differ from old ones, and how likely that is by chance.

    `shift` is the mean of the new grades less that of the old. `apart` is how much farther new
    grades lie from old ones than those of any two sessions; it and its p are `nan` where no pair
    has a third session. Of no `pairs` nothing is told.
    """

    pairs: int
    shift: float
    apart: float
    p_shift: float
    p_apart: float

    @property
    def tests(self) -> int:
        """How many tests were made."""
        return 1 if isnan(self.p_apart) else 2

    @property
    def p(self) -> float:
        """The chance of the smaller of the two p, at most (Bonferroni)."""
        return min(1.0, self.tests * float(np.nanmin((self.p_shift, self.p_apart))))

    def is_shown(self, level: float = SIGNIFICANT) -> bool:
        """Whether a change of `LEAST_CHANGE` or more is told from chance."""
        sizes = ((abs(self.shift), self.p_shift), (self.apart, self.p_apart))
        return any(self.tests * p < level and size >= LEAST_CHANGE for size, p in sizes)


def changed(sessions: Floats, seed: int = 0, draws: int = DRAWS) -> SessionChange:
    """How far new grades differ from old ones, of `(pairs, sessions)`.

    The first session is the old one and the last the new one. Between them may stand others by the
    old assessor, `nan` where they did not ask about a pair.

    >>> changed(np.array([[0.0, 1.0]] * 8)).shift
    1.0
    """
    pairs, times = sessions.shape
    ways = np.array([*permutations(range(times), 2)])
    # grades that are all alike add nothing to either statistic, whichever came first
    rows = sessions[np.ptp(np.where(np.isnan(sessions), sessions[:, :1], sessions), axis=1) > 0]
    shifts = rows[:, ways[:, 1]] - rows[:, ways[:, 0]]  # (pairs, ways)
    distances = np.abs(shifts)
    farther = distances - np.nansum(distances, axis=1, keepdims=True) / np.maximum(
        (~np.isnan(shifts)).sum(axis=1, keepdims=True), 1
    )
    observed = shifts[:, times - 2].sum(), farther[:, times - 2].sum()  # from the first to the last
    drawn = np.concatenate([*_drawn(shifts, farther, seed, draws)])
    has_third = bool(((~np.isnan(sessions)).sum(axis=1) > 2).any())
    return SessionChange(
        pairs,
        float(observed[0]) / max(pairs, 1),
        float(observed[1]) / pairs if has_third else nan,
        _share(np.abs(drawn[:, 0]), abs(float(observed[0]))),
        _share(drawn[:, 1], float(observed[1])) if has_third else nan,
    )


def _drawn(shifts: Floats, farther: Floats, seed: int, draws: int) -> Iterator[Floats]:
    """Blocks of both sums, `(draws, 2)`, where each pair's old and new session are chosen anew."""
    size, rng = max(len(shifts), 1), np.random.default_rng(seed)
    draws = max(min(draws, FEWEST), min(draws, BLOCK // size))
    # ways between sessions that asked about a pair stand first in its row
    order, rows = np.argsort(np.isnan(shifts), axis=1, kind="stable"), np.arange(len(shifts))
    possible = (~np.isnan(shifts)).sum(axis=1)
    at_once = max(1, BLOCK // size)
    for start in range(0, draws, at_once):
        chances = rng.random((min(at_once, draws - start), len(shifts)))
        way = order[rows, (chances * possible).astype(np.int64)]
        yield np.stack([of[rows, way].sum(axis=1) for of in (shifts, farther)], axis=1)


def _share(drawn: Floats, observed: float) -> float:
    """The share of draws that reach what is observed, which counts as one of them."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))


# Changes of one control after the other, each from the same old session.

FEWEST_CALM = 8
"""From so many controls without an alarm on, it is known how much controls differ."""


def alarming(changes: Sequence[SessionChange], level: float) -> list[bool]:
    """Which changes are alarms: shown at `level`, and beyond what calm ones before them differ by.

    The noise of pairs is not all: an assessor may lean one way in one session and another way in
    the next. Of that fewer than `FEWEST_CALM` calm controls tell nothing.
    """
    calm, alarms = list[SessionChange](), list[bool]()
    for change in changes:
        is_far = len(calm) < FEWEST_CALM or _is_beyond(change, calm, level)
        alarms.append(change.is_shown(level) and is_far)
        if not alarms[-1]:
            calm.append(change)
    return alarms


def _is_beyond(change: SessionChange, calm: Sequence[SessionChange], level: float) -> bool:
    """Whether either figure lies beyond the limits of calm controls.

    The old session leans as well, so a shift is a difference of two sessions; what is farther
    apart is held against the mean of the calm ones, and has no limit where fewer than two tell it.
    """
    apart = np.array([each.apart for each in calm if not isnan(each.apart)])
    has_limit = len(apart) > 1
    limit = t_quantile(1 - level / 4, len(apart if has_limit else calm) - 1)
    around = limit * sqrt(2) * float(np.std([each.shift for each in calm], ddof=1))
    if not has_limit:
        return abs(change.shift) > around or change.apart > 0
    above = limit * sqrt(1 + 1 / len(apart)) * float(apart.std(ddof=1))
    return abs(change.shift) > around or change.apart > float(apart.mean()) + above


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
