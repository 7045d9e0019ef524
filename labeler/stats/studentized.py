"""The studentized range without scipy: what the largest difference of alike systems may be."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from labeler.arrays import Floats
from labeler.stats.normal import normal_below

_STEP = 0.02
_WIDEST = 40.0
_TAIL = 8.5
_POINTS = 1001


@lru_cache(maxsize=256)
def range_quantile(probability: float, systems: int, freedom: int) -> float:
    """Below it the range of so many alike means lies with this probability, in standard errors.

    The standard error has so many degrees of freedom: Tukey's studentized range.
    """
    low, high = 0.0, 2.0
    while range_below(high, systems, freedom) < probability:
        low, high = high, high * 2
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        below = range_below(middle, systems, freedom) < probability
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def range_below(width: float, systems: int, freedom: int) -> float:
    """The probability that the studentized range lies below `width`: averaged over chi."""
    s, weights = chi_weights(freedom)
    table = _normal_ranges(systems)
    return float(np.interp(width * s, np.arange(len(table)) * _STEP, table) @ weights)


@lru_cache(maxsize=8)
def _normal_ranges(systems: int) -> Floats:
    """The probability that the range of so many normal values lies below each step.

    k times the integral of phi(z) (Phi(z) - Phi(z - w))^(k - 1), where z is the largest value.
    """
    steps, tail = round(_WIDEST / _STEP), round(_TAIL / _STEP)
    z = np.arange(-tail - steps, tail + 1, dtype=np.float64) * _STEP
    below = normal_below(z)
    density = np.exp(-(z[steps:] ** 2) / 2) / math.sqrt(2 * math.pi)

    def integral(w: int) -> float:
        others = below[steps:] - below[steps - w : -w or None]
        return systems * _STEP * float((density * others ** (systems - 1)).sum())

    below_each: Floats = np.minimum([integral(w) for w in range(steps + 1)], 1.0)
    return below_each


@lru_cache(maxsize=64)
def chi_weights(freedom: int) -> tuple[Floats, Floats]:
    """Values of chi over the root of its degrees of freedom, and their weights by Simpson's rule.

    Within 12 standard deviations of 1.
    """
    spread = 12 / math.sqrt(2 * freedom)
    s = np.linspace(max(1e-9, 1 - spread), 1 + spread, _POINTS)
    # the logarithm of its density: 2 (f/2)^(f/2) / Gamma(f/2) * s^(f-1) * exp(-f s^2 / 2)
    half = freedom / 2
    log_density = math.log(2) + half * math.log(half) - math.lgamma(half)
    density = np.exp(log_density + (freedom - 1) * np.log(s) - half * s**2)
    weights = np.where(np.arange(_POINTS) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    weighted: Floats = density * weights * (s[1] - s[0]) / 3
    return s, weighted
