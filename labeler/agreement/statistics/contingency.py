"""Paired grades, and the contingency tables on which every statistic of two assessors rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """Grades of the same pairs by people and by an assessor, one row a pair.

    `query`, `human` and `assessor` hold positions in `queries` and in `grades` (the scale,
    ascending); `row` is the pair's place among the human pairs, so that several assessors' rows can
    be matched; `weight` is one over the pair's inclusion probability, `None` where every pair of
    the pool was graded. Where pairs that are alike are one row, `count` is how many it stands for.
    """

    queries: tuple[str, ...]
    grades: tuple[int, ...]
    query: Integers
    human: Integers
    assessor: Integers
    row: Integers
    weight: Floats | None = None
    count: Integers | None = None

    def __len__(self) -> int:
        return len(self.query) if self.count is None else int(self.count.sum())


def restricted(pairs: GradedPairs, rows: Integers) -> GradedPairs:
    """The pairs whose `row` is among `rows`, and their queries."""
    keep = np.isin(pairs.row, rows)
    used, query = np.unique(pairs.query[keep], return_inverse=True)
    return replace(
        pairs,
        queries=tuple(pairs.queries[index] for index in used),
        query=query.astype(np.int64),
        human=pairs.human[keep],
        assessor=pairs.assessor[keep],
        row=pairs.row[keep],
        weight=None if pairs.weight is None else pairs.weight[keep],
        count=None if pairs.count is None else pairs.count[keep],
    )


def query_tables(pairs: GradedPairs) -> Floats:
    """One `(k, k)` table of counts (or of weights) a query, human grades in rows."""
    k = len(pairs.grades)
    cell = (pairs.query.astype(np.int64) * k + pairs.human) * k + pairs.assessor
    size = len(pairs.queries) * k * k
    weights = pairs.count if pairs.weight is None else pairs.weight
    counts = np.bincount(cell, weights=weights, minlength=size)
    return counts.astype(np.float64).reshape(len(pairs.queries), k, k)


def row_totals(tables: Floats) -> Floats:
    """The sum of each row, `(..., k)`."""
    return _product(tables, np.repeat(np.eye(tables.shape[-1]), tables.shape[-1], axis=0))


def column_totals(tables: Floats) -> Floats:
    """The sum of each column, `(..., k)`."""
    return _product(tables, np.tile(np.eye(tables.shape[-1]), (tables.shape[-1], 1)))


def totals(tables: Floats) -> Floats:
    """The sum of all cells of each table."""
    return _product(tables, np.ones(tables.shape[-1] ** 2))


def _product(tables: Floats, matrix: Floats) -> Floats:
    """The cells of each table times a matrix: of many small tables a tenth of the time of sums."""
    return np.asarray(tables.reshape(*tables.shape[:-2], -1) @ matrix, dtype=np.float64)


def cut(tables: Floats, position: int) -> Floats:
    """The `(..., 2, 2)` tables of "below" and "at or above" the grade at `position`."""
    below = np.add.reduceat(tables, [0, position], axis=-1)
    return np.asarray(np.add.reduceat(below, [0, position], axis=-2), dtype=np.float64)


def within_use(tables: Floats) -> NDArray[np.bool_]:
    """`(..., k)`: whether a grade lies between the lowest and the highest that a table uses."""
    used = (row_totals(tables) + column_totals(tables)) > 0
    from_lowest = np.maximum.accumulate(used, axis=-1)
    to_highest = np.maximum.accumulate(used[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(from_lowest & to_highest)


def distances(grades: Sequence[float], exponent: int) -> Floats:
    """`|i - j| ** exponent` of all pairs of grades, scaled so that the farthest pair is 1.

    An exponent of 0 gives 1 wherever two grades differ.
    """
    g = np.asarray(grades, dtype=np.float64)
    apart = np.abs(g[:, None] - g[None, :])
    if exponent == 0 or apart.max() == 0:
        return (apart > 0).astype(np.float64)
    return np.asarray((apart / apart.max()) ** exponent, dtype=np.float64)


def inner(tables: Floats, cells: Floats) -> Floats:
    """The sum over each table of its cells times these, `(k, k)` or `(..., k, k)`."""
    return _product(tables, cells.ravel()) if cells.ndim == 2 else totals(tables * cells)


def ratio(above: Floats, below: Floats) -> Floats:
    """`above / below`, `nan` where `below` is zero up to rounding."""
    below = np.asarray(below, dtype=np.float64)
    empty = np.abs(below) <= 1e-12
    with np.errstate(invalid="ignore"):
        return np.where(empty, np.nan, above / np.where(empty, 1.0, below))
