"""The documents of a run that have no grade, by query and rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.data import Run
from labeler.trec.blocks import Batch
from labeler.trec.columns import Words, keys_of
from labeler.trec.pool import Pool


class Holes(NamedTuple):
    """A run's documents without a grade: queries, ranks from 0, hashes of ids, by query and rank.

    `outside` says which stand outside the qrels; the others have a negative grade there.
    """

    query: Integers
    rank: Integers
    mark: Words
    outside: Flags

    def where(self, mask: Flags) -> Holes:
        """Those in the mask."""
        return Holes(self.query[mask], self.rank[mask], self.mark[mask], self.outside[mask])


NO_HOLES = Holes(
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
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
    return Holes(np.array(numbers), np.array(ranks), marks, np.array(outside))


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
    return Holes(query[sort], ranks[at], lines.documents.hashes[at], outside[at])


def all_holes(parts: Sequence[Holes]) -> Holes:
    """The holes of all parts."""
    return Holes(
        np.concatenate([NO_HOLES.query, *(part.query for part in parts)]),
        np.concatenate([NO_HOLES.rank, *(part.rank for part in parts)]),
        np.concatenate([NO_HOLES.mark, *(part.mark for part in parts)]),
        np.concatenate([NO_HOLES.outside, *(part.outside for part in parts)]),
    )
