"""Rankings against their qrels, as columns: what every measure is computed from.

Only the retrieved documents that stand in the qrels are kept, with their ranks: a measure that
needs the others knows how many were retrieved. Sums run in rank order, one addition after another,
as trec_eval's do, so that values are equal to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from labeler.arrays import Flags, Floats, Integers


@dataclass(frozen=True)
class Rankings:
    """One run over `n` queries, which are sorted by id.

    `query`, `rank` and `grade` are parallel: one entry for a retrieved document of the
    qrels, by query, then by rank, which counts from 0. A negative grade: in the pool, not judged.
    `pool_query` and `pool_grade` are the qrels of the same queries, best grade first.
    """

    queries: tuple[str, ...]
    retrieved: Integers
    query: Integers
    rank: Integers
    grade: Integers
    pool_query: Integers
    pool_grade: Integers
    max_grade: int

    @property
    def n(self) -> int:
        """How many queries."""
        return len(self.queries)

    def count(self, mask: Flags) -> Integers:
        """How many of the documents in the mask each query retrieved."""
        return np.bincount(self.query[mask], minlength=self.n)

    def total(self, mask: Flags, weights: Floats) -> Floats:
        """The sum of the weights, one for each document in the mask, by query, in rank order."""
        return sums(self.query[mask], weights, self.n)

    def in_pool(self, low: int, high: float = math.inf) -> Integers:
        """How many documents of each query have `low` <= grade < `high` in the qrels."""
        mask = (self.pool_grade >= low) & (self.pool_grade < high)
        return np.bincount(self.pool_query[mask], minlength=self.n)

    @cached_property
    def ideal_rank(self) -> Integers:
        """The rank of each entry of the pool in its query's ideal ranking, from 0."""
        return ordinals(self.pool_query)

    @cached_property
    def condensed(self) -> Rankings:
        """The rankings without their unjudged documents."""
        judged = self.grade >= 0
        query = self.query[judged]
        return replace(
            self,
            retrieved=np.bincount(query, minlength=self.n),
            query=query,
            rank=ordinals(query),
            grade=self.grade[judged],
        )

    def cut(self, depth: int) -> Rankings:
        """The rankings as if only their first `depth` documents had been retrieved."""
        above = self.rank < depth
        columns = {name: getattr(self, name)[above] for name in ("query", "rank", "grade")}
        return replace(self, retrieved=np.minimum(self.retrieved, depth), **columns)

    def choose(self, mask: Flags) -> Rankings:
        """The rankings of the queries in the mask alone."""
        renumbered = np.cumsum(mask) - 1
        entries, pool_entries = mask[self.query], mask[self.pool_query]
        return Rankings(
            tuple(name for name, keep in zip(self.queries, mask, strict=True) if keep),
            self.retrieved[mask],
            renumbered[self.query[entries]],
            self.rank[entries],
            self.grade[entries],
            renumbered[self.pool_query[pool_entries]],
            self.pool_grade[pool_entries],
            self.max_grade,
        )


def sums(query: Integers, weights: Floats, n: int) -> Floats:
    """The sum of the weights of each query, added one by one."""
    return np.bincount(query, weights=weights, minlength=n).astype(float, copy=False)


def ordinals(query: Integers) -> Integers:
    """For entries sorted by query: the how-manieth of its query each is, from 0."""
    counts = np.bincount(query) if len(query) else np.zeros(0, np.int64)
    return np.arange(len(query)) - (np.cumsum(counts) - counts)[query]


def firsts(query: Integers) -> Integers:
    """For entries sorted by query: the indices at which a new query begins."""
    return np.flatnonzero(np.diff(query, prepend=-1))


def top_grade(grades: Integers) -> int:
    """The largest grade of the qrels, 1 at least."""
    return int(np.max(grades, initial=1))
