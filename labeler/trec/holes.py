"""The documents of a run that have no grade, by query and rank: counted, and some of them kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.data import Run
from labeler.trec.blocks import Batch
from labeler.trec.columns import Small, Words, keys_of
from labeler.trec.pool import Pool

MOST = 8_000_000
"""So many unjudged documents of all runs are told apart by their ids."""

MOST_NEAR = 16_000_000
"""So many of a run, above the ranks that measures look at, are kept one by one."""


class Holes(NamedTuple):
    """A run's documents without a grade: queries, ranks from 0, hashes of ids, by query and rank.

    `outside` says which stand outside the qrels; the others have a negative grade there.
    """

    query: Small
    rank: Small
    mark: Words
    outside: Flags

    def where(self, mask: Flags | Integers | slice) -> Holes:
        """Those in the mask, or at these places."""
        return Holes(self.query[mask], self.rank[mask], self.mark[mask], self.outside[mask])


NO_HOLES = Holes(
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.uint64),
    np.zeros(0, dtype=np.bool_),
)


def holes_of(run: Run, pool: Pool, ties: str) -> Holes:
    """The documents without a grade, in the order of the ranking."""
    rows: list[tuple[int, int, bool]] = []
    ids: list[bytes] = []
    for number, query in enumerate(pool.queries):
        scores, grades = run.get(query, {}), pool.qrels[query]
        order = list(scores)
        if ties != "file":
            order.sort(key=lambda doc: (scores[doc], doc.encode()), reverse=True)
        unjudged = [(rank, doc) for rank, doc in enumerate(order) if grades.get(doc, -1) < 0]
        rows += [(number, rank, doc not in grades) for rank, doc in unjudged]
        ids += [doc.encode() for _, doc in unjudged]
    if not rows:
        return NO_HOLES
    numbers, ranks, outside = zip(*rows, strict=True)
    marks = keys_of(ids).hashes
    return _holes(np.array(numbers), np.array(ranks), marks, np.array(outside))


def holes_in(
    lines: Batch, pool_query: Integers, ranks: Integers, judged: tuple[Integers, Integers]
) -> Holes:
    """The lines of the pool's queries but those judged; `judged` are these, and all in the pool."""
    unjudged = (pool_query >= 0)[lines.query]
    outside = unjudged.copy()
    unjudged[judged[0]] = False
    outside[judged[1]] = False
    at = np.flatnonzero(unjudged)
    query = pool_query[lines.query[at]]
    sort = np.lexsort((ranks[at], query))
    at = at[sort]
    return _holes(query[sort], ranks[at], lines.documents.hashes[at], outside[at])


def _holes(query: Integers, rank: Integers, mark: Words, outside: Flags) -> Holes:
    return Holes(query.astype(np.int32), rank.astype(np.int32), mark, outside)


def all_holes(parts: Sequence[Holes]) -> Holes:
    """The holes of all parts."""
    columns = zip(NO_HOLES, *parts, strict=True)
    return Holes(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True)
class RunHoles:
    """What is kept of a run's holes, which does not grow with its lines beyond a limit.

    `outside` counts those that stand outside the qrels, by query of these; `marked` are they, or
    `None` where they are more than `MOST`. `near` are all of ranks below `depth`.
    """

    outside: Integers
    marked: Holes | None
    near: Holes
    depth: float


class GatheredHoles:
    """Holes as they come, some queries at a time, of which no more are kept than there is room for.

    `depths` are the ranks down to which they are wanted. Where those above the deepest are more
    than `most_near`, those above the next are kept.
    """

    def __init__(
        self,
        queries: int,
        depths: Sequence[float],
        most: int = MOST,
        most_near: int = MOST_NEAR,
    ) -> None:
        self._outside = np.zeros(queries, dtype=np.int64)
        self._marked: list[Holes] | None = []
        self._near: list[Holes] = []
        self._depths = sorted({0.0, *depths})
        self._most, self._most_near = most, most_near

    def add(self, holes: Holes) -> None:
        """The holes of some more queries."""
        outside = holes.where(holes.outside)
        self._outside += np.bincount(outside.query, minlength=len(self._outside))
        if self._marked is not None:
            self._marked.append(outside)
            self._marked = self._marked if _count(self._marked) <= self._most else None
        self._near.append(above(holes, self._depths[-1]))
        while _count(self._near) > self._most_near:
            self._depths.pop()
            self._near = [above(part, self._depths[-1]) for part in self._near]

    def done(self) -> RunHoles:
        """What is kept of all of them."""
        marked = None if self._marked is None else all_holes(self._marked)
        return RunHoles(self._outside, marked, all_holes(self._near), self._depths[-1])


def above(holes: Holes, depth: float) -> Holes:
    """Those of ranks below `depth`."""
    return holes.where(holes.rank < depth)


def _count(parts: Sequence[Holes]) -> int:
    return sum(len(part.query) for part in parts)
