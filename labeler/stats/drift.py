"""Whether grades given again differ from the old by more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import isnan, nan, sqrt
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
    at_once = max(1, BLOCK // size)
    draws = min(draws, max(FEWEST, at_once))
    # ways between sessions that asked about a pair stand first in its row
    order, rows = np.argsort(np.isnan(shifts), axis=1, kind="stable"), np.arange(len(shifts))
    possible = (~np.isnan(shifts)).sum(axis=1)
    for start in range(0, draws, at_once):
        chances = rng.random((min(at_once, draws - start), len(shifts)))
        way = order[rows, (chances * possible).astype(np.int64)]
        yield np.stack([of[rows, way].sum(axis=1) for of in (shifts, farther)], axis=1)


def _share(drawn: Floats, observed: float) -> float:
    """The share of draws that reach what is observed, which counts as one of them."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))


# Sessions of one assessor in the order of time: is the last as those before it?
#
# What repeats is the session. An assessor may lean one way in one session and another way in the
# next, or have another noise, and sessions near each other may be alike. So a session is held
# against how far the others lie from each other, and never against the noise of pairs alone.

FEWEST_SESSIONS = 5
"""Beside fewer sessions nobody can tell how much sessions differ."""
LEAST_CHANGE = 0.05
"""Of fewer grades a pair nothing is an alarm, however sure it is."""
_TAIL = 0.00025
"""By this chance a session lies beyond a limit. Two are held against others, by a mean that rises
or falls and by a distance; so of 100 years of 26 controls 5 at most have a false alarm, also where
sessions are alike because they are near each other."""
_PAIR_TAIL = SIGNIFICANT / 10
"""Where sessions hardly differ, so many pairs must have moved that chance seldom does it."""


class Departure(NamedTuple):
    """By how many grades a pair a session lies from others, and the limit that alarms lie beyond.

    `figure` says of which session: by its mean, or by how much farther its grades lie from those of
    the others than these from each other, which is 0 at least.
    """

    figure: str
    size: float
    limit: float

    @property
    def is_alarm(self) -> bool:
        """Whether it lies beyond the limit."""
        return abs(self.size) > self.limit


class Drift(NamedTuple):
    """The last of some sessions beside `others`, and the first beside all since.

    Without departures these are too few for anything to be told, by `missing` sessions.
    """

    others: int
    departures: Sequence[Departure] = ()

    @property
    def alarms(self) -> list[Departure]:
        """By what the last session, or the first, is not as the others are."""
        return [each for each in self.departures if each.is_alarm]

    @property
    def missing(self) -> int:
        """How many more sessions are needed."""
        return 0 if self.departures else max(1, FEWEST_SESSIONS - self.others)


def drifts(sessions: Floats) -> Iterator[Drift]:
    """What each of some sessions says but the first, `(pairs, sessions)`, `nan` without a grade.

    The first holds the old grades, to which the others should still be alike. From the first alarm
    on, sessions no longer say how much they differ by chance: a drift stays an alarm.
    """
    calm, is_calm = [0], True
    for number in range(1, sessions.shape[1]):
        new, before = sessions[:, number], sessions[:, calm]
        beside = _departures(new, before)
        since = _departures(before[:, 0], np.column_stack([before[:, 1:], new]), "old grades since")
        yield Drift(len(calm), (*beside, *since))
        is_calm = is_calm and not any(each.is_alarm for each in beside)
        if is_calm and not np.isnan(new).all():
            calm.append(number)


def _departures(own: Floats, others: Floats, name: str = "new grades") -> Sequence[Departure]:
    """How far a session `(pairs,)` lies from others `(pairs, sessions)`; nothing beside too few.

    Each of the others is held against the rest of them, which says how far one lies by chance.
    """
    asked = (~np.isnan(others)).sum(axis=1)
    usable = ~np.isnan(own) & (asked > 1)
    own, others, counts = own[usable], others[usable], asked[usable, None]
    others = others[:, ~np.isnan(others).all(axis=0)]
    if len(own) < 2 or others.shape[1] < FEWEST_SESSIONS:
        return ()
    centers = np.nanmean(others, axis=1, keepdims=True)
    away, others_away = own - centers[:, 0], (others - centers) * counts / (counts - 1)
    apart = _departure(f"distance of the {name}", np.abs(away), np.abs(others_away))
    mean = _departure(f"mean of the {name}", away, others_away)
    return mean, apart._replace(size=max(apart.size, 0.0))


def _departure(figure: str, own: Floats, others: Floats) -> Departure:
    """How much larger a session's values are, with limits by Student's t: the largest counts.

    They allow for as many sessions, for as many pairs, of which one moved by a grade at least, and
    for what is too small to matter.
    """
    pairs, sessions = others.shape
    more = own - np.nanmean(others, axis=1)
    by_session = float(np.nanmean(others, axis=0).std(ddof=1)) * sqrt(1 + 1 / sessions)
    by_pair = max(float(more.std(ddof=1)) / sqrt(pairs), 1 / pairs)
    limits = (
        t_quantile(1 - _TAIL, sessions - 1) * by_session,
        t_quantile(1 - _PAIR_TAIL, pairs - 1) * by_pair,
    )
    return Departure(figure, float(more.mean()), max(LEAST_CHANGE, *limits))
