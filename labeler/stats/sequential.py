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

Where the values are forecast, half of the capital is bet on what they have beyond their forecasts:
a forecast share less the mean one of what is not drawn, which is known before each draw, leaves the
expected share as it is. Good forecasts leave less to vary, bad ones cost half of the capital. It is
the sequential form of prediction-powered inference (Angelopoulos and others 2023, Science 382), and
of survey sampling's difference estimator.

Waudby-Smith and Ramdas (2020), NeurIPS 33, and (2024), JRSS B 86(1), for draws of equal
probability; Shekhar, Xu, Lipton, Liang and Ramdas (2023), ICML, for draws by weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np

from labeler.arrays import Floats
from labeler.stats.student import SIGNIFICANT

FRACTIONS = np.array([0.2, 0.5, 0.8, 0.95, 0.999])
"""What is bet of the capital, an equal part of it each: small where values vary, all where not."""
FARTHEST = 0.2
"""Forecast shares count up to so far from their mean: the farther, the less can be bet on them."""
ENOUGH = -math.log(SIGNIFICANT / 2)
"""The logarithm of the capital by which a sum is left out on either side."""
_HALVINGS = 32


@dataclass(frozen=True, eq=False)
class Drawn:
    """The `(n,)` bounds of values in the order of drawing, each below the other.

    `forecast` is what they are expected to be, as it was known when `since` of them were drawn.
    """

    low: Floats
    high: Floats
    forecast: Floats | None = None
    since: int = 0

    @property
    def turned(self) -> Drawn:
        """The same of the values' negatives."""
        forecast = None if self.forecast is None else -self.forecast
        return Drawn(-self.high, -self.low, forecast, self.since)

    @cached_property
    def width(self) -> Floats:
        """How far the bounds lie apart."""
        return self.high - self.low

    @cached_property
    def rest(self) -> Floats:
        """`(n + 1,)`: what the sum may still grow by, before each draw and after the last."""
        # summed from the last on, so that nothing is left at the end
        return np.append(np.cumsum(self.width[::-1])[::-1], 0.0)

    def settled(self, values: Floats) -> Floats:
        """`(drawn + 1,)`: the least sum before each draw of some values, and after the last."""
        return np.cumsum(np.append(self.low.sum(), values - self.low[: len(values)]))

    def shares(self, values: Floats) -> Floats:
        """`(drawn,)`: the first values as shares of the way from their lower bounds."""
        n = len(values)
        return np.clip((values - self.low[:n]) / self.width[:n], 0.0, 1.0)

    @cached_property
    def forecast_beyond(self) -> tuple[Floats, Floats]:
        """`(n,)`: what each share is forecast beyond the mean of what is not drawn.

        Second, what the most of those is. Both are 0 while no forecast was known.
        """
        if self.forecast is None:
            return np.zeros_like(self.width), np.zeros_like(self.width)
        share = self.shares(self.forecast)
        middle = np.average(share, weights=self.width)
        share = np.clip(share, middle - FARTHEST, middle + FARTHEST)
        left = np.cumsum((share * self.width)[::-1])[::-1] / self.rest[:-1]
        most = np.maximum.accumulate(share[::-1])[::-1]
        is_known = np.arange(len(share)) >= self.since
        return (share - left) * is_known, (most - left) * is_known


def draw_order(widths: Sequence[float], seed: str) -> list[int]:
    """The places of values in the order of drawing, without those of no width.

    Of the values left, each is next with a probability proportional to its width.
    """
    draw = Random(seed)
    luck = [(draw.expovariate(width), n) for n, width in enumerate(widths) if width > 0]
    return [n for _, n in sorted(luck)]


def sum_bounds(of: Drawn, least: Floats, most: Floats) -> tuple[float, float]:
    """The least and the most that the values sum up to, with an error of 5 % at the most.

    `least` and `most` are the `(drawn,)` bounds of the first values since they were drawn, mostly
    one and the same number.
    """
    n = len(least)
    ends = least.sum() + of.low[n:].sum(), most.sum() + of.high[n:].sum()
    return (
        _lower(of, least, ends[1]),
        -_lower(of.turned, -most, -ends[0]),
    )


def estimate(of: Drawn, values: Floats) -> float:
    """The sum of all values, without bias: the mean of what each draw says of it."""
    n = len(values)
    shares = of.shares(values) - of.forecast_beyond[0][:n]
    sums = of.settled(values)[:-1] + shares * of.rest[:n]
    return float(sums.mean() if n else (of.low + of.high).sum() / 2)


def capital(of: Drawn, values: Floats, total: float) -> Floats:
    """The `(drawn,)` logarithms of what bets that the sum exceeds `total` have come to, from 1."""
    n = len(values)
    # (drawn,): what the sum leaves for each draw to be, as a share, and what it is beyond that
    expected = (total - of.settled(values)[:-1]) / of.rest[:n]
    beyond = of.shares(values) - expected
    forecast, most = (part[:n] for part in of.forecast_beyond)
    with np.errstate(divide="ignore", invalid="ignore"):
        # (2, 1, drawn): what is bet on, as a share of how far it may fall
        bets = np.array([[beyond / expected], [(beyond - forecast) / (expected + most)]])
        # (2 * fractions, drawn); a bet on what can be no larger stays as it is
        gain = np.where(expected > 0, np.log1p(FRACTIONS[:, None] * bets), 0.0).reshape(-1, n)
    each = gain.cumsum(axis=1)
    top = each.max(axis=0)
    return np.asarray(top + np.log(np.exp(each - top).mean(axis=0)), dtype=np.float64)


def draws_until(of: Drawn, values: Floats, goals: Floats) -> int:
    """After how many draws `values`, were they all, are told apart from a sum, or lie near it.

    `goals` are the least that is near, that sum, and the most.
    """
    least, total, most = map(float, goals)
    turned = of.turned, -values
    is_near = max(_draws_above(of, values, least), _draws_above(*turned, -most))
    return min(_draws_above(of, values, total), _draws_above(*turned, -total), is_near)


def _draws_above(of: Drawn, values: Floats, total: float) -> int:
    """After how many draws it is shown that values sum up to more than a total; else all."""
    is_shown = capital(of, values, total) >= ENOUGH
    shown = np.flatnonzero(is_shown | (of.settled(values)[1:] > total))
    return int(shown[0]) + 1 if len(shown) else len(values)


def _lower(of: Drawn, values: Floats, above: float) -> float:
    """The largest sum up to `above` that the bets leave out, and no less than what is certain."""
    below = float(of.settled(values)[-1])
    for _ in range(_HALVINGS if len(values) else 0):
        middle = (below + above) / 2
        is_left_out = capital(of, values, middle).max() >= ENOUGH
        below, above = (middle, above) if is_left_out else (below, middle)
    return below
