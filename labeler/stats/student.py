"""Student's t and F without scipy: distribution functions and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

# The levels at which everything is said: intervals of 95 %, tests at 5 %.

LEVEL = 0.95
"""The share of intervals that should hold the truth."""
SIGNIFICANT = 0.05
"""Below this p a difference is told from chance."""
NORMAL_QUANTILE = 1.9599639845400536
"""The normal's quantile at `0.5 + LEVEL / 2`: importing `statistics` for it costs more time."""


_TINY = 1e-300
_PRECISION = 1e-15


def t_below(t: float, freedom: float) -> float:
    """The probability that Student's t with so many degrees of freedom lies below `t`."""
    tail = 0.5 * two_sided(t, freedom)
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: float) -> float:
    """The `t` below which Student's t lies with this probability."""
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    return crossed(lambda t: t_below(t, freedom) < probability, 2.0, 1e-13, 1e-13)


def t_of(freedom: float) -> float:
    """How many standard errors an interval of 95 % reaches either way."""
    return t_quantile((1 + LEVEL) / 2, freedom)


@lru_cache(maxsize=64)
def f_quantile(probability: float, above: float, below: float) -> float:
    """The ratio of two variances of these degrees of freedom that lies below with a probability."""

    def share(ratio: float) -> float:
        whole = above * ratio + below
        return _beta_share(above * ratio / whole, below / whole, above / 2, below / 2)

    return crossed(lambda ratio: share(ratio) < probability and ratio < 1e12, 1.0, 1e-12)


def crossed(
    is_below: Callable[[float], bool], high: float, relative: float, absolute: float = 0.0
) -> float:
    """Where something that rises from 0 on passes what is looked for, or a little above, by halves.

    It lies no farther above than the precision; `high` is doubled first while it is below.
    """
    low = 0.0
    while is_below(high):
        low, high = high, high * 2
    while high - low > absolute + relative * high:
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


def two_sided(t: float, freedom: float) -> float:
    """The probability that Student's t lies farther from 0 than `t` does."""
    whole = freedom + t * t
    return _beta_share(freedom / whole, t * t / whole, freedom / 2, 0.5)


def binomial_below(count: int, of: int, share: float) -> float:
    """The chance that `count` or fewer of a sample `of` some have what this `share` of all has."""
    if count >= of:
        return 1.0
    return _beta_share(1 - share, share, of - count, count + 1)


def _beta_share(x: float, rest: float, a: float, b: float) -> float:
    """The regularized incomplete beta function of `x`, which is 1 - `rest`."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    scale = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    )
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(x, a, b) / a
    return 1 - scale * _fraction(rest, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction in the incomplete beta function, by Lentz's method.

    Abramowitz and Stegun 26.5.8.
    """
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
