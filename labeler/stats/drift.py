"""Whether values given one after another change over time, where neighbors may be alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.resampling import BLOCK

ORDERS = 10_000
FEWEST_BLOCKS = 5
"""Of fewer blocks hardly an order is rare."""


class Drift(NamedTuple):
    """By how much values change from the first to the last, along a straight line, and its p.

    `blocks` counts stretches of values that belong together. `p` is `None` where there are too few
    of them, or no two values differ.
    """

    change: float
    p: float | None
    values: int
    blocks: int


def drift(values: Floats, groups: Sequence[Hashable], seed: int = 0) -> Drift:
    """The drift of `(n,)` values in the order of time; `groups` says which neighbors are alike.

    Were there none, the stretches of one group might have come in any order: so the line's slope is
    held against those of random orders of the stretches, each left as it is inside. That test is
    exact, however values within a stretch hang together.
    """
    n, starts = len(values), _starts(groups)
    if n < 2:
        return Drift(0.0, None, n, len(starts))
    centered = values - values.mean()
    spread = n * (n * n - 1.0) / 12  # the sum of squares of 0 to n - 1 around their mean
    moment = float(np.arange(n) @ centered)
    change = moment / spread * (n - 1)
    if len(starts) < FEWEST_BLOCKS or not np.ptp(values) > 0:
        return Drift(change, None, n, len(starts))
    return Drift(change, _p(centered, starts, abs(moment), seed), n, len(starts))


def _starts(groups: Sequence[Hashable]) -> list[int]:
    """Where each stretch of one group begins."""
    return [i for i, group in enumerate(groups) if not i or group != groups[i - 1]]


def _p(centered: Floats, starts: Sequence[int], observed: float, seed: int) -> float:
    """The share of orders of the stretches whose slope is as steep; the observed is one of them."""
    first = np.array(starts)
    sizes = np.diff(np.append(first, len(centered)))
    sums = np.add.reduceat(centered, first)
    # what a stretch adds by the places of its values, counted from its own beginning
    inside = np.arange(len(centered)) - np.repeat(first, sizes)
    own = float(inside @ centered)
    rng, steep = np.random.default_rng(seed), 1
    at_once = max(1, min(ORDERS, BLOCK // len(first)))
    for begin in range(0, ORDERS, at_once):
        orders = _orders(rng, min(at_once, ORDERS - begin), len(first))
        ordered = sizes[orders]
        begins = np.cumsum(ordered, axis=1) - ordered
        moments = (begins * sums[orders]).sum(axis=1) + own
        steep += int((np.abs(moments) >= observed * (1 - 1e-12)).sum())
    return steep / (1 + ORDERS)


def _orders(rng: np.random.Generator, count: int, of: int) -> Integers:
    """Random orders, `(count, of)`."""
    return rng.permuted(np.broadcast_to(np.arange(of), (count, of)), axis=1)
