"""Rankings against their qrels, as columns: what every measure is computed from.

Only the retrieved documents that stand in the qrels are kept, with their ranks: a measure that
needs the others knows how many were retrieved. Sums run in rank order, one addition after another,
as trec_eval's do, so that values are equal to the last bit.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Qrels, Run
from labeler.errors import BadInput


@dataclass(frozen=True)
class Rankings:
    """One run over `n` queries, which are sorted by id.

    `query`, `rank`, `grade` and `score` are parallel: one entry for a retrieved document of the
    qrels, by query, then by rank, which counts from 0. A negative grade: in the pool, not judged.
    `pool_query` and `pool_grade` are the qrels of the same queries, best grade first.
    """

    queries: tuple[str, ...]
    retrieved: Integers
    query: Integers
    rank: Integers
    grade: Integers
    score: Floats
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
            score=self.score[judged],
        )

    def cut(self, depth: int) -> Rankings:
        """The rankings as if only their first `depth` documents had been retrieved."""
        above = self.rank < depth
        columns = {name: getattr(self, name)[above] for name in ("query", "rank", "grade", "score")}
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
            self.score[entries],
            renumbered[self.pool_query[pool_entries]],
            self.pool_grade[pool_entries],
            self.max_grade,
        )

    @property
    def documents(self) -> Integers:
        """How many documents each query retrieved, and how many are in its pool, together."""
        return self.retrieved + np.bincount(self.pool_query, minlength=self.n)

    def blocks(self, documents: Integers, size: int) -> Iterator[Rankings]:
        """The rankings of some queries after another, about `size` documents at a time.

        `documents` are those that each query counts. No query is in two blocks; one with more than
        an eighth of them is alone, as what is worked out by ranks takes the deepest of a block.
        """
        block = np.cumsum(documents) // size
        is_large = documents > size // 8
        cuts = (np.diff(block) > 0) | is_large[1:] | is_large[:-1]
        edges = [0, *(np.flatnonzero(cuts) + 1).tolist(), self.n]
        if len(edges) == 2:
            yield self
            return
        entries = np.searchsorted(self.query, edges).tolist()
        pool_entries = np.searchsorted(self.pool_query, edges).tolist()
        parts = zip(pairwise(edges), pairwise(entries), pairwise(pool_entries), strict=True)
        for queries, own, pool in parts:
            yield self._slice(slice(*queries), slice(*own), slice(*pool))

    def _slice(self, queries: slice, own: slice, pool: slice) -> Rankings:
        """The rankings of consecutive queries, which have these entries."""
        return Rankings(
            self.queries[queries],
            self.retrieved[queries],
            self.query[own] - queries.start,
            self.rank[own],
            self.grade[own],
            self.score[own],
            self.pool_query[pool] - queries.start,
            self.pool_grade[pool],
            self.max_grade,
        )


def sums(query: Integers, weights: Floats, n: int) -> Floats:
    """The sum of the weights of each query, added one by one."""
    return np.bincount(query, weights=weights, minlength=n).astype(np.float64, copy=False)


def ordinals(query: Integers) -> Integers:
    """For entries sorted by query: the how-manieth of its query each is, from 0."""
    counts = np.bincount(query) if len(query) else np.zeros(0, dtype=np.int64)
    return np.arange(len(query)) - (np.cumsum(counts) - counts)[query]


def firsts(query: Integers) -> Integers:
    """For entries sorted by query: the indices at which a new query begins."""
    return np.flatnonzero(np.diff(query, prepend=-1))


def rankings(qrels: Qrels, run: Run, max_grade: int | None = None) -> Rankings:
    """One run's rankings of the queries of the qrels.

    Documents rank by score, tied ones by id, both descending. Queries that the run lacks retrieve
    nothing.
    """
    query_ids = sorted(query_id for query_id, grades in qrels.items() if grades)
    parts = [_by_score(q, qrels[q], run.get(q, {})) for q in query_ids]
    pool_query, pool_grade = _pool([qrels[q] for q in query_ids])
    return Rankings(
        tuple(query_ids),
        np.array([len(run.get(q, ())) for q in query_ids], dtype=np.int64),
        np.repeat(np.arange(len(query_ids)), [len(part[0]) for part in parts]),
        np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]),
        np.concatenate([np.zeros(0), *(part[2] for part in parts)]),
        pool_query,
        pool_grade,
        top_grade(pool_grade) if max_grade is None else max_grade,
    )


def top_grade(grades: Integers) -> int:
    """The largest grade of the qrels, 1 at least."""
    return int(np.max(grades, initial=1))


Placed = tuple[Integers, Integers, Floats]


def _by_score(query_id: str, grades: Mapping[str, int], scores: Mapping[str, float]) -> Placed:
    """Ranks, grades and scores of the retrieved documents of the qrels, in trec_eval's order."""
    judged = list(grades.keys() & scores.keys())
    values = np.fromiter(scores.values(), np.float64, len(scores))
    if not np.isfinite(values).all():
        _check_finite(query_id, scores)
    order = None if (values[1:] <= values[:-1]).all() else np.argsort(-values)
    ascending = (values if order is None else values[order])[::-1]
    score = np.array([scores[doc_id] for doc_id in judged], dtype=np.float64)
    rank = len(values) - np.searchsorted(ascending, score, side="right")
    end = len(values) - np.searchsorted(ascending, score)
    tied = np.flatnonzero(end - rank > 1).tolist()
    if tied:
        ends = rank[tied].tolist(), end[tied].tolist()
        rank[tied] += _below_in_tie(list(scores), order, [judged[i] for i in tied], *ends)
    best = np.argsort(rank)
    return rank[best], _grades(query_id, [grades[judged[i]] for i in best.tolist()]), score[best]


def _below_in_tie(
    ids: list[str], order: Integers | None, doc_ids: list[str], first: list[int], end: list[int]
) -> list[int]:
    """How many documents of the same score go before each: those whose id is greater.

    `first` and `end` say where those of its score stand among the `ids`, taken in the `order`.
    """
    groups: dict[int, list[str]] = {}
    below = []
    for doc_id, start, stop in zip(doc_ids, first, end, strict=True):
        group = groups.get(start)
        if group is None:
            among = slice(start, stop)
            tied = ids[among] if order is None else itemgetter(*order[among].tolist())(ids)
            group = groups[start] = sorted(tied)
        below.append(len(group) - bisect_right(group, doc_id))
    return below


def _check_finite(query_id: str, scores: Mapping[str, float]) -> None:
    for doc_id, score in scores.items():
        if not math.isfinite(score):
            raise BadInput(f"query {query_id}, document {doc_id}: the score {score} is not finite")


def _grades(query_id: str, grades: Sequence[int]) -> Integers:
    array = np.array(grades) if grades else np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "ib":
        raise BadInput(f"query {query_id}: expected integer grades, found {array.dtype}")
    return array.astype(np.int64)


def _pool(qrels: Sequence[Mapping[str, int]]) -> tuple[Integers, Integers]:
    """Query numbers and grades of all judged pairs, by query, best grade first."""
    sizes = [len(grades) for grades in qrels]
    query = np.repeat(np.arange(len(sizes)), sizes)
    grade = _grades("?", [grade for grades in qrels for grade in grades.values()])
    order = np.lexsort((-grade, query))
    return query[order], grade[order]
