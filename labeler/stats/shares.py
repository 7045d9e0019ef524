"""What a sample says of a share of all: Wilson's interval, and Clopper and Pearson's bound."""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Floats
from labeler.stats.levels import NORMAL_QUANTILE, SIGNIFICANT
from labeler.stats.student import binomial_below


def share_interval(values: Floats) -> tuple[float, float]:
    """The interval of a share, of `(queries,)` zeros and ones; not empty where all are alike.

    `nan` values are left out; `nan` ends without any other.
    """
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[~np.isnan(defined)]
    if not len(defined):
        return math.nan, math.nan
    low, high = wilson(defined.mean(keepdims=True), len(defined))
    return float(low[0]), float(high[0])


def wilson(shares: Floats, queries: float, open_share: float = 1.0) -> tuple[Floats, Floats]:
    """The intervals of shares of so many queries, with that much of their variance left open.

    Wilson (1927), JASA 22.
    """
    z, n = NORMAL_QUANTILE * math.sqrt(open_share), queries
    # the two p for which (share - p) ** 2 = z ** 2 * p * (1 - p) / n
    middle = (shares + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def largest_share(count: int, of: int, level: float = SIGNIFICANT) -> float:
    """The largest share of which so many or fewer of a sample have a chance of `level`."""
    if count >= of:
        return 1.0
    low, high = count / of, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        likely = binomial_below(count, of, middle) > level
        low, high = (middle, high) if likely else (low, middle)
    return high
