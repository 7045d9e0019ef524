"""Variants of a search beside each other: an A/B test, and whether users were split as meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput
from labeler.monitoring.online.behavior import AT, BehaviorSums
from labeler.monitoring.online.estimates import GroupedSums, ratio
from labeler.report.table import Interval
from labeler.stats.randomization import sign_test
from labeler.stats.student import chi_square_above

MISMATCH = 0.001
"""A split as uneven by chance is that rare: experiments stop to be believed below it."""


class OnlineMeasure(NamedTuple):
    """A share of one sum in another; `up` says that more is better."""

    name: str
    part: str
    whole: str
    up: bool
    about: str


MEASURES = (
    OnlineMeasure("CTR", "clicks", "shown", True, "clicks of documents shown"),
    OnlineMeasure("clicked", "clicked", "searches", True, "searches with a click"),
    OnlineMeasure("clicks/search", "clicks", "searches", True, "clicks a search"),
    OnlineMeasure("satisfied", "satisfied", "dwells", True, "clicks followed by a long look"),
    OnlineMeasure("reformulated", "reformulated", "followed", False, "searches put in other words"),
    OnlineMeasure("thumbs up", "ups", "thumbs", True, "thumbs that point up"),
    OnlineMeasure("bought", "bought", "searches", True, "searches with a purchase"),
)
"""What is measured of searches, by name; abandonment is what `clicked` leaves of 1."""


@dataclass(frozen=True)
class VariantDifference:
    """A measure of a variant, and its difference from the first variant's."""

    measure: OnlineMeasure
    variant: str
    value: Interval
    difference: Interval


@dataclass(frozen=True)
class Variants:
    """Variants beside each other: `users` of each, and their measures.

    `mismatch` is the p of the split beside the one that was meant, which `is_meant_even` where no
    shares were named; `mixed` counts users whom several variants served.
    """

    names: tuple[str, ...]
    users: tuple[int, ...]
    mixed: int
    mismatch: float
    is_meant_even: bool
    rows: tuple[VariantDifference, ...]

    @property
    def is_mismatched(self) -> bool:
        """Whether the split is so uneven that chance does not explain it."""
        return self.mismatch < MISMATCH


def variants_of(
    sums: BehaviorSums, names: Sequence[str], shares: Mapping[str, float], measures: Sequence[str]
) -> Variants:
    """The measures of each variant, and the differences from the first by name.

    Users are resampled, whole, so that the searches of one hang together.
    """
    served = [number for number in range(len(names)) if sums.users[number + 1] > 0]
    order = sorted(served, key=lambda number: names[number])
    unknown = sorted(set(shares) - set(names))
    if unknown:
        problem = f"no variant {unknown[0]!r:.60}; there are {', '.join(sorted(names)[:10])}"
        raise BadInput(problem, parameter="shares")
    grouped = GroupedSums(sums.searches, sums.options.seed)
    rows = []
    for measure in (m for m in MEASURES if m.name in measures):
        whole = [_value(grouped, measure, number + 1) for number in order]
        for position, number in enumerate(order):
            difference = Interval(None, None, None)
            if position:
                difference = grouped.estimate(_difference(measure, number + 1, order[0] + 1))
            rows.append(VariantDifference(measure, names[number], whole[position], difference))
    users = tuple(int(sums.users[number + 1]) for number in order)
    ordered = tuple(names[number] for number in order)
    p = mismatch(ordered, users, shares)
    return Variants(ordered, users, sums.mixed, p, not shares, tuple(rows))


def _of_variant(measure: OnlineMeasure, variant: int) -> Callable[[Floats], Floats]:
    part, whole = AT[measure.part], AT[measure.whole]
    return lambda sums: ratio(sums[..., variant, part], sums[..., variant, whole])


def _difference(measure: OnlineMeasure, variant: int, base: int) -> Callable[[Floats], Floats]:
    first, second = _of_variant(measure, variant), _of_variant(measure, base)
    return lambda sums: first(sums) - second(sums)


def _value(grouped: GroupedSums, measure: OnlineMeasure, variant: int) -> Interval:
    if measure.name == "clicks/search":
        return grouped.estimate(_of_variant(measure, variant))
    return grouped.share((variant, AT[measure.part]), (variant, AT[measure.whole]))


def mismatch(names: Sequence[str], users: Sequence[int], shares: Mapping[str, float]) -> float:
    """p of so many users of each variant, were they split as meant; chi-square, of two exact.

    >>> mismatch(["a", "b"], [5000, 5000], {}), mismatch(["a", "b"], [5000, 5400], {}) < 1e-4
    (1.0, True)
    """
    meant = np.array([shares.get(name, 1.0) for name in names])
    counts = np.array(users, dtype=np.float64)
    expected = counts.sum() * meant / meant.sum()
    if len(names) < 2 or not counts.sum():
        return math.nan
    if len(names) == 2 and len(set(meant.tolist())) == 1:
        return sign_test(users[0], users[1])
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return chi_square_above(statistic, len(names) - 1)
