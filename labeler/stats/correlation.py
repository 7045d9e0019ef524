"""How alike two rankings of the same items are: each item has a score in `x` and one in `y`.

Higher scores rank higher. Items are systems, as a rule, and the two vectors their mean scores with
two sets of qrels; `x` is the one to trust where a function tells them apart. Every statistic takes
`(items,)` vectors to a number, and `(draws, items)` to `(draws,)` numbers, a row at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labeler.arrays import Floats, Integers
from labeler.stats.intervals import (
    BLOCK,
    Compute,
    Interval,
    Replicates,
    Sample,
    jackknife,
    reach,
    stretched,
)


def tau_b(x: ArrayLike, y: ArrayLike) -> Any:
    """Kendall's tau-b: concordant less discordant pairs, normalized for ties in either.

    `nan` where one of the two ties all items. After Kendall (1945), Biometrika 33(3).
    """
    signs_x, signs_y = _signs(x), _signs(y)
    untied_x, untied_y = (np.sum(signs != 0, axis=(-2, -1)) for signs in (signs_x, signs_y))
    concordant = np.sum(signs_x * signs_y, axis=(-2, -1), dtype=np.int64)
    untied = np.sqrt(untied_x * untied_y)
    return np.where(untied > 0, concordant / np.where(untied > 0, untied, 1.0), np.nan)[()]


def tau_ap(x: ArrayLike, y: ArrayLike) -> Any:
    """AP correlation: tau in which swaps near the top of `y`, the estimate, weigh more.

    Not symmetric: `x` is the truth. Ties in `y` count as the mean over all ways to break them, ties
    in `x` as discordant. `nan` for fewer than two items. After Yilmaz, Aslam and Robertson (SIGIR
    2008), ties after Urbano and Marrero (ICTIR 2017), their tau_AP,a.
    """
    signs_x, signs_y = _signs(x), _signs(y)
    is_above = signs_y < 0
    # of each item: how many rank above it by y, how many of them by x too, how many tie with it
    above, concordant = is_above.sum(axis=-1), (is_above & (signs_x < 0)).sum(axis=-1)
    tied = (signs_y == 0).sum(axis=-1)
    n = above.shape[-1]
    if n < 2:
        return np.full(above.shape[:-1], np.nan)[()]
    # an item in a tie stands anywhere within it: by turns at each rank r that has items above it.
    # Those above it by y that x puts above it too are a share of r, and of its tie half of those
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, n)))
    first, last = np.maximum(above, 1), above + tied - 1
    reciprocals = harmonic[last] - harmonic[first - 1]  # the sum of 1 / r
    halves = (last - first + 1 - above * reciprocals) / 2
    total = ((concordant * reciprocals + halves) / tied).sum(axis=-1)
    return (2 * total / (n - 1) - 1)[()]


def swapped_pairs(x: Sequence[float], y: Sequence[float]) -> list[tuple[int, int]]:
    """The pairs of items that `x` and `y` order differently, the better one by `x` first."""
    signs_x, signs_y = _signs(x), _signs(y)
    return [(int(i), int(j)) for i, j in np.argwhere((signs_x > 0) & (signs_y < 0))]


def competition_ranks(x: ArrayLike) -> Integers:
    """Ranks from 1 for the highest; tied items share the first rank of their group."""
    scores = np.asarray(x, dtype=np.float64)
    # (..., i, j): whether j scores higher than i
    higher: Integers = np.sum(scores[..., None, :] > scores[..., None], axis=-1, dtype=np.int64)
    return higher + 1


def _signs(x: ArrayLike) -> Integers:
    """For every ordered pair, 1 where the first scores higher, -1 where lower, 0 where tied."""
    scores = np.asarray(x, dtype=np.float64)
    return np.sign(scores[..., None] - scores[..., None, :]).astype(np.int64)


# How alike two rankings of systems are, with intervals over queries.

DRAWS = 2000
"""A correlation compares every two systems of a draw, which costs more than a sum."""


BIAS_OF_DRAWS = 1 / (math.sqrt(2) - 1)
"""How many times as far as the draws' mean lies below a value it lies below the truth itself."""
MOST_OF_ALL = 0.6
"""An interval that spans this share of all that a statistic could be says nothing."""
HALVES = 200
"""How often queries are parted into halves."""
FEWEST_TO_HALVE = 4


RankStatistic = Callable[[Floats, Floats], Any]
"""A function of `(..., systems)` scores by two qrels, from -1 to 1, where orders are the same."""

