"""How alike two rankings of the same items are: each item has a score in `x` and one in `y`.

Higher scores rank higher. Items are systems, as a rule, and the two vectors their mean scores with
two sets of qrels; `x` is the one to trust where a function tells them apart. Every statistic takes
`(items,)` vectors to a number, and `(draws, items)` to `(draws,)` numbers, a row at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labeler.arrays import Floats, Integers


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
    above, concordant, tied = _counts_above(x, y)
    n = above.shape[-1]
    if n < 2:
        return np.full(above.shape[:-1], np.nan)[()]
    total = np.zeros(above.shape[:-1])
    for item in range(n):
        higher, agreeing, size = above[..., item], concordant[..., item], tied[..., item]
        shares, halves = np.zeros(total.shape), np.zeros(total.shape)
        # an item in a tie of `size` stands below `higher` others, and anywhere within its tie
        for k in range(int(np.max(size, initial=0))):
            rank = higher + k
            counts = (k < size) & (rank > 0)
            below = np.where(counts, rank, 1)
            # those above it by y that x puts above it too, and half of those it ties with
            shares += np.where(counts, agreeing / below, 0.0)
            halves += np.where(counts, k / below, 0.0)
        total += shares / size + halves / (2 * size)
    return (2 * total / (n - 1) - 1)[()]


def tau_ap_b(x: ArrayLike, y: ArrayLike) -> Any:
    """AP correlation when neither of the two is the truth, and both may tie items; symmetric.

    `nan` where one of the two ties all items. After Urbano and Marrero (ICTIR 2017), tau_AP,b.
    """
    return (_tau_ap_of_groups(x, y) + _tau_ap_of_groups(y, x)) / 2


def _tau_ap_of_groups(x: ArrayLike, y: ArrayLike) -> Any:
    above, concordant, _ = _counts_above(x, y)
    # the mean over the items that any other stands above
    lower = above > 0
    count = lower.sum(axis=-1)
    total = np.where(lower, concordant / np.where(lower, above, 1), 0.0).sum(axis=-1)
    return np.where(count > 0, 2 * total / np.where(count > 0, count, 1) - 1, np.nan)[()]


def rbo(x: ArrayLike, y: ArrayLike, p: float = 0.9) -> Any:
    """Rank-biased overlap, extrapolated: 1 for equal rankings, weight `p` ** depth.

    Tied items enter at the depth of the first of them. After Webber, Moffat and Zobel (2010), ACM
    TOIS 28(4), equation 32.
    """
    ranks_x, ranks_y = competition_ranks(x), competition_ranks(y)
    n = ranks_x.shape[-1]
    total, overlap = np.zeros(ranks_x.shape[:-1]), np.ones(ranks_x.shape[:-1])
    for depth in range(1, n + 1):
        # the share of the two prefixes that they have in common, weighted by p ** depth
        in_x, in_y = ranks_x <= depth, ranks_y <= depth
        overlap = 2 * (in_x & in_y).sum(axis=-1) / (in_x.sum(axis=-1) + in_y.sum(axis=-1))
        total += overlap * p**depth
    return ((1 - p) / p * total + overlap * p**n)[()]


def max_drop(x: ArrayLike, y: ArrayLike) -> Any:
    """The most places that an item falls from its rank by `x` to its rank by `y`."""
    return np.max(competition_ranks(y) - competition_ranks(x), axis=-1, initial=0)


def swapped_pairs(x: Sequence[float], y: Sequence[float]) -> list[tuple[int, int]]:
    """The pairs of items that `x` and `y` order differently, the better one by `x` first."""
    signs_x, signs_y = _signs(x), _signs(y)
    return [(int(i), int(j)) for i, j in np.argwhere((signs_x > 0) & (signs_y < 0))]


def competition_ranks(x: ArrayLike) -> Integers:
    """Ranks from 1 for the highest; tied items share the first rank of their group."""
    scores = _scores(x)
    # (..., i, j): whether j scores higher than i
    higher: Integers = np.sum(scores[..., None, :] > scores[..., None], axis=-1, dtype=np.int64)
    return higher + 1


def _scores(x: ArrayLike) -> Floats:
    return np.asarray(x, dtype=np.float64)


def _signs(x: ArrayLike) -> Integers:
    """For every ordered pair, 1 where the first scores higher, -1 where lower, 0 where tied."""
    scores = _scores(x)
    signs: Integers = np.sign(scores[..., None] - scores[..., None, :]).astype(np.int64)
    return signs


def _counts_above(x: ArrayLike, y: ArrayLike) -> tuple[Integers, Integers, Integers]:
    """An item: how many rank above it by `y`, how many of them by `x` too, how many tie with it."""
    signs_x, signs_y = _signs(x), _signs(y)
    higher = signs_y < 0
    above, both = higher.sum(axis=-1), (higher & (signs_x < 0)).sum(axis=-1)
    return above, both, (signs_y == 0).sum(axis=-1)
