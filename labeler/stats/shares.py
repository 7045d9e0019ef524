"""What a sample says of a share of all: Wilson's interval, and Clopper and Pearson's bound."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.student import LEVEL, NORMAL_QUANTILE, SIGNIFICANT, binomial_below, t_quantile


def share_interval(values: Floats) -> tuple[float, float]:
    """The interval of a share, of `(queries,)` zeros and ones; not empty where all are alike.

    `nan` values are left out; `nan` ends without any other.
    """
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[~np.isnan(defined)]
    if not len(defined):
        return math.nan, math.nan
    return wilson_of(float(defined.mean()), len(defined))


def wilson_of(share: float, queries: float) -> tuple[float, float]:
    """Wilson's interval of one share."""
    low, high = wilson(np.array([share]), queries)
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


def clustered_interval(values: Floats, clusters: Sequence[Hashable]) -> tuple[float, float]:
    """The interval of a share of pairs that come in clusters, as those of one query.

    Wilson's, of as many pairs as the spread over clusters is worth (the design effect; Korn and
    Graubard 1998, Survey Methodology 24): of as many as there are clusters where all are alike.
    """
    if not len(values):
        return math.nan, math.nan
    share, (_, cluster) = float(values.mean()), np.unique(_numbered(clusters), return_inverse=True)
    sums = np.bincount(cluster, weights=values - share)
    worth = float(len(sums))
    if 0 < share < 1 and len(sums) > 1:
        simple = share * (1 - share) / len(values)
        variance = len(sums) / (len(sums) - 1) * float(sums @ sums) / len(values) ** 2
        worth = len(values) / max(1.0, variance / simple)
    return wilson_of(share, worth)


def _numbered(clusters: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]


Bounded = tuple[float, float, float]
"""A share and the ends of its interval."""


def difference_interval(first: Bounded, second: Bounded) -> tuple[float, float]:
    """The interval of the difference of two shares, by the ends of the interval of each.

    By squares added: Newcombe (1998), Statistics in Medicine 17; too wide where both go together.
    """
    (p, p_low, p_high), (q, q_low, q_high) = first, second
    below = math.hypot(p - p_low, q_high - q)
    above = math.hypot(p_high - p, q - q_low)
    return max(-1.0, p - q - below), min(1.0, p - q + above)


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


# The share of queries that people call good, whatever the draw of queries and raters was.

ADDED = 4
_TINY = 1e-12


class QueryShare(NamedTuple):
    """A share of queries, its interval of 95 %, and how many queries of one rater say as much.

    `nan` without any query.
    """

    value: float
    low: float
    high: float
    worth: float


@dataclass(frozen=True, eq=False)
class DrawnQueries:
    """What queries count, and the stratum that each was drawn from, `(queries,)` each.

    Without `weights` all count alike; without `strata` there is one.
    """

    weights: Floats | None = None
    strata: Integers | None = None


def query_share(values: Floats, ratings: Floats, drawn: DrawnQueries | None = None) -> QueryShare:
    """The weighted mean of `(queries,)` shares of the raters of each query who called it good.

    `ratings` counts these raters, who are a cluster. The interval is Wilson's, of as many queries
    as the spread over queries is worth (Korn and Graubard 1998, Survey Methodology 24), with
    Student's t in place of the normal. Of one rater and equal weights it is Wilson's of as many
    queries as there are.
    """
    drawn = drawn or DrawnQueries()
    n = len(values)
    if not n:
        return QueryShare(math.nan, math.nan, math.nan, 0.0)
    if drawn.weights is None and drawn.strata is None and bool((ratings == 1).all()):
        return QueryShare(float(values.mean()), *share_interval(values), float(n))
    weights = np.ones(n) if drawn.weights is None else drawn.weights
    strata = np.zeros(n, dtype=np.int64) if drawn.strata is None else drawn.strata
    shares = weights / weights.sum()
    value = min(max(float(shares @ values), 0.0), 1.0)
    worth = _worth(values, shares, ratings, _collapsed(strata))
    return QueryShare(value, *wilson_of(value, worth), worth)


def _collapsed(strata: Integers) -> Integers:
    """Each query's stratum; strata of one query, which show no spread, are one stratum."""
    _, stratum, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    return np.where(sizes[stratum] == 1, len(sizes), stratum)


def _worth(values: Floats, shares: Floats, ratings: Floats, strata: Integers) -> float:
    """How many queries of equal weight, each with one rater, would have a share of this variance.

    A share of 0 or 1 has shown no variance: it is worth the queries of equal weight alone.
    """
    value, equal = float(shares @ values), float(1 / (shares**2).sum())
    freedom = len(values) - len(np.unique(strata))
    if not _TINY < value < 1 - _TINY or freedom < 1:
        return equal
    moves = shares * (values - value)
    variance = sum(
        max(_spread(moves[inside]), _least(values[inside], shares[inside], ratings[inside], value))
        for inside in (strata == stratum for stratum in np.unique(strata))
    )
    stretch = t_quantile((1 + LEVEL) / 2, freedom) / NORMAL_QUANTILE
    return value * (1 - value) / variance / stretch**2


def _spread(moves: Floats) -> float:
    """The variance of what the queries of a stratum add to a weighted mean."""
    n = len(moves)
    if n < 2:
        return float(moves @ moves)
    return n / (n - 1) * float(((moves - moves.mean()) ** 2).sum())


def _least(values: Floats, shares: Floats, ratings: Floats, value: float) -> float:
    """The variance of a stratum whose ratings were independent of each other.

    A smaller one that was seen is no proof that queries vary less than chance. Four queries of the
    share of all are added to the stratum, whose few queries may be all alike, as Agresti and Coull
    (1998, The American Statistician 52) add four of a share of half.
    """
    weights = shares / shares.mean()
    inside = (float(weights @ values) + ADDED * value) / (len(values) + ADDED)
    return inside * (1 - inside) * float((shares**2 / ratings).sum())
