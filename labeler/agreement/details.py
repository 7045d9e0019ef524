"""Where two assessors disagree: by class, by people's grade, by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from labeler.agreement.compare import Agreement, StatisticOptions
from labeler.arrays import Floats
from labeler.stats.intervals import between
from labeler.stats.resampling import AT_ONCE


class ClassFigures(NamedTuple):
    """How well the other finds the pairs that people gave one grade; `None` where undefined."""

    grade: int
    precision: float | None
    recall: float | None
    f1: float | None
    support: float


class GradeBias(NamedTuple):
    """The mean of the other's grade minus people's, over the pairs that people gave `grade`."""

    grade: int
    bias: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class QueryFigures:
    """One query: its pairs, the share with the same grade, mean absolute error, signed bias."""

    query_id: str
    pairs: float
    agreement: float
    mae: float
    bias: float


def by_class(table: Floats, scale: tuple[int, ...]) -> list[ClassFigures]:
    """Precision, recall and F1 of each grade, people's being the truth."""
    rows = []
    for index, grade in enumerate(scale):
        hits, assigned, true = table[index, index], table[:, index].sum(), table[index].sum()
        rows.append(
            ClassFigures(
                grade,
                _share(hits, assigned),
                _share(hits, true),
                _share(2 * hits, assigned + true),
                float(true),
            )
        )
    return rows


def bias_by_grade(agreement: Agreement, options: StatisticOptions) -> list[GradeBias]:
    """The signed bias at each of people's grades, with intervals over queries."""
    grades = np.array(agreement.scale, dtype=np.float64)
    rows = []
    for index, grade in enumerate(agreement.scale):
        sample = agreement.sample.part(index)
        counts = sample.total.sum()
        if not counts:
            rows.append(GradeBias(grade, None, None, None))
            continue

        def bias(cells: Floats, own: float = float(grade)) -> Floats:
            with np.errstate(invalid="ignore"):
                return np.asarray(cells @ (grades - own) / cells.sum(axis=-1), dtype=np.float64)

        ends = between(options.method, sample, bias)
        rows.append(GradeBias(grade, float(bias(sample.total)), *ends))
    return rows


class QueriesByDisagreement(Sequence[QueryFigures]):
    """Every query's figures, those that disagree most first: by mean error times root of pairs.

    By the mean alone, queries of one or two pairs would always come first. What is held is arrays,
    for queries may be a million.
    """

    def __init__(self, queries: Sequence[str], tables: Floats, scale: Sequence[int]) -> None:
        grades = np.array(scale, dtype=np.float64)
        # (k * k,): how far the other's grade is above people's
        apart = (grades[None, :] - grades[:, None]).ravel()
        totals = tables.sum(axis=(1, 2))
        graded = np.flatnonzero(totals > 0)
        pairs = totals[graded]
        mae, bias, same = (np.zeros(len(graded)) for _ in range(3))
        for start in range(0, len(graded), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            share = tables[graded[rows]] / pairs[rows, None, None]
            cells = share.reshape(len(share), -1)
            mae[rows] = (cells * np.abs(apart)).sum(axis=1)
            bias[rows] = (cells * apart).sum(axis=1)
            same[rows] = np.trace(share, axis1=1, axis2=2)
        self._ids = [queries[at] for at in graded.tolist()]
        self._figures = np.stack([pairs, same, mae, bias], axis=1)
        by_id = np.array(sorted(range(len(graded)), key=self._ids.__getitem__), dtype=np.int64)
        weighty = -mae * np.sqrt(pairs)
        self._order = by_id[np.argsort(weighty[by_id], kind="stable")]

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> QueryFigures: ...
    @overload
    def __getitem__(self, index: slice) -> list[QueryFigures]: ...
    def __getitem__(self, index: int | slice) -> QueryFigures | list[QueryFigures]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        row = int(self._order[index])
        return QueryFigures(self._ids[row], *self._figures[row].tolist())


def by_query(agreement: Agreement) -> QueriesByDisagreement:
    """Every query, those that disagree most first."""
    return QueriesByDisagreement(agreement.queries, agreement.tables, agreement.scale)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
