"""What a few queries do not show of all: other values than most have, and a long tail.

Student's interval takes values for normal, and resampling gives the values of the sample alone.
Scores pile up at 1 or 0 (RR and Success of good systems) and their differences at 0, so that few
queries may all be alike though not all queries are; and scores near a bound have their tail on the
other side (P of good systems).

Four guards have one idea: the sample allows for a smaller share of queries that are alike than it
has, by a binomial interval of that share, and the other queries lie as far off as those seen, and
at the worst farther. They differ in what is alike, and in what is known of the rest:

- `at_the_bounds`: scores of 1, or of 0; the others have the mean of those seen.
- `unseen_differences`: ties of two systems; one more query differs by the most there is.
- `unseen_losses`: queries that lie no lower than the middle one, of a bound on one side.
- `unseen_others`: of many rows at once, queries with the most common value, whatever that is.
"""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import TIED
from labeler.stats.shares import largest_share, share_interval, wilson

_DECIMALS = 9
"""To so many decimals values are alike, whatever order they were computed in."""
MOST_SKEWED = 3.0
"""A sample more skewed than this is no better guide."""


def at_the_bounds(values: Floats) -> tuple[float, float]:
    """What a mean could be if queries of value 0, or 1, had another share than in the sample.

    A sample of ones alone says nothing of how many queries are not: resampling it gives no
    interval, and Student's t none either. The shares are Wilson's; the other queries have their
    mean, or the other bound where there are none.
    """
    defined = values[~np.isnan(values)]
    below, above = defined[defined < 1], defined[defined > 0]
    # the fewest queries of 1, and the fewest of 0, that the sample allows for
    share_of_ones, _ = share_interval(defined == 1)
    share_of_zeros, _ = share_interval(defined == 0)
    mean_below_one = float(below.mean()) if len(below) else 0.0
    mean_above_zero = float(above.mean()) if len(above) else 1.0
    return share_of_ones + (1 - share_of_ones) * mean_below_one, (
        1 - share_of_zeros
    ) * mean_above_zero


def unseen_differences(differences: Floats) -> float:
    """How far a mean of differences could move if fewer queries tied than in the sample.

    A sample of ties alone says nothing of how many queries differ, and a sample of few differences
    little of how large they are. The share is Wilson's; the other queries differ as much as those
    of the sample and one that differs by 1, the most there is.
    """
    differing = np.abs(differences) > TIED
    _, most = share_interval(differing.astype(np.float64))
    size = (float(np.abs(differences[differing]).sum()) + 1) / (int(differing.sum()) + 1)
    return (most - float(differing.mean())) * size


def unseen_losses(differences: Floats, largest: float, level: float = SIGNIFICANT) -> float:
    """What a mean loses if as many queries lie below the middle one as the sample allows for.

    The share is Clopper and Pearson's (1934, Biometrika 26); the further queries lie as far below
    as those of the sample and one that loses the most a query may.
    """
    middle = float(np.median(differences))
    below = differences < middle - TIED
    count, n = int(below.sum()), len(differences)
    far = float((middle - differences[below]).sum()) + max(largest + middle, 0.0)
    return (largest_share(count, n, level) - count / n) * far / (count + 1)


def unseen_others(residual: Floats, human: Floats, queries: float, open_share: float) -> Floats:
    """How far each row's mean may lie from its estimate, as fewer queries may be of the pile.

    The pile of a row of `(rows, labelled)` values are the queries with its most common value.
    Wilson's lower end says how few of all queries may be of the residuals' pile, where `open_share`
    of the variance of so many `queries` is left open. The others may lie as far from it as the
    residuals outside of it do, or as people's scores outside of their own pile; 0 where no two
    residuals are alike.
    """
    pile = _pile(residual)
    share = pile.mean(axis=1)
    fewer = share - wilson(share, queries, open_share)[0]
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
