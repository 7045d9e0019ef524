"""Tests of paired differences over queries, corrections for many of them, wins and losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.stats.resampling import in_blocks
from labeler.stats.student import binomial_below

TIED = 1e-9
"""Two scores that differ by no more are equal up to rounding."""
FLIPS = 10_000
"""How many assignments of signs are drawn; of 13 queries and fewer all are gone through."""


def randomization_test(
    differences: Floats, seed: int, rounds: int = FLIPS
) -> tuple[Floats, Floats]:
    """Two-sided p of paired differences `(rows, queries)`, alone and by max-T over the rows.

    Under the null the two systems of a query are exchangeable: signs are flipped, for all rows
    alike. max-T compares each row's studentized mean with the largest of all rows (Westfall and
    Young 1993), which allows for rows that move together. Of few queries all assignments are gone
    through, so that p is exact; else the observed one counts as one of the drawn.
    """
    n = differences.shape[1]
    exact = 2**n <= rounds
    observed = np.abs(_studentized(differences.mean(axis=1), differences))
    beaten, beaten_by_max = np.zeros(len(differences)), np.zeros(len(differences))
    for signs in assignments(n, seed, rounds):
        # (rounds, queries) @ (queries, rows): the means of every assignment
        flipped = np.abs(_studentized(signs @ differences.T / n, differences))
        flipped += 1e-12 * flipped  # sums in another order must not lose a tie
        beaten += np.sum(flipped >= observed, axis=0)
        beaten_by_max += np.sum(flipped.max(axis=1)[:, None] >= observed, axis=0)
    seen, of = (0, 2**n) if exact else (1, 1 + rounds)
    return (seen + beaten) / of, (seen + beaten_by_max) / of


def assignments(queries: int, seed: int, rounds: int = FLIPS) -> Iterator[Floats]:
    """Assignments of signs, `(rounds, queries)` in blocks: all of few queries, else drawn ones."""
    if 2**queries <= rounds:
        yield _all_signs(queries)
    else:
        yield from in_blocks(_signs, queries, rounds, seed)


def smallest_p(queries: int) -> float:
    """The least that a two-sided randomization test can say of so many queries."""
    return 2.0 ** (1 - queries) if queries else 1.0


def smallest_holm(differing: Sequence[int]) -> Floats:
    """The least that each of several randomization tests can say after Holm's correction.

    `differing` counts for each the queries whose difference is not zero: flipping the sign of
    the others changes nothing, so that they cannot lower p.
    """
    return holm(np.array([smallest_p(count) for count in differing]))


def sign_test(wins: int, losses: int) -> float:
    """Two-sided p of so many wins and losses, each as likely under the null; ties are left out.

    Exact, by the binomial distribution; 1 without any win or loss.

    >>> round(sign_test(5, 0), 6)
    0.0625
    """
    return min(1.0, 2 * binomial_below(min(wins, losses), wins + losses, 0.5))


def _studentized(means: Floats, differences: Floats) -> Floats:
    """`(..., rows)` means over the rows' standard errors; 0 where all differences are 0."""
    n = differences.shape[1]
    # flipping signs leaves the mean square as it is, so that only the mean changes the variance
    squares = np.mean(differences**2, axis=1)
    variance = np.maximum(squares - means**2, 0.0)
    errors = np.sqrt(variance / max(n - 1, 1))
    safe = np.maximum(errors, 1e-9 * np.sqrt(squares))
    studentized: Floats = np.divide(means, safe, out=np.zeros_like(means), where=safe > 0)
    return studentized


@lru_cache(maxsize=1)
def _all_signs(n: int) -> Floats:
    """Every assignment of signs, `(2 ** n, n)`."""
    bits = np.arange(2**n)[:, None] >> np.arange(n)
    signs: Floats = (bits & 1).astype(np.float64) * 2.0 - 1.0
    signs.setflags(write=False)
    return signs


def _signs(rng: np.random.Generator, rounds: int, queries: int) -> Floats:
    """Signs at random, `(rounds, queries)`."""
    return rng.integers(2, size=(rounds, queries)).astype(np.float64) * 2.0 - 1.0


def holm(p: Floats) -> Floats:
    """p-values corrected for their number after Holm (1979), Scandinavian J. of Statistics 6(2)."""
    order = np.argsort(p)
    # the smallest of m times m, the next times m - 1, ..., and never below one before it
    scaled = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def benjamini_yekutieli(p: Floats) -> Floats:
    """p-values corrected for the rate of false discoveries, however the tests hang together.

    Benjamini and Yekutieli (2001), Annals of Statistics 29(4).
    """
    m = len(p)
    order = np.argsort(p)
    ranks = np.arange(1, m + 1)
    # each times m / rank and the harmonic sum, and never above one after it
    scaled = p[order] * m / ranks * (1 / ranks).sum()
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return corrected


def wins_ties_losses(differences: Floats) -> tuple[int, int, int]:
    """How many differences are above, at and below zero, up to rounding."""
    up: Flags = differences > TIED
    down: Flags = differences < -TIED
    won, lost = int(up.sum()), int(down.sum())
    return won, len(differences) - won - lost, lost
