"""Who is no colleague of the others: a consensus made from their grades, a copy of another.

An assessor beside a consensus and the people it was made from is measured against a part of each of
them. Copies of one assessor agree with each other, which says nothing of how right they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from labeler.agreement.several.joint import GradeMatrix, tables_of_two
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats

OUTSIDE = 0.25
"""A consensus lies outside of all others' grades at most this often, as a share of the others."""
FEWEST_OUTSIDE, FEWEST_PAIRS = 10, 30
"""With fewer pairs than these nothing is concluded from what never happened."""
ALIKE, CLOSER = 0.8, 0.25
"""Copies have at least this kappa, and lack this share of what both lack at best with people."""


def is_consensus(matrix: GradeMatrix, person: str, others: Sequence[str]) -> bool:
    """Whether a person's grades look as if they were made from the others'.

    Whatever is made from grades (their median, majority, rounded mean, the pick of an adjudicator)
    lies within their range. Of independent people each leaves the range of the rest about as
    often; the least often of the `others` is the measure.
    """
    if len(others) < 2:
        return False
    whole = matrix.of(person, *others).complete()
    outside = [_outside(whole, column) for column in range(len(others) + 1)]
    return min(outside[1:]) >= FEWEST_OUTSIDE and outside[0] <= OUTSIDE * min(outside[1:])


def _outside(matrix: GradeMatrix, column: int) -> int:
    """In how many pairs a column's grade is above or below all the others'."""
    grade, rest = matrix.values[:, column], np.delete(matrix.values, column, axis=1)
    return int(((grade < rest.min(axis=1)) | (grade > rest.max(axis=1))).sum())


def copies(
    matrix: GradeMatrix, assessors: Sequence[str], people: Sequence[str]
) -> list[tuple[str, str]]:
    """Every two of the assessors, or of them and the people, that agree as only copies do.

    Their kappa is `ALIKE` at least, and lacks at most a quarter (`CLOSER`) of what the kappa of
    either with any other person lacks.
    """
    names = (*people, *assessors)
    pairs = [pair for pair in combinations(names, 2) if pair[1] in assessors]
    kappas = {pair: _kappa(matrix, *pair) for pair in pairs}
    return [pair for pair in pairs if _is_copy(kappas, pair, people)]


def _is_copy(
    kappas: dict[tuple[str, str], float], pair: tuple[str, str], people: Sequence[str]
) -> bool:
    with_people = [
        kappa
        for (person, assessor), kappa in kappas.items()
        if person in people and person not in pair and assessor in pair and not np.isnan(kappa)
    ]
    if not with_people:
        return False
    return kappas[pair] >= ALIKE and 1 - kappas[pair] <= CLOSER * (1 - max(with_people))


def _kappa(matrix: GradeMatrix, first: str, second: str) -> float:
    """Cohen's kappa of two columns; `nan` of few pairs."""
    columns = [matrix.assessors.index(name) for name in (first, second)]
    both = (matrix.values[:, columns] >= 0).all(axis=1)
    if both.sum() < FEWEST_PAIRS:
        return float("nan")
    table: Floats = tables_of_two(matrix, *columns).sum(axis=0)
    kappa = find_statistic("kappa", matrix.grades)
    return float(kappa.compute(table, np.array(matrix.grades, dtype=np.float64)))


def distinct(assessors: Sequence[str], copied: Sequence[tuple[str, str]]) -> list[str]:
    """The assessors without those that are copies of one before them."""
    return [name for name in assessors if all(second != name for _, second in copied)]
