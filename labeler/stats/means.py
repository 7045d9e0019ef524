"""Intervals of 95 % of a mean over queries: one for the same values, whoever asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.metrics.scores import Weighting
from labeler.stats.intervals import (
    Interval,
    Replicates,
    Sample,
    cluster_bootstrap,
    jackknife,
    moved_out,
)
from labeler.stats.student import (
    NORMAL_QUANTILE,
    SIGNIFICANT,
    f_quantile,
    t_of,
)

TIED = 1e-9
"""Two scores that differ by no more are equal up to rounding."""


def normal_below(z: Floats) -> Floats:
    """The probability that a normal value lies below each `z`."""
    return np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in z.tolist()])


# What a sample says of a share of all: Wilson's interval, and Clopper and Pearson's bound.


def share_interval(values: Floats) -> tuple[float, float]:
    """The interval of a share, of `(queries,)` zeros and ones; not empty where all are alike.

    `nan` values are left out; `nan` ends without any other.
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        return math.nan, math.nan
    return wilson_of(float(defined.mean()), len(defined))


def wilson_of(share: float, queries: float, open_share: float = 1.0) -> tuple[float, float]:
    """Wilson's interval of one share."""
    low, high = wilson(np.array([share]), queries, open_share)
    return float(low[0]), float(high[0])


def wilson(shares: Floats, queries: float, open_share: float = 1.0) -> tuple[Floats, Floats]:
    """The intervals of shares of `queries` queries, with `open_share` of their variance left open.

    Wilson (1927), JASA 22.
    """
    z, n = NORMAL_QUANTILE * math.sqrt(open_share), queries
    # the two p for which (share - p) ** 2 = z ** 2 * p * (1 - p) / n
    middle = (shares + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def clustered_interval(
    values: Floats, clusters: Sequence[str | int], family: int = 1
) -> tuple[float, float]:
    """The interval of a share of pairs that come in clusters, as those of one query.

    Of a `family` of so many shares all hold together, by Bonferroni.

    Clopper and Pearson's, of as many pairs as the spread over clusters is worth (the design effect;
    Korn and Graubard 1998, Survey Methodology 24): of as many as there are clusters where all are
    alike.
    """
    if not len(values):
        return math.nan, math.nan
    share = float(values.mean())
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=values - share)
    worth = float(len(sums))
    if 0 < share < 1 and len(sums) > 1:
        simple = share * (1 - share) / len(values)
        variance = len(sums) / (len(sums) - 1) * float(sums @ sums) / len(values) ** 2
        worth = len(values) / max(1.0, variance / simple)
    tail = SIGNIFICANT / 2 / family
    return _least_share(share, worth, tail), 1 - _least_share(1 - share, worth, tail)


def _least_share(share: float, of: float, tail: float) -> float:
    """The share at which as large a one as this of so many still has a chance of `tail`."""
    count = share * of
    if count < TIED:
        return 0.0
    rest = of - count + 1
    return count / (count + rest * f_quantile(1 - tail, 2 * rest, 2 * count))


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
    """The largest true share at which `count` or fewer of `of` still has probability `level`."""
    return 1 - _least_share(1 - count / of, of, level)


# What a few queries do not show of all: other values than most have, and a long tail.
#
# Student's interval takes values for normal, and resampling gives the values of the sample alone.
# Scores pile up at 1 or 0 (RR and Success of good systems) and their differences at 0, so that few
# queries may all be alike though not all queries are; and scores near a bound have their tail on
# the other side (P of good systems).
#
# Four guards have one idea: the sample allows for a smaller share of queries that are alike than
# it has, by a binomial interval of that share, and the other queries lie as far off as those seen,
# and at the worst farther. They differ in what is alike, and in what is known of the rest:
#
# - `at_the_bounds`: scores of 1, of 0, or of the most common value; others as those seen.
# - `unseen`: differences of the most common value, mostly ties; one more differs by the most.
# - `unseen_losses`: queries that lie no lower than the middle one, of a bound on one side.
# - `unseen_others`: of many rows at once, queries with the most common value, whatever that is.

