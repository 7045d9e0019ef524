"""Bounds of a sum over a finite population that hold at every look, while its values are drawn.

Each value lies between two bounds that were known before. Values are drawn without replacement,
each next one with a probability proportional to how far its bounds lie apart: what is settled
beforehand is never drawn, and what could move the sum most is drawn first (`draw_order`).

A lower bound comes from bets that the sum is larger than m. Before each draw its value is expected,
as a share of the way from its lower bound to its upper one, to be what m leaves for all values that
are not drawn, as a share of what these may add. A bet of the fraction c multiplies its capital by
`1 - c + c * share / expected`, so that under m the mean capital stays 1. Several fractions are bet
side by side. By Ville's inequality the capital reaches 1 / level with a probability of `level` at
most, however often one looks and whenever one stops: that m is left out.

Waudby-Smith and Ramdas (2020), NeurIPS 33, and (2024), JRSS B 86(1), for draws of equal
probability; Shekhar, Xu, Lipton, Liang and Ramdas (2023), ICML, for draws by weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np

from labeler.arrays import Floats
from labeler.stats.student import SIGNIFICANT

FRACTIONS = np.array([0.2, 0.5, 0.8, 0.95, 0.999])
"""What is bet of the capital, an equal part of it each: small where values vary, all where not."""
_HALVINGS = 32


def draw_order(widths: Sequence[float], seed: str) -> list[int]:
    """The places of values in the order of drawing, without those of no width.

    Of the values left, each is next with a probability proportional to its width.
    """
    draw = Random(seed)
    luck = [(draw.expovariate(width), n) for n, width in enumerate(widths) if width > 0]
    return [n for _, n in sorted(luck)]


def sum_bounds(
    low: Floats, high: Floats, least: Floats, most: Floats, level: float = SIGNIFICANT
) -> tuple[float, float]:
    """The least and the most that the values sum up to, with an error of `level` at the most.

    `low` and `high` are the `(n,)` bounds known before, in the order of drawing, `least` and `most`
    the `(drawn,)` bounds of the first ones since they were drawn, mostly one and the same number.
    """
    n = len(least)
    ends = least.sum() + low[n:].sum(), most.sum() + high[n:].sum()
    above = -_lower(-high, -low, -most, level / 2, -ends[0])
    return _lower(low, high, least, level / 2, ends[1]), above


def estimate(low: Floats, high: Floats, values: Floats) -> float:
    """The sum of all values, without bias: the mean of what each draw says of it."""
    settled, rest, share = _draws(low, high, values)
    sums = settled[:-1] + share * rest[:-1]
    return float(sums.mean() if len(values) else (low + high).sum() / 2)


def _draws(low: Floats, high: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Before each draw and after the last: the least sum, and what it may still grow by.

    Third, each drawn value as a share of the way from its lower bound to its upper one.
    """
    n, width = len(values), high - low
    settled = low.sum() + np.append(0.0, np.cumsum(values - low[:n]))
    # what is not drawn yet, summed from the last on, so that nothing is left at the end
    rest = np.append(np.cumsum(width[::-1])[::-1], 0.0)[: n + 1]
    return settled, rest, np.clip((values - low[:n]) / width[:n], 0.0, 1.0)


def capital(low: Floats, high: Floats, values: Floats, total: float) -> Floats:
    """The `(drawn,)` logarithms of what bets that the sum exceeds `total` have come to, from 1."""
    settled, rest, share = _draws(low, high, values)
    # (drawn,): what the sum leaves for each draw to be, as a share
    expected = (total - settled[:-1]) / rest[:-1]
    bet = FRACTIONS[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # (fractions, drawn); a bet on what can be no larger stays as it is
        gain = np.where(expected > 0, np.log1p(bet * (share / expected - 1)), 0.0)
    each = gain.cumsum(axis=1)
    top = each.max(axis=0)
    return np.asarray(top + np.log(np.exp(each - top).mean(axis=0)), dtype=np.float64)


def _lower(low: Floats, high: Floats, values: Floats, level: float, above: float) -> float:
    """The largest sum up to `above` that the bets leave out, and no less than what is certain."""
    below = float(_draws(low, high, values)[0][-1])
    for _ in range(_HALVINGS if len(values) else 0):
        middle = (below + above) / 2
        is_left_out = capital(low, high, values, middle).max() >= -math.log(level)
        below, above = (middle, above) if is_left_out else (below, middle)
    return below
