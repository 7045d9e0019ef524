"""Whether grades given in one session are as those of other sessions, or of another assessor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.messages import count_of
from labeler.stats.student import SIGNIFICANT, t_quantile

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
NEW = "new grades"
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

    def __str__(self) -> str:
        return f"{self.figure} {self.size:+.2f}, limit {self.limit:.2f}"


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

    def beside(self, unit: str) -> str:
        """What lies farther from other sessions than these vary, or how far nothing lies."""
        if self.missing:
            more = count_of(self.missing, f"more {unit}")
            return f"how much {unit}s vary by themselves is not known; next: {more}"
        shown = self.alarms or self.departures[:1]
        return f"beside {count_of(self.others, unit)} before: {'; '.join(map(str, shown))}"


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


def _departures(own: Floats, others: Floats, name: str = NEW) -> Sequence[Departure]:
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
    pairs, more = len(own), own - np.nanmean(others, axis=1)
    beside = _beside(figure, float(more.mean()), np.nanmean(others, axis=0))
    by_pair = max(float(more.std(ddof=1)) / sqrt(pairs), 1 / pairs)
    return beside._replace(limit=max(beside.limit, t_quantile(1 - _PAIR_TAIL, pairs - 1) * by_pair))


def _beside(figure: str, size: float, others: Floats) -> Departure:
    """How much larger a session's value is, with the limit by those of others, `(sessions,)`."""
    apart = float(others.std(ddof=1)) * sqrt(1 + 1 / len(others))
    return Departure(
        figure, size, max(LEAST_CHANGE, t_quantile(1 - _TAIL, len(others) - 1) * apart)
    )


# Weeks of searches, which vary by themselves as sessions do: is the last as those before it?


def shift(shares: Floats) -> Drift:
    """Whether the last of some weeks is as those before it, of the shares of `(weeks, queries)`.

    What counts is the share of searches that would have to be others for a week to be as the mean
    of those beside it. A week that was not as those before it is no measure of later ones, nor is
    the one after it.
    """
    calm, drift = shares[:1], Drift(0)
    for week in shares[1:]:
        was_alarm, others = bool(drift.alarms), len(calm)
        drift = Drift(others)
        if others >= FEWEST_SESSIONS:
            away, *apart = np.abs(np.vstack([week, calm]) - calm.mean(axis=0)).sum(axis=1) / 2
            # each of the others beside the mean of the rest
            rest = np.array(apart) * others / (others - 1)
            drift = Drift(
                others, [_beside("share of searches that moved", away - rest.mean(), rest)]
            )
        if not (was_alarm or drift.alarms):
            calm = np.vstack([calm, week])
    return drift


# Whether another prompt, or another model, grades as the old one does.
#
# Two sets are of two sessions, and differ as sessions do. So both are asked in one session: how it
# leans, and what its replies have in common, is then the same for both. Where nothing has changed,
# the two grades of a pair might as well have been given the other way round.

_FLIPS = 10_000


def change(new: Floats, others: Floats, beside: Floats, seed: int = 0) -> Drift:
    """Whether new grades `(pairs,)` are not those of an old assessor, `(pairs, sessions)`.

    `beside` are the old one's grades in the session of the new ones; `nan` stands for no grade.
    Where nothing has changed, 5 in 100 are called a change at most.
    """
    others = others[:, ~np.isnan(others).all(axis=0)]
    usable = ~np.isnan(new + beside)
    new, beside, others = new[usable], beside[usable], others[usable]
    if len(new) < 2:
        return Drift(others.shape[1])
    has_others = ~np.isnan(others).all(axis=1)
    centers = np.nanmean(others[has_others], axis=1)
    farther = np.zeros(len(new))
    farther[has_others] = np.abs(new[has_others] - centers) - np.abs(beside[has_others] - centers)
    mean = _exchanged(f"mean of the {NEW}", new - beside, SIGNIFICANT / 4, seed)
    apart = _exchanged(f"distance of the {NEW}", farther, SIGNIFICANT / 2, seed)
    return Drift(others.shape[1], (mean, apart._replace(size=max(apart.size, 0.0))))


def _exchanged(figure: str, more: Floats, tail: float, seed: int) -> Departure:
    """A mean of differences, with the limit where each might have had the other sign as well."""
    sizes, counts = np.unique(np.round(np.abs(more), 9), return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = (2 * rng.binomial(counts, 0.5, (_FLIPS, len(counts))) - counts) @ sizes / len(more)
    limit = float(np.quantile(drawn, 1 - tail, method="higher"))
    return Departure(figure, float(more.mean()), limit + 1e-9)
