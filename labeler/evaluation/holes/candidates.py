"""The unjudged documents of several runs together: what any of them retrieved may be relevant.

A document that another run retrieved exists, so that it is one more candidate: relevant, it raises
what could be found, and what is ideal, for the runs that lack it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labeler.arrays import Integers
from labeler.metrics import Rankings
from labeler.trec.columns import Words, mixed
from labeler.trec.holes import MOST, Holes, RunHoles


class UnjudgedOfAllRuns:
    """Counts, for each query of the qrels, the unjudged documents of all runs added so far.

    Beyond `MOST` documents retrieved by several runs count once for each: bounds are then wider
    than need be, and hold.
    """

    def __init__(self, queries: Sequence[str]) -> None:
        self._number = {query: index for index, query in enumerate(queries)}
        self._marks: Words | None = np.zeros(0, dtype=np.uint64)
        self.total = np.zeros(len(queries), dtype=np.int64)

    def add(self, of_run: RunHoles) -> None:
        """The documents of one more run that stand outside the qrels."""
        more, holes = of_run.outside, of_run.marked
        if self._marks is None or holes is None or len(self._marks) + len(holes.query) > MOST:
            self._marks = None
            self.total += more
            return
        marks = np.sort(holes.mark + mixed(holes.query))
        if len(self._marks):
            at = np.searchsorted(self._marks, marks)
            old = self._marks[np.minimum(at, len(self._marks) - 1)] == marks
            new = np.ones(len(marks), dtype=np.bool_)
            new[old] = False
            marks = marks[new]
            more = more - self._count(holes, marks)
        # of two sorted stretches a stable sort makes one in one go
        self._marks = np.sort(np.concatenate([self._marks, marks]), kind="stable")
        self.total += more

    def _count(self, holes: Holes, new: Words) -> Integers:
        """How many of each query's documents are none of the new ones."""
        own = holes.mark + mixed(holes.query)
        at = np.minimum(np.searchsorted(new, own), max(len(new) - 1, 0))
        old = new[at] != own if len(new) else np.ones(len(own), dtype=np.bool_)
        counts: Integers = np.bincount(holes.query[old], minlength=len(self.total))
        return counts

    def others(self, queries: Sequence[str], own: Integers) -> Integers:
        """How many documents of other runs each of some queries has that this run lacks.

        `own` are how many documents of its own stand outside the qrels, by query of the qrels.
        """
        index = np.array([self._number[query] for query in queries], dtype=np.int64)
        others: Integers = (self.total - own)[index]
        return others


def joined(ranked: Rankings, others: Integers) -> Rankings:
    """The rankings with so many more documents a query in their pool, not judged."""
    if not others.any():
        return ranked
    query = np.concatenate([ranked.pool_query, np.repeat(np.arange(ranked.n), others)])
    grade = np.concatenate([ranked.pool_grade, np.full(int(others.sum()), -1)])
    order = np.lexsort((-grade, query))
    return replace(ranked, pool_query=query[order], pool_grade=grade[order])
