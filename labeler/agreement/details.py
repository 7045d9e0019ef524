"""Where two assessors disagree: by class, by people's grade, by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.agreement.compare import Agreement, StatisticOptions
from labeler.arrays import Floats
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample


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
        sample = Sample(agreement.tables[:, index, :], options.draws, options.seed)
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


def by_query(agreement: Agreement) -> list[QueryFigures]:
    """Every query, those that disagree most first: by mean absolute error times the root of pairs.

    By the mean alone, queries of one or two pairs would always come first.
    """
    grades = np.array(agreement.scale, dtype=np.float64)
    apart = grades[None, :] - grades[:, None]
    rows = []
    for query_id, table in zip(agreement.queries, agreement.tables, strict=True):
        total = float(table.sum())
        if total > 0:
            share = table / total
            errors = float((share * np.abs(apart)).sum()), float((share * apart).sum())
            rows.append(QueryFigures(query_id, total, float(np.trace(share)), *errors))
    return sorted(rows, key=lambda row: (-row.mae * row.pairs**0.5, row.query_id))


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
