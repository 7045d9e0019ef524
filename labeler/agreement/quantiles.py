"""Quantiles of the normal and of Student's t distribution."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """The value below which a standard normal falls with this probability."""
    return _NORMAL.inv_cdf(probability)


def normal_cdf(value: float) -> float:
    """The probability that a standard normal falls below `value`."""
    return _NORMAL.cdf(value)


def t_cdf(value: float, degrees: int) -> float:
    """The probability that Student's t falls below `value`.

    The finite sums of Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
    """
    angle = math.atan2(value, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for step in range(2 + odd, degrees + 1, 2):
        total += term
        term *= cosine**2 * (step - 1) / step
    if odd:
        return 0.5 + (angle + sine * total) / math.pi
    return 0.5 + sine * total / 2


def t_quantile(probability: float, degrees: int) -> float:
    """The value below which Student's t falls with this probability, by bisection."""
    if degrees > 100_000:
        return normal_quantile(probability)
    low, high = -1.0, 1.0
    while t_cdf(low, degrees) > probability:
        low *= 2
    while t_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2
