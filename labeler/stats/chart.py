"""A control chart of grades given again: do new ones agree with the old as far as chance allows?

Where nothing has changed, any of a pair's grades might as well have been the old one, whichever
control gave it. So the limits come from shuffling each pair's grades over the times at which it
was graded. That allows for whatever noise the assessor has, for few pairs, for a kappa that cannot
exceed 1, and for the same pairs and the same old grades standing behind every point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers

WEIGHT = 0.3
"""What the newest control counts in the moving average (lambda), each earlier one 0.7 of the next.

Roberts (1959), Technometrics 1(3).
"""
LEVEL = 0.002
"""The chance of a false alarm of each of the two averages at one control, at most."""
DRAWS = 1999
REACH = 16
"""Controls that an average goes back to: older ones would weigh less than half a hundredth."""


NEAR = 1e-9
"""What is nearer than this is the same."""


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
    """One control: kappa and mean shift of the new grades against the old, and both averages."""

    kappa: float
    shift: float
    agreement: Average
    moved: Average

    @property
    def is_out(self) -> bool:
        """Whether either average lies beyond its limits."""
        return self.agreement.is_out or self.moved.is_out


class _Slots(NamedTuple):
    """Grades as places in `levels`, `(pairs, 1 + controls)`, the old first; -1 stands for none."""

    codes: Integers
    levels: Floats


def chart(
    old: Floats, controls: Sequence[GivenAgain], points: int | None = None, draws: int = DRAWS
) -> tuple[ChartPoint, ...]:
    """The last `points` of a chart, one a control, each with limits from what was known by then.

    `old` is `(pairs,)`. Agreement is Cohen's kappa of old grades and new ones, which is beyond its
    limits where it is low; the shift is that of their means, and may go either way.
    """
    first = 0 if points is None else max(0, len(controls) - points)
    return tuple(
        _point(_slots(old, controls[max(0, at + 1 - REACH) : at + 1]), at, draws)
        for at in range(first, len(controls))
    )


def _slots(old: Floats, controls: Sequence[GivenAgain]) -> _Slots:
    pairs = np.unique(np.concatenate([control.pairs for control in controls]))
    grades = np.full((len(pairs), 1 + len(controls)), np.nan)
    grades[:, 0] = old[pairs]
    for slot, control in enumerate(controls, start=1):
        grades[np.searchsorted(pairs, control.pairs), slot] = control.grades
    levels = np.unique(grades[~np.isnan(grades)])
    codes = np.where(np.isnan(grades), -1, np.searchsorted(levels, grades))
    return _Slots(codes.astype(np.int64), levels)


def _point(slots: _Slots, at: int, draws: int) -> ChartPoint:
    codes, size = slots.codes, len(slots.levels)
    lowest = np.where(codes < 0, size, codes).min(axis=1)
    varied: Flags = codes.max(axis=1) > lowest
    # pairs whose grades are all alike give the same tables however they are shuffled
    shuffled = _shuffled(codes[varied], draws, np.random.default_rng([at, len(codes)]))
    controls = range(1, codes.shape[1])
    observed = [_tables(codes[None], slot, size) for slot in controls]
    null = [
        _tables(codes[None, ~varied], slot, size) + _tables(shuffled, slot, size)
        for slot in controls
    ]
    agreement, null_agreement = (_averaged([_kappa(t) for t in each]) for each in (observed, null))
    moved, null_moved = (
        _averaged([_shift(t, slots.levels) for t in each]) for each in (observed, null)
    )
    return ChartPoint(
        float(_kappa(observed[-1])[0]),
        float(_shift(observed[-1], slots.levels)[0]),
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


def _tables(codes: Integers, slot: int, size: int) -> Floats:
    """Counts of old grades in rows and a control's in columns, `(draws, k, k)`."""
    old, new = codes[:, :, 0], codes[:, :, slot]
    offsets = (np.arange(len(codes)) * size * size)[:, None]
    cells = (old * size + new + offsets)[new >= 0]
    counts = np.bincount(cells, minlength=len(codes) * size * size)
    return counts.reshape(len(codes), size, size).astype(np.float64)


def _kappa(tables: Floats) -> Floats:
    """Cohen's kappa; 1 where all grades are one and the same, which leaves nothing to disagree."""
    total = tables.sum(axis=(1, 2))
    same = np.trace(tables, axis1=1, axis2=2) / total
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / total**2
    kappa: Floats = np.where(
        chance < 1.0, (same - chance) / np.where(chance < 1.0, 1.0 - chance, 1.0), 1.0
    )
    return kappa


def _shift(tables: Floats, levels: Floats) -> Floats:
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
