"""The share of queries that people call good, whatever the draw of queries and raters was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.stats.levels import LEVEL, NORMAL_QUANTILE
from labeler.stats.shares import share_interval, wilson
from labeler.stats.student import t_quantile

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
    low, high = wilson(np.array([value]), worth)
    return QueryShare(value, float(low[0]), float(high[0]), worth)


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
