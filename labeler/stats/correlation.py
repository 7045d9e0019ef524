"""How alike two rankings of the same items are: each item has a score in `x` and one in `y`.

Higher scores rank higher. Items are systems, as a rule, and the two vectors their mean scores with
two sets of qrels; `x` is the one to trust where a function tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from labeler.arrays import Floats, Integers


def tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b: concordant less discordant pairs, normalized for ties in either.

    `nan` where one of the two ties all items. After Kendall (1945), Biometrika 33(3).
    """
    signs_x, signs_y = _signs(x), _signs(y)
    untied_x, untied_y = int(np.sum(signs_x != 0)), int(np.sum(signs_y != 0))
    if untied_x == 0 or untied_y == 0:
        return math.nan
    return float(np.sum(signs_x * signs_y) / math.sqrt(untied_x * untied_y))


def tau_ap(x: ArrayLike, y: ArrayLike) -> float:
    """AP correlation: tau in which swaps near the top of `y`, the estimate, weigh more.

    Not symmetric: `x` is the truth. Ties in `y` count as the mean over all ways to break them, ties
    in `x` as discordant. `nan` for fewer than two items. After Yilmaz, Aslam and Robertson (SIGIR
    2008), ties after Urbano and Marrero (ICTIR 2017), their tau_AP,a.
    """
    above, concordant, tied = _counts_above(x, y)
    n = len(above)
    if n < 2:
        return math.nan
    total = 0.0
    for higher, agreeing, size in zip(above, concordant, tied, strict=True):
        # an item in a tie of `size` stands below `higher` others, and anywhere within its tie
        ranks = [higher + k for k in range(size) if higher + k > 0]
        # those above it by y that x puts above it too, and half of those it ties with
        total += sum(agreeing / rank for rank in ranks) / size
        total += sum((rank - higher) / rank for rank in ranks) / (2 * size)
    return float(2 * total / (n - 1) - 1)


def tau_ap_b(x: ArrayLike, y: ArrayLike) -> float:
    """AP correlation when neither of the two is the truth, and both may tie items; symmetric.

    `nan` where one of the two ties all items. After Urbano and Marrero (ICTIR 2017), tau_AP,b.
    """
    return (_tau_ap_of_groups(x, y) + _tau_ap_of_groups(y, x)) / 2


def _tau_ap_of_groups(x: ArrayLike, y: ArrayLike) -> float:
    above, concordant, _ = _counts_above(x, y)
    lower = above > 0
    if not lower.any():
        return math.nan
    return float(2 * np.mean(concordant[lower] / above[lower]) - 1)


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9) -> float:
    """Rank-biased overlap, extrapolated: 1 for equal rankings, weight `p` ** depth.

    Tied items enter at the depth of the first of them. After Webber, Moffat and Zobel (2010), ACM
    TOIS 28(4), equation 32.
    """
    ranks_x, ranks_y = competition_ranks(x), competition_ranks(y)
    n = len(ranks_x)
    total, overlap = 0.0, 1.0
    for depth in range(1, n + 1):
        # the share of the two prefixes that they have in common, weighted by p ** depth
        in_x, in_y = ranks_x <= depth, ranks_y <= depth
        overlap = 2 * int(np.sum(in_x & in_y)) / (int(in_x.sum()) + int(in_y.sum()))
        total += overlap * p**depth
    return float((1 - p) / p * total + overlap * p**n)


def max_drop(x: ArrayLike, y: ArrayLike) -> int:
    """The most places that an item falls from its rank by `x` to its rank by `y`."""
    return int(np.max(competition_ranks(y) - competition_ranks(x), initial=0))


def swapped_pairs(x: Sequence[float], y: Sequence[float]) -> list[tuple[int, int]]:
    """The pairs of items that `x` and `y` order differently, the better one by `x` first."""
    signs_x, signs_y = _signs(x), _signs(y)
    return [(int(i), int(j)) for i, j in np.argwhere((signs_x > 0) & (signs_y < 0))]


def competition_ranks(x: ArrayLike) -> Integers:
    """Ranks from 1 for the highest; tied items share the first rank of their group."""
    scores = _scores(x)
    higher: Integers = np.sum(scores[None, :] > scores[:, None], axis=1, dtype=np.int64)
    return higher + 1


def _scores(x: ArrayLike) -> Floats:
    return np.asarray(x, dtype=np.float64)


def _signs(x: ArrayLike) -> Integers:
    """For every ordered pair, 1 where the first scores higher, -1 where lower, 0 where tied."""
    scores = _scores(x)
    return np.sign(scores[:, None] - scores[None, :]).astype(np.int64)


def _counts_above(x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers, Integers]:
    """An item: how many rank above it by `y`, how many of them by `x` too, how many tie with it."""
    signs_x, signs_y = _signs(x), _signs(y)
    higher = signs_y < 0
    return higher.sum(axis=1), (higher & (signs_x < 0)).sum(axis=1), (signs_y == 0).sum(axis=1)
