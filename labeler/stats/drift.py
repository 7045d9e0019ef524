"""Whether grades given again differ from the old by more than chance, and failures are more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from math import exp, lgamma
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.stats.intervals import BLOCK

# Whether grades given now are as those given before: three grades or more of each pair.
#
# Where nothing has changed, any of a pair's grades might as well have been the old one. So the
# old ones are chosen at random, pair by pair, as often as need be, and what is seen is held against
# that: tests that are exact whatever the assessor's own noise is.

RETEST_DRAWS = 10_000
FEWEST = 1000
"""Of very many pairs fewer ways are drawn, and so many at the least."""


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


# A control chart of grades given again: do new ones agree with the old as far as chance allows?
#
# Where nothing has changed, any of a pair's grades might as well have been the old one, whichever
# control gave it. So the limits come from shuffling each pair's grades over the times at which it
# was graded. That allows for whatever noise the assessor has, for few pairs, for a kappa that
# cannot exceed 1, and for the same pairs and the same old grades standing behind every point.

WEIGHT = 0.3
"""What the newest control counts in the moving average (lambda), each earlier one 0.7 of the next.

Roberts (1959), Technometrics 1(3).
"""
LEVEL = 0.002
"""The chance of a false alarm of each of the two averages at one control, at most."""
CHART_DRAWS = 999
REACH = 12
"""Controls that an average goes back to: older ones would weigh a hundredth in all."""


NEAR = 1e-9
"""What is nearer than this is the same."""


REFERENCE = 6
"""The first controls, with whose grades those of later ones are compared, too."""


class GivenAgain(NamedTuple):
    """One control: which pairs were graded again, and the new grade of each.

    It is one grade: two that were asked for within a minute may be alike for that reason alone.
    """

    pairs: Integers
    grades: Floats


class Average(NamedTuple):
    """A moving average, where it would lie had nothing changed, and how likely so far a one is."""

    value: float
    center: float
    low: float
    high: float
    p: float

    @property
    def is_out(self) -> bool:
        """Whether the average lies beyond its limits."""
        return not self.low <= self.value <= self.high


class ChartPoint(NamedTuple):
    """One control: kappa and mean shift of its grades against earlier ones, and both averages."""

    kappa: float
    shift: float
    agreement: Average
    moved: Average

    @property
    def is_out(self) -> bool:
        """Whether either average lies beyond its limits."""
        return self.agreement.is_out or self.moved.is_out


class _Slots(NamedTuple):
    """Grades as places in `levels`, `(pairs, slots)` with -1 for none; slot 0 has the old ones.

    `compared` names for each control that is averaged its slot and those of its reference.
    """

    codes: Integers
    levels: Floats
    compared: list[tuple[int, list[int]]]


def chart(
    old: Floats, controls: Sequence[GivenAgain], points: int | None = None, draws: int = CHART_DRAWS
) -> tuple[ChartPoint, ...]:
    """The last `points` of a chart, one a control, each with limits from what was known by then.

    `old` is `(pairs,)`. A control is held against earlier grades of its pairs: half against the old
    ones, which stand in the qrels, half against those of the first controls, which have less noise
    together. Agreement is Cohen's kappa, and beyond its limit where it is low; the shift is that of
    mean grades, and may go either way.
    """
    first = 0 if points is None else max(0, len(controls) - points)
    return tuple(_point(_slots(old, controls, at), at, draws) for at in range(first, len(controls)))


def _slots(old: Floats, controls: Sequence[GivenAgain], at: int) -> _Slots:
    recent = range(max(0, at + 1 - REACH), at + 1)
    used = sorted({*range(min(at, REFERENCE)), *recent})
    pairs = np.unique(np.concatenate([controls[each].pairs for each in used]))
    grades = np.full((len(pairs), 1 + len(used)), np.nan)
    grades[:, 0] = old[pairs]
    for slot, each in enumerate(used, start=1):
        grades[np.searchsorted(pairs, controls[each].pairs), slot] = controls[each].grades
    levels = np.unique(grades[~np.isnan(grades)])
    codes = np.where(np.isnan(grades), -1, np.searchsorted(levels, grades)).astype(np.int64)
    slot_of = {each: slot for slot, each in enumerate(used, start=1)}
    compared = [
        (slot_of[each], [slot_of[e] for e in range(min(each, REFERENCE))]) for each in recent
    ]
    return _Slots(codes, levels, compared)


def _point(slots: _Slots, at: int, draws: int) -> ChartPoint:
    codes, size = slots.codes, len(slots.levels)
    lowest = np.where(codes < 0, size, codes).min(axis=1)
    varied: Flags = codes.max(axis=1) > lowest
    # pairs whose grades are all alike give the same tables however they are shuffled
    shuffled = _shuffled(codes[varied], draws, np.random.default_rng([at, len(codes)]))
    observed = _tables(codes[None], slots.compared, size)
    settled = _tables(codes[None, ~varied], slots.compared, size)
    blocks = np.array_split(shuffled, max(1, shuffled.size * size // BLOCK + 1))
    null = settled + np.concatenate([_tables(b, slots.compared, size) for b in blocks], axis=1)
    agreement, null_agreement = (_averaged([_kappa(t) for t in each]) for each in (observed, null))
    moved, null_moved = (
        _averaged([_mean_shift(t, slots.levels) for t in each]) for each in (observed, null)
    )
    return ChartPoint(
        float(_kappa(observed[-1])[0]),
        float(_mean_shift(observed[-1], slots.levels)[0]),
        _against(float(agreement[0]), null_agreement, two_sided=False),
        _against(float(moved[0]), null_moved, two_sided=True),
    )


def _shuffled(codes: Integers, draws: int, rng: np.random.Generator) -> Integers:
    """The grades of each pair in `draws` other orders, `(draws, pairs, slots)`; gaps stay gaps."""
    shuffled = np.broadcast_to(codes, (draws, *codes.shape)).copy()
    widths = (codes >= 0).sum(axis=1)
    for width in np.unique(widths):
        rows = np.flatnonzero(widths == width)
        places = np.nonzero(codes[rows] >= 0)[1].reshape(len(rows), width)
        grades = np.take_along_axis(codes[rows], places, axis=1)
        drawn = rng.permuted(np.broadcast_to(grades, (draws, *grades.shape)), axis=-1)
        shuffled[:, rows[:, None], places] = drawn
    return shuffled


def _tables(codes: Integers, compared: Sequence[tuple[int, list[int]]], size: int) -> Floats:
    """Earlier grades in rows and a control's in columns, `(controls, draws, k, k)`.

    A pair counts 1 in a table: half of that its old grade, half those of the reference; all of it
    the old grade where the reference has none.
    """
    given = (codes[..., None] == np.arange(size)).astype(np.float64)  # (draws, pairs, slots, k)
    present = codes[0] >= 0  # gaps stay where they are in every draw
    tables = np.empty((len(compared), len(codes), size, size))
    references = [tuple(reference) for _, reference in compared]
    for reference in dict.fromkeys(references):
        places = [at for at, each in enumerate(references) if each == reference]
        earlier = present[:, reference].sum(axis=1)[:, None]
        of_others = np.where(present[:, reference], 0.5 / np.maximum(earlier, 1), 0.0)
        weights = np.hstack([np.where(earlier > 0, 0.5, 1.0), of_others]).astype(np.float64)
        before = np.einsum("ps,dpsk->dkp", weights, given[:, :, [0, *reference]])
        now = given[:, :, [compared[at][0] for at in places]]
        counts = before @ now.reshape(
            *now.shape[:2], len(places) * size
        )  # (draws, k, controls * k)
        tables[places] = counts.reshape(len(codes), size, len(places), size).transpose(2, 0, 1, 3)
    return tables


def _kappa(tables: Floats) -> Floats:
    """Cohen's kappa; 1 where all grades are one and the same, which leaves nothing to disagree."""
    total = tables.sum(axis=(1, 2))
    same = np.trace(tables, axis1=1, axis2=2) / total
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / total**2
    kappa: Floats = np.where(
        chance < 1.0, (same - chance) / np.where(chance < 1.0, 1.0 - chance, 1.0), 1.0
    )
    return kappa