RANK_STATISTICS = {"tau_b": tau_b, "tau_ap": tau_ap}


class Correlation(NamedTuple):
    """A rank statistic's value and its interval of 95 %; `None` where undefined.

    `open` says that the interval would span nearly all that the statistic could be: it would say
    nothing, and is not given.
    """

    value: float | None
    low: float | None
    high: float | None
    open: bool = False


def correlations(first: Floats, second: Floats, seed: int = 0) -> dict[str, Correlation]:
    """Every rank statistic of the systems' mean scores by two qrels, `(systems, queries)` each.

    Higher scores are better.
    """
    x, y = first.mean(axis=1), second.mean(axis=1)
    # (queries, 2 systems), so that the same draws serve both qrels
    sample = Sample(np.concatenate([first, second]).T, DRAWS, seed)
    made = {}
    for name, statistic in RANK_STATISTICS.items():
        value, ends = float(statistic(x, y)), None
        if math.isfinite(value):
            ends = rank_interval(
                Replicates(sample, of_sums(statistic), freedom=sample.queries - 1.0)
            )
        is_open = ends is not None and ends[1] - ends[0] >= MOST_OF_ALL * 2
        low, high = (None, None) if ends is None or is_open else ends
        made[name] = Correlation(value if math.isfinite(value) else None, low, high, is_open)
    return made


def rank_interval(of: Replicates) -> Interval:
    """The interval over queries of one rank statistic; `None` for fewer than two queries.

    Noise of queries makes two leaderboards less alike than those of all queries would be, and
    resampling adds as much noise again. Of n queries a statistic falls short of its truth by about
    `c / sqrt(n)`, and in draws, whose noise is that of half as many queries, by `sqrt(2)` times as
    much: so the truth lies above the value by `1 / (sqrt(2) - 1)` times as much as the draws' mean
    lies below it. Upwards the interval is moved by that, and reaches as far as the
    draws' standard deviation, their percentile or the jackknife do, whichever is farthest;
    downwards the value may only be too low, so that the deviation is enough.
    scripts/simulate_leaderboards.py has how often that covers.
    """
    ends = stretched(of)
    if ends is None:
        return None
    defined = of.drawn[np.isfinite(of.drawn)]
    n = of.sample.queries
    deviation = reach(n, n - 1.0) * float(defined.std())
    short = max(of.value - float(defined.mean()), 0.0) * BIAS_OF_DRAWS
    farthest = max(end - of.value for end in (*ends, *(jackknife(of) or ends)))
    high = of.value + max(farthest, deviation) + short
    return max(of.value - deviation, -1.0), min(high, 1.0)


def noise_ceiling(scores: Floats, seed: int = 0) -> float | None:
    """The tau-b that two sets of as many queries, graded by the same people, would have.

    From `(systems, queries)` scores by people alone: queries are parted into halves at random, and
    each half orders the systems. tau-b of two halves is turned into the correlation of normal
    scores that has it, `sin(pi / 2 tau)` after Greiner (1909), stepped up from half to all queries
    by Spearman (1910) and Brown (1910), and turned back. `None` for fewer than four queries.
    """
    queries = scores.shape[1]
    if queries < FEWEST_TO_HALVE or len(scores) < 2:
        return None
    order = np.random.default_rng(seed).random((HALVES, queries)).argsort(axis=1)
    first = (order < queries // 2).astype(np.float64)
    second = (order >= queries - queries // 2).astype(np.float64)
    # (halves, queries) @ (queries, systems): sums, which order as means do
    taus = tau_b(first @ scores.T, second @ scores.T)
    defined = taus[np.isfinite(taus)]
    if not len(defined):
        return None
    half = math.sin(math.pi / 2 * float(defined.mean()))
    if half <= 0:
        return 0.0
    return 2 / math.pi * math.asin(min(2 * half / (1 + half), 1.0))


def of_sums(statistic: RankStatistic) -> Compute:
    """The statistic of `(..., 2 systems)` sums, by the first qrels and then by the second.

    Sums rank systems as their means do.
    """

    def compute(sums: Floats) -> Floats:
        systems = sums.shape[-1] // 2
        rows = sums.reshape(-1, 2 * systems)
        # every two systems are compared in every row, so that rows are taken a block at a time
        size = max(1, BLOCK // (4 * systems**2))
        blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
        values = [statistic(block[:, :systems], block[:, systems:]) for block in blocks]
        return np.concatenate(values).astype(np.float64).reshape(sums.shape[:-1])

    return compute