_DECIMALS = 9
"""To so many decimals values are alike, whatever order they were computed in."""
MOST_SKEWED = 3.0
"""A sample more skewed than this is no better guide."""


def at_the_bounds(values: Floats, weighting: Weighting | None = None) -> tuple[float, float]:
    """What a mean could be if fewer queries had the value 0, or 1, or that which most have.

    Of values from 0 to 1. A sample of one value alone says nothing of how many queries have
    another: resampling it gives no interval, and Student's t none either. The shares are Wilson's,
    of as many queries of equal weight as say as much; the other queries lie as far off as those of
    the sample, or as far as they can where it has none.
    """
    by = weighting or Weighting(np.ones(len(values)))
    weights, n, left = by.weights, by.effective, by.open_share
    low = high = mean = float(np.average(values, weights=weights))
    distinct, counts = np.unique(np.round(values, _DECIMALS), return_counts=True)
    for alike in (0.0, 1.0, float(distinct[counts.argmax()])):
        others = float(weights[np.abs(values - alike) > TIED].sum())
        share = 1 - others / float(weights.sum())
        fewer = share - wilson_of(share, n, left)[0]
        down, up = alike, 1 - alike
        if others:
            apart = (values - alike) * weights / others
            down, up = -float(apart.clip(max=0).sum()), float(apart.clip(min=0).sum())
        low, high = min(low, mean - fewer * down), max(high, mean + fewer * up)
    return low, high


def unseen(differences: Floats, most: float, weighting: Weighting | None = None) -> Floats:
    """How far means of differences could move if fewer queries were alike than in the sample.

    Of `(rows, queries)`, for each row. Its most common value, be it 0 or another one, says nothing
    of how many queries have it, where all of a few queries do. The share is Wilson's; the other
    queries lie as far off as those of the sample and one that lies `most` off. 0 where no two
    queries are alike.
    """
    pile = _pile(differences)
    by = weighting or Weighting(np.ones(pile.shape[1]))
    share = pile @ by.weights / by.weights.sum()
    size = (_away(differences, pile) + most) / ((~pile).sum(axis=1) + 1)
    fewer = share - wilson(share, by.effective)[0]
    return np.where(pile.sum(axis=1) > 1, fewer * size, 0.0)


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
    return np.where(pile.sum(axis=1) > 1, fewer * away, 0.0)


def _distance(values: Floats, pile: Flags) -> Floats:
    """How far the values outside of each row's pile lie from it, in the mean.

    Of a row without any it is the mean of all rows' and of one that lies 1 off.
    """
    outside, away = (~pile).sum(axis=1), _away(values, pile)
    of_all: float = (away.sum() + 1) / (outside.sum() + 1)
    return np.where(outside > 0, away / np.maximum(outside, 1), of_all)


def _away(values: Floats, pile: Flags) -> Floats:
    """How far they lie from it together."""
    middle = (values * pile).sum(axis=1) / pile.sum(axis=1)
    away: Floats = (np.abs(values - middle[:, None]) * ~pile).sum(axis=1)
    return away


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


# Weighted means over queries, with their intervals of 95 %.


def weighted_interval(values: Floats, weighting: Weighting) -> Interval:
    """The interval of a weighted mean over all queries like these; `None` for fewer than two.

    The jackknife's, with t of one degree of freedom less than queries of equal weight would say as
    much; of equal weights it is Student's. Of queries drawn from a log with known chances the mean
    is that log's, and a query leaves open what its chance lacks to 1 (Cochran 1977, Sampling
    Techniques, chapter 5): a census nothing.
    """
    defined = ~np.isnan(values)
    if defined.sum() < 2:
        return None
    values, of_defined = values[defined], weighting.choose(defined)
    shares = of_defined.weights / of_defined.weights.sum()
    mean = float((shares * values).sum())
    # how far the mean moves without each query
    moves = shares * (values - mean) / (1 - shares)
    # Of values of equal variance v the mean has the variance v times the sum of squared shares, and
    # a move's square is expected to be v times what stands below; of n equal shares it is 1 - 1/n.
    squares = float((shares**2).sum())
    expected = float((shares**2 * (1 - 2 * shares + squares) / (1 - shares) ** 2).sum())
    error = math.sqrt(float((moves**2 * of_defined.open).sum()) * (squares / expected))
    reach = t_of(max(of_defined.effective - 1, 1.0)) * error
    return mean - reach, mean + reach


