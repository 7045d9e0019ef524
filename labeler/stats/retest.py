"""Whether grades given now are as those given before: three grades of each pair, one of them old.

Where nothing has changed, any of a pair's three grades might as well have been the old one. So the
old one is chosen at random, pair by pair, as often as need be, and what is seen is held against
that: tests that are exact whatever the assessor's own noise is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats

DRAWS = 10_000


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


def retest(old: Floats, new: Floats, seed: int = 0, draws: int = DRAWS) -> RetestP:
    """The p of `(pairs,)` old grades and `(pairs, 2)` new ones.

    `shift` looks at the means of new and old grades, both ways; `apart` at whether the new grades
    are farther from the old one than from each other, which also sees changes that cancel out.
    """
    grades = np.column_stack([old, new])
    if not len(grades):
        return RetestP(1.0, 1.0)
    # (pairs, 3): what each of the three would add to either statistic, were it the old one
    shifts = (grades.sum(axis=1, keepdims=True) - grades) / 2 - grades
    farther = np.column_stack([_farther(grades, i) for i in range(3)])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(3, size=(draws, len(grades)))
    rows = np.arange(len(grades))
    drawn_shifts = shifts[rows, drawn].sum(axis=1)
    drawn_farther = farther[rows, drawn].sum(axis=1)
    return RetestP(
        _share(np.abs(drawn_shifts), abs(float(shifts[:, 0].sum()))),
        _share(drawn_farther, float(farther[:, 0].sum())),
    )


def _farther(grades: Floats, old: int) -> Floats:
    """How much farther the two others are from one grade than from each other."""
    first, second = (grades[:, i] for i in range(3) if i != old)
    from_old = np.abs(first - grades[:, old]) + np.abs(second - grades[:, old])
    farther: Floats = from_old / 2 - np.abs(first - second)
    return farther


def _share(drawn: Floats, observed: float) -> float:
    """The share of draws that reach what is observed, which counts as one of them."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
