"""What a few labelled queries do not show of all: other values than most have, and a long tail.

Student's interval takes values for normal. Scores pile up at 1 or 0 (RR and Success of good
systems) and their differences at 0, so that few queries may all be alike though not all queries
are; and scores near a bound have their tail on the other side (P of good systems).
"""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.stats.levels import NORMAL_QUANTILE

_DECIMALS = 9
"""To so many decimals values are alike, whatever order they were computed in."""
MOST_SKEWED = 3.0
"""A sample more skewed than this is no better guide."""


def pile_reach(residual: Floats, human: Floats, queries: float, open_share: float) -> Floats:
    """How far each row's mean may lie from its estimate, as fewer queries may be of the pile.

    The pile of a row of `(rows, labelled)` values are the queries with its most common value.
    Wilson's lower end says how few of all queries may be of the residuals' pile, where `open_share`
    of the variance of so many `queries` is left open. The others may lie as far from it as the
    residuals outside of it do, or as people's scores outside of their own pile; 0 where no two
    residuals are alike.
    """
    pile = _pile(residual)
    share = pile.mean(axis=1)
    fewer = share - _wilson_low(share, queries, open_share)
    away = _distance(residual, pile)
    if residual is not human:
        away = np.maximum(away, _distance(human, _pile(human)))
    return np.asarray(np.where(pile.sum(axis=1) > 1, fewer * away, 0.0), dtype=np.float64)


def _distance(values: Floats, pile: Flags) -> Floats:
    """How far the values outside of each row's pile lie from it, in the mean; 1 without any."""
    inside, n = pile.sum(axis=1), values.shape[1]
    middle = (values * pile).sum(axis=1) / inside
    away = (np.abs(values - middle[:, None]) * ~pile).sum(axis=1) / np.maximum(n - inside, 1)
    return np.asarray(np.where(inside < n, away, 1.0), dtype=np.float64)


def _pile(values: Floats) -> Flags:
    """Which queries have the most common value of their row."""
    rows, n = values.shape
    rounded = np.round(values, _DECIMALS)
    ordered = np.sort(rounded, axis=1)
    # (rows, n): the how-manieth different value of its row each is
    rank = np.cumsum(np.diff(ordered, axis=1, prepend=ordered[:, :1]) != 0, axis=1)
    counts = np.bincount((rank + n * np.arange(rows)[:, None]).ravel(), minlength=rows * n)
    most = counts.reshape(rows, n).argmax(axis=1)
    common = ordered[np.arange(rows), (rank == most[:, None]).argmax(axis=1)]
    return np.asarray(rounded == common[:, None], dtype=np.bool_)


def _wilson_low(share: Floats, queries: float, open_share: float) -> Floats:
    """The lower end of Wilson's interval of a share, with that much of its variance left open."""
    z2 = NORMAL_QUANTILE**2 * open_share / queries
    half = np.sqrt(z2 * share * (1 - share) + z2 * z2 / 4)
    return np.asarray(np.maximum((share + z2 / 2 - half) / (1 + z2), 0.0), dtype=np.float64)


def tail_shift(spread: Floats, t: float) -> float:
    """How many standard deviations, over the number of queries, an end moves towards the tail.

    The term of Hall (1992), JRSS B 54(1), for the skewness of a mean, of all rows of `spread`
    together: ten queries of one system tell too little of it. Negative where the tail is low.
    """
    apart = spread - spread.mean(axis=1, keepdims=True)
    variance = float((apart**2).mean())
    if variance < 1e-18:
        return 0.0
    n = spread.shape[1]
    # the skewness of a sample is smaller than that of what it is drawn from
    skewness = float((apart**3).mean()) / variance**1.5 * math.sqrt(n * (n - 1.0)) / max(n - 2, 1)
    bounded: float = min(max(skewness, -MOST_SKEWED), MOST_SKEWED)
    return bounded * (2 * t * t + 1) / 6