def _mean_shift(tables: Floats, levels: Floats) -> Floats:
    """The mean of the new grades less that of the old."""
    apart = levels[None, :] - levels[:, None]
    shift: Floats = (tables * apart).sum(axis=(1, 2)) / tables.sum(axis=(1, 2))
    return shift


def _averaged(values: Sequence[Floats]) -> Floats:
    """The exponentially weighted moving average at the last control, its weights adding up to 1."""
    weights = WEIGHT * (1 - WEIGHT) ** np.arange(len(values) - 1, -1, -1, dtype=np.float64)
    averaged: Floats = np.tensordot(weights / weights.sum(), np.array(values), axes=1)
    return averaged


def _against(value: float, null: Floats, *, two_sided: bool) -> Average:
    """An average with its limits: beyond them lie so few of the shuffled ones as the level says."""
    ordered, allowed = np.sort(null), LEVEL * (1 + len(null)) / (2 if two_sided else 1)
    last = max(round(allowed), 1) - 1  # the last of the shuffled ones that is no chance either
    low, high = float(ordered[last]), float(ordered[-1 - last])
    below = (1 + (null <= value + NEAR).sum()) / (1 + len(null))
    above = (1 + (null >= value - NEAR).sum()) / (1 + len(null))
    p = min(1.0, 2 * min(below, above)) if two_sided else below
    center = float(np.median(null))
    if round(allowed) < 1:  # so few draws reach no limit
        low, high = -math.inf, math.inf
    return Average(value, center, low - NEAR, high + NEAR if two_sided else math.inf, float(p))


# Whether replies fail more often now than they did: Fisher's exact test, one-sided.


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
