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
from labeler.stats.resampling import BLOCK

WEIGHT = 0.3
"""What the newest control counts in the moving average (lambda), each earlier one 0.7 of the next.

Roberts (1959), Technometrics 1(3).
"""
LEVEL = 0.002
"""The chance of a false alarm of each of the two averages at one control, at most."""
DRAWS = 999
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
    old: Floats, controls: Sequence[GivenAgain], points: int | None = None, draws: int = DRAWS
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
