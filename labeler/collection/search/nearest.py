"""The vectors nearest to those of queries, among vectors that come a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Integers
from labeler.trec.order import best

Vectors = NDArray[np.float32]

_QUERIES_AT_ONCE = 256
_ROUNDING = 1e-4
"""Far more than a product of unit vectors in 32-bit floats is ever off."""


class Nearest:
    """Keeps the `depth` rows of the highest cosine for each query, as blocks of rows come.

    A block's products are computed at once, which is fast, and whose last digits depend on how the
    block was cut. So those that may be among the best are computed again in 64 bits, one by one:
    equal texts have equal scores, wherever they stand.
    """

    def __init__(self, queries: Vectors, depth: int) -> None:
        self._queries = queries
        self._exact = queries.astype(np.float64)
        self._depth = depth
        self._floor = np.full(len(queries), -np.inf)
        self._rows = [np.zeros(0, dtype=np.int64)] * len(queries)
        self._scores = [np.zeros(0, dtype=np.float32)] * len(queries)

    def add(self, first: int, vectors: Vectors) -> None:
        """Take the vectors of the rows from `first` on."""
        for start in range(0, len(self._queries), _QUERIES_AT_ONCE):
            products = self._queries[start : start + _QUERIES_AT_ONCE] @ vectors.T
            for number, product in enumerate(products, start):
                self._take(number, first, vectors, product)

    def ranked(self, ids: Sequence[str]) -> Iterator[dict[str, float]]:
        """For each query, the ids of its best rows with their scores, ties by id descending."""
        for rows, scores in zip(self._rows, self._scores, strict=True):
            yield best(scores, [ids[row] for row in rows.tolist()], self._depth)

    def _take(self, number: int, first: int, vectors: Vectors, product: Vectors) -> None:
        near = self._near(product, float(self._floor[number]))
        if not len(near):
            return
        exact = vectors[near].astype(np.float64) @ self._exact[number]
        rows = np.concatenate([self._rows[number], near + first])
        scores = np.concatenate([self._scores[number], exact.astype(np.float32)])
        if len(rows) > self._depth:
            floor = np.partition(scores, -self._depth)[-self._depth]
            rows, scores = rows[scores >= floor], scores[scores >= floor]
            self._floor[number] = floor
        self._rows[number], self._scores[number] = rows, scores

    def _near(self, product: Vectors, floor: float) -> Integers:
        """The rows of a block that may be among the best."""
        near = np.flatnonzero(product >= floor - _ROUNDING)
        if len(near) > self._depth:
            floor = float(np.partition(product[near], -self._depth)[-self._depth])
            near = near[product[near] >= floor - _ROUNDING]
        return near
