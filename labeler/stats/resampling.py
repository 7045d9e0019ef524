"""Resampled queries: how often each is drawn, and the sums of whatever is added up over them.

Pairs of one query are not independent, so queries are what is drawn, with replacement and as many
as there are (the cluster bootstrap). Whatever is a function of sums over queries (a mean, a
contingency table) can be had of all draws at once: draws are a matrix of counts, and one matrix
product with the queries' own values gives the sums of every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from labeler.arrays import Floats, Integers

DRAWS = 1000
"""How many draws of many queries; `draws_of` says how many of few."""
BLOCK = 4_000_000
"""The most cells of a matrix that is held at a time: 32 MB."""

AT_ONCE = 1 << 16
"""Of more queries, what is left without one each is worked out by blocks of so many."""

FEW = 8
"""Of so many queries, most of the default's draws are like another."""

Draw = Callable[[np.random.Generator, int, int], Floats]
"""A generator, a number of rows and of queries to a matrix `(rows, queries)`."""


def draws_of(queries: int) -> int:
    """As many draws as there are by default: `DRAWS`, and of few queries up to ten times as many.

    Few queries cost little, and with more draws the ends hardly depend on the seed.
    """
    return max(DRAWS, min(10 * DRAWS, 250 * DRAWS // max(queries, 1)))


def drawn_counts(queries: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each query is drawn, `(draws, queries)` in blocks of draws."""
    return in_blocks(_counts, queries, draws, seed)


def in_blocks(draw: Draw, queries: int, rows: int, seed: int) -> Iterator[Floats]:
    """The rows of a random matrix, as many at a time as fit into a block.

    A matrix that fits into one is kept for the next measure and the next run of the same queries.
    """
    if queries * rows <= BLOCK:
        yield _whole(draw, queries, rows, seed)
        return
    rng, size = np.random.default_rng(seed), max(1, BLOCK // queries)
    for start in range(0, rows, size):
        yield draw(rng, min(size, rows - start), queries)


@lru_cache(maxsize=4)
def _whole(draw: Draw, queries: int, rows: int, seed: int) -> Floats:
    matrix = draw(np.random.default_rng(seed), rows, queries)
    matrix.setflags(write=False)
    return matrix


def _counts(rng: np.random.Generator, draws: int, queries: int) -> Floats:
    # (draws, queries): which query each place of a draw holds
    drawn = rng.integers(0, queries, (draws, queries))
    # each draw has its own stretch of numbers, so that one count tells all draws apart
    drawn += queries * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * queries)
    return counts.reshape(draws, queries).astype(np.float64)


@lru_cache(maxsize=8)
def _distinct_counts(queries: int, draws: int, seed: int) -> tuple[Floats, Integers]:
    """The rows of `_counts` that differ, for few queries, and which of them each draw is."""
    (counts,) = drawn_counts(queries, draws, seed)
    # each row as the digits of a number
    _, first, which = np.unique(
        counts @ (queries + 1.0) ** np.arange(queries), return_index=True, return_inverse=True
    )
    return counts[first], which


@dataclass(frozen=True, eq=False)
class Sample:
    """What is added up over queries, `(queries, ...)`, and how often and from where it is drawn.

    Without `draws` there are `draws_of` the queries.
    """

    sums: Floats
    draws: int | None = None
    seed: int = 0

    @property
    def queries(self) -> int:
        """How many queries."""
        return len(self.sums)

    @property
    def count(self) -> int:
        """How many draws."""
        return self.draws or draws_of(self.queries)

    @cached_property
    def total(self) -> Floats:
        """The sums of all queries, `(...)`."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    @cached_property
    def resampled(self) -> Floats:
        """The sums of each draw, `(draws, ...)`."""
        counts = drawn_counts(self.queries, self.count, self.seed)
        blocks = [self._added(block) for block in counts]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def of_draws(self, compute: Callable[[Floats], Floats]) -> Floats:
        """A function of the sums of each draw; where few queries make draws alike, taken once."""
        if self.queries > FEW or self.queries * self.count > BLOCK:
            return compute(self.resampled)
        counts, which = _distinct_counts(self.queries, self.count, self.seed)
        return compute(self._added(counts))[which]

    def _added(self, counts: Floats) -> Floats:
        """The sums of draws that hold each query so many times."""
        # (draws, queries) @ (queries, features)
        drawn = counts @ self.sums.reshape(self.queries, -1)
        return np.asarray(drawn.reshape(-1, *self.sums.shape[1:]), dtype=np.float64)

    def part(self, index: int) -> Sample:
        """The sample of a part of what is added up, `sums[:, index]`, by the same draws.

        Draws of so many queries that they are not kept are not made a second time.
        """
        part = Sample(self.sums[:, index], self.draws, self.seed)
        if self.queries * self.count > BLOCK:
            part.__dict__["resampled"] = self.resampled[:, index]
        return part

    @cached_property
    def without_one(self) -> Floats:
        """The sums of all queries but one, `(queries, ...)`, for the jackknife."""
        return np.asarray(self.total - self.sums, dtype=np.float64)

    def of_rest(self, compute: Callable[[Floats], Floats]) -> Floats:
        """A function of the sums of all queries but one, `(queries,)`."""
        if self.queries <= AT_ONCE:
            return compute(self.without_one)
        starts = range(0, self.queries, AT_ONCE)
        blocks = (self.sums[start : start + AT_ONCE] for start in starts)
        return np.concatenate([compute(self.total - block) for block in blocks])