def mean_interval(
    values: Floats,
    method: Callable[[Replicates], Interval] = cluster_bootstrap,
    seed: int = 0,
    weighting: Weighting | None = None,
) -> Interval:
    """The interval of the mean of `(queries,)` values, `nan` ones left out; `None` for under two.

    The degrees of freedom are Student's, one less than the queries: with them the intervals of
    eleven systems' means over 10 to 50 queries of TREC DL 2019 cover .92 to .96, and with the
    fewer that statistics of agreement need (`degrees`) up to .98: scripts/simulate_means.py.
    Of a weighted mean it is `weighted_interval`; by the `jackknife` it is Student's.
    """
    if weighting is not None:
        return weighted_interval(values, weighting)
    defined = values[~np.isnan(values)]
    return method(replicates_of_mean(defined, seed)) if len(defined) > 1 else None


def replicates_of_mean(values: Floats, seed: int = 0) -> Replicates:
    """The mean of `(queries,)` values, of each draw of them, and without one each."""
    sample = Sample(np.stack([values, np.ones_like(values)], axis=1), seed=seed)
    return Replicates(sample, _mean, freedom=len(values) - 1.0)


def _mean(sums: Floats) -> Floats:
    """`(..., 2)` sums of values and of ones to `(...)` means."""
    return sums[..., 0] / sums[..., 1]


def bounded_interval(
    values: Floats,
    bounds: tuple[float, float],
    seed: int = 0,
    weighting: Weighting | None = None,
) -> Interval:
    """The interval of a mean of values that lie between two bounds, and never beyond them.

    It is moved out by what piles up at either bound (`at_the_bounds`).
    """
    ends, defined = mean_interval(values, seed=seed, weighting=weighting), ~np.isnan(values)
    if ends is None:
        return None
    least, most = bounds
    scale = most - least
    of_defined = None if weighting is None else weighting.choose(defined)
    below, above = at_the_bounds((values[defined] - least) / scale, of_defined)
    low, high = min(ends[0], below * scale + least), max(ends[1], above * scale + least)
    return max(low, least), min(high, most)


# Differences in standard deviations of the queries' differences.

UNSEEN_SIZE = 0.5
"""How much a query that was not drawn counts, which differs twice as much as any that was.

With it intervals of effects hold in .94 and more of nearly all worlds of
`scripts/simulate_comparisons.py effects`; the jackknife alone in .89 where few queries differ.
"""


def effect_of(differences: Floats, weighting: Weighting | None = None) -> Bounded:
    """The mean of some queries' differences in their standard deviations, with its interval.

    Sakai (2014), SIGIR Forum 48(1). The interval is the jackknife's, each end moved out for a query
    that was not drawn. All is nan where the differences are alike, or are without one of them.
    """
    weighting = weighting or Weighting(np.ones(len(differences)))
    weights, freedom = weighting.weights, weighting.effective - 1
    # (queries, 3): the weighted squares, the weighted values and the weights
    sample = Sample(weights[:, None] * np.vander(differences, 3))
    of = Replicates(sample, _standardized, freedom=freedom)
    if (ends := jackknife(of)) is None:
        return math.nan, math.nan, math.nan
    far = 2 * np.abs(differences).max()
    unseen_sums = UNSEEN_SIZE * weights.mean() * np.vander([-far, far], 3)
    ends = moved_out(of, *ends, _standardized(sample.total + unseen_sums) - of.value)
    # the deviation of all queries like these is larger than that of the sample
    scale = math.sqrt(freedom / (freedom + 1))
    return of.value * scale, ends[0] * scale, ends[1] * scale


def _standardized(sums: Floats) -> Floats:
    """`(..., 3)` sums to means in standard deviations, `nan` where values are alike."""
    square, mean = np.moveaxis(sums[..., :2] / sums[..., 2:], -1, 0)
    variance = square - mean**2
    return np.where(variance > TIED * square, mean / np.sqrt(np.maximum(variance, TIED**2)), np.nan)
