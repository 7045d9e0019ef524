"""How a rater agrees with the others, and with pairs whose right grade is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.agreement.compare import Estimate, StatisticOptions
from labeler.agreement.estimate import estimate
from labeler.agreement.several.joint import GradeMatrix, grade_matrix, tables_of_two
from labeler.agreement.statistics import find_statistic
from labeler.collection.annotations import JournalRow
from labeler.data import Qrels
from labeler.report.table import Interval
from labeler.stats.resampling import Sample
from labeler.stats.shares import clustered_interval

STATISTICS = ("kappa", "alpha-ordinal")
"""What is said of a rater beside the others."""


@dataclass(frozen=True)
class Overlap:
    """A rater beside every other one, on the pairs that both graded; `None` where undefined.

    A pair that two others graded, too, counts twice: once beside each.
    """

    pairs: int
    queries: int
    others: tuple[str, ...]
    statistics: Mapping[str, Estimate]

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        figures = {
            name: {"value": e.value, "low": e.low, "high": e.high}
            for name, e in self.statistics.items()
        }
        return {
            "pairs": self.pairs,
            "queries": self.queries,
            "others": list(self.others),
            **figures,
        }


@dataclass(frozen=True)
class GoldAccuracy:
    """The share of gold pairs to which a rater gave the right grade, over queries.

    `bias` is the mean of the rater's grade less the right one.
    """

    pairs: int
    share: Interval
    bias: float

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {"pairs": self.pairs, "accuracy": self.share._asdict(), "bias": self.bias}


def matrix_of(rows_by_rater: Mapping[str, Sequence[JournalRow]]) -> GradeMatrix | None:
    """The grades of all raters side by side; `None` where none has given one."""
    graded: dict[str, Qrels] = {}
    grades: set[int] = set()
    for rater, rows in rows_by_rater.items():
        for row in rows:
            if row.grade is not None:
                graded.setdefault(rater, {}).setdefault(row.query_id, {})[row.doc_id] = row.grade
                grades.add(row.grade)
    if not graded:
        return None
    lowest = min(grades)
    # the grades that occur, and another one where they are all alike
    return grade_matrix(graded, tuple(sorted(grades)) if len(grades) > 1 else (lowest, lowest + 1))


def overlap_of(matrix: GradeMatrix, rater: str, options: StatisticOptions) -> Overlap | None:
    """A rater beside all others; `None` where nobody else graded a pair of theirs."""
    if rater not in matrix.assessors:
        return None
    column = matrix.assessors.index(rater)
    tables, others, both = np.zeros((len(matrix.queries),) + 2 * (len(matrix.grades),)), [], 0
    for index, other in enumerate(matrix.assessors):
        beside = tables_of_two(matrix, index, column)
        if index != column and beside.any():
            tables += beside
            others.append(other)
            both += int(beside.sum())
    inside = tables.sum(axis=(1, 2)) > 0
    if not others:
        return None
    sample = Sample(tables[inside], options.draws, options.seed)
    grades = np.array(matrix.grades, dtype=np.float64)
    figures = {
        name: estimate(find_statistic(name, matrix.grades), sample, grades, options, both)
        for name in STATISTICS
    }
    return Overlap(both, int(inside.sum()), tuple(others), figures)


def gold_grade(row: JournalRow) -> int | None:
    """The right grade of a pair that trains raters, as the journal keeps it."""
    grade = row.detail.get("gold")
    return grade if type(grade) is int else None


def gold_accuracy(rows: Sequence[JournalRow]) -> GoldAccuracy | None:
    """How often the answers to gold pairs are right; `None` without any."""
    graded = [(r, r.grade, gold_grade(r)) for r in rows if r.purpose == "gold"]
    known_pairs = [(r, grade, gold) for r, grade, gold in graded if None not in (grade, gold)]
    if not known_pairs:
        return None
    apart = np.array([(grade or 0) - (gold or 0) for _, grade, gold in known_pairs], dtype=float)
    right = (apart == 0).astype(np.float64)
    ends = clustered_interval(right, [row.query_id for row, _, _ in known_pairs])
    return GoldAccuracy(len(right), Interval(float(right.mean()), *ends), float(apart.mean()))
