"""What the choice of queries does to a mean: bootstrap intervals and randomisation tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.stats.student import t_quantile

ROUNDS = 2000
FLIPS = 10_000
LEVEL = 0.95
_BLOCK = 4_000_000


def bootstrap(values: Floats, seed: int, rounds: int = ROUNDS) -> Floats:
    """Means of resampled queries, `(rounds, rows)`, for `values` of `(rows, queries)`.

    The same resamples serve all rows, so that differences of rows are paired. `nan` values are left
    out of a row's means; a row without any defined value gives `nan`.
    """
    defined = ~np.isnan(values)
    filled = np.where(defined, values, 0.0)
    parts = []
    for counts in _resamples(values.shape[1], seed, rounds):
        with np.errstate(invalid="ignore", divide="ignore"):
            parts.append((counts @ filled.T) / (counts @ defined.T.astype(np.float64)))
    return np.concatenate(parts)


def _resamples(n: int, seed: int, rounds: int) -> Iterator[Floats]:
    """How often each of `n` queries is drawn, in blocks of resamples."""
    if n * rounds <= _BLOCK:
        yield _at_once(_drawn, n, seed, rounds)
        return
    rng = np.random.default_rng(seed)
    for size in _sizes(n, rounds):
        yield _drawn(rng, n, size)


def _drawn(rng: np.random.Generator, n: int, size: int) -> Floats:
    drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _sizes(n: int, rounds: int) -> Iterator[int]:
    """How many rounds at a time fit into a block."""
    block = max(1, _BLOCK // max(n, 1))
    for start in range(0, rounds, block):
        yield min(block, rounds - start)


@lru_cache(maxsize=4)
def _at_once(
    draw: Callable[[np.random.Generator, int, int], Floats], n: int, seed: int, rounds: int
) -> Floats:
    """All rounds in one block, kept for the next measure and the next run of the same queries."""
    found = draw(np.random.default_rng(seed), n, rounds)
    found.setflags(write=False)
    return found


def widened_level(n: int, level: float = LEVEL) -> float:
    """The level whose percentiles cover as wanted: as much wider as t is than the normal.

    A bootstrap over n queries is too narrow by the square root of (n - 1) / n and by the normal for
    t. After Hesterberg (2015), The American Statistician 69(4).
    """
    z = math.sqrt(n / (n - 1)) * t_quantile(0.5 + level / 2, n - 1)
    return math.erf(z / math.sqrt(2))


def interval(means: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The percentile interval of resampled means, one a column; `nan` values do not count."""
    tail = (1 - level) / 2
    ends = [[_quantile(column, share) for share in (tail, 1 - tail)] for column in means.T]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _quantile(values: Floats, share: float) -> float:
    """The quantile between the two nearest values (numpy's own loads its masked arrays first)."""
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return float("nan")
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))


def randomisation(differences: Floats, seed: int, rounds: int = FLIPS) -> tuple[Floats, Floats]:
    """Two-sided p of paired differences `(rows, queries)`, alone and by max-T over the rows.

    Under the null the two systems of a query are exchangeable: signs are flipped, for all rows
    alike. max-T compares each row's studentised mean with the largest of all rows (Westfall and
    Young 1993), which allows for rows that move together. Of few queries all assignments are gone
    through, so that p is exact; else the observed one counts as one of the drawn.
    """
    n = differences.shape[1]
    exact = 2**n <= rounds
    observed = np.abs(_studentised(differences.mean(axis=1), differences))
    beaten, beaten_by_max = np.zeros(len(differences)), np.zeros(len(differences))
    flips = (
        [_all_signs(differences.shape[1])] if exact else _flips(differences.shape[1], seed, rounds)
    )
    for signs in flips:
        flipped = np.abs(_studentised(signs @ differences.T / n, differences))
        flipped += 1e-12 * flipped  # sums in another order must not lose a tie
        beaten += np.sum(flipped >= observed, axis=0)
        beaten_by_max += np.sum(flipped.max(axis=1)[:, None] >= observed, axis=0)
    seen, of = (0, 2**n) if exact else (1, 1 + rounds)
    return (seen + beaten) / of, (seen + beaten_by_max) / of


def smallest_p(queries: int) -> float:
    """The least that a two-sided randomisation test can say of so many queries."""
    return 2.0 ** (1 - queries) if queries else 1.0


@lru_cache(maxsize=1)
def _all_signs(n: int) -> Floats:
    """Every assignment of signs, `(2 ** n, n)`."""
    bits = np.arange(2**n)[:, None] >> np.arange(n)
    found: Floats = (bits & 1).astype(np.float64) * 2.0 - 1.0
    found.setflags(write=False)
    return found


def _studentised(means: Floats, differences: Floats) -> Floats:
    """Means over their standard errors; 0 where all differences are 0."""
    n = differences.shape[1]
    squares = np.mean(differences**2, axis=1)
    variance = np.maximum(squares - means**2, 0.0)
    errors = np.sqrt(variance / max(n - 1, 1))
    safe = np.maximum(errors, 1e-9 * np.sqrt(squares))
    studentised: Floats = np.divide(means, safe, out=np.zeros_like(means), where=safe > 0)
    return studentised


def _flips(n: int, seed: int, rounds: int) -> Iterator[Floats]:
    """Signs, at random, in blocks of rounds."""
    if n * rounds <= _BLOCK:
        yield _at_once(_signs, n, seed, rounds)
        return
    rng = np.random.default_rng(seed)
    for size in _sizes(n, rounds):
        yield _signs(rng, n, size)


def _signs(rng: np.random.Generator, n: int, size: int) -> Floats:
    return rng.integers(2, size=(size, n)).astype(np.float64) * 2.0 - 1.0


def holm(p: Floats) -> Floats:
    """p-values corrected for their number after Holm (1979), Scandinavian J. of Statistics 6(2)."""
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def wins(differences: Floats) -> tuple[int, int, int]:
    """How many differences are above, at and below zero, up to rounding."""
    up: Flags = differences > 1e-9
    down: Flags = differences < -1e-9
    counts: Integers = np.array([up.sum(), len(differences) - up.sum() - down.sum(), down.sum()])
    return int(counts[0]), int(counts[1]), int(counts[2])
