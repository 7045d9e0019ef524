"""How far an assessor agrees with itself when it is asked twice: the floor of every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.agreement.align import GradeMatrix, grade_matrix
from labeler.agreement.compare import UNDEFINED, StatisticOptions, estimate, share_of
from labeler.agreement.joint import query_coincidences
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.collection.controls import read_controls, sessions_in
from labeler.collection.judged_set import judged_in, read_set
from labeler.collection.judgements import repeats_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.report.result import Hidden, Result
from labeler.report.table import Interval, interval_text
from labeler.stats.intervals import Sample
from labeler.trec.pairs import NONE, PairColumns

MOST = 4
"""So many days of controls are read at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Retest(Result):
    """What asking the same again gives: the share of pairs with another grade, and the kappa.

    Both compare two of the `times`, on average over any two. `failed` pairs, which had no
    grade every time, are left out.
    """

    name: Hidden[str]
    times: int
    pairs: int
    queries: int
    moved: Interval
    kappa: Interval
    failed: int = 0

    @property
    def sentences(self) -> list[str]:
        """How many pairs get another grade, and below which share no difference means anything."""
        if not self.pairs:
            return [f"No pair of {self.name} had a grade every time it was asked about."]
        pairs = count_of(self.pairs, "pair")
        moved = f"{interval_text(self.moved, '.0%')} get another grade when they are asked again"
        kappa = f"test-retest kappa {interval_text(self.kappa, '.2f')}"
        floor = "Two sets that differ in no more pairs than this show no change."
        return [f"{self.name}: {pairs} asked about {self.times} times: {moved}; {kappa}.", floor]


def retest_of(collection: AnyCollection, name: str) -> Retest:
    """How far the assessor of a set of judgements agrees with itself, after `judge` with `repeat`.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> first = judge(collection, model=fake_model('{"grade": 2}'), name="first", repeat=3)
    >>> retest_of(collection, "first").moved.value
    0.0
    """
    asked, failed = asked_again(open_collection(collection), name)
    if not asked.pairs.size and not failed:
        raise BadInput(
            f"no pair of {name} was asked about more than once; judging with repeat=3 asks three "
            "times"
        )
    return retest(name, asked, failed)


def asked_again(collection: Collection, name: str) -> tuple[GradeMatrix, int]:
    """The grades of pairs that have one every time, and how many others were asked about again.

    Each time has a column.
    """
    files = repeats_of(collection, name)
    if not files:
        return _every_time([PairColumns.of({}, np.int64)]), 0
    first, *others = read_set(collection, name), *map(judged_in, files)
    of = _every_time([first.grades, *(each.grades for each in others)])
    again = [first.states.rows_in(each.states) != NONE for each in others]
    return of, int(np.any(again, axis=0).sum()) - of.pairs.size


def control_grades(
    collection: Collection, name: str, pairs: PairColumns[Any], grades: Floats
) -> dict[str, Floats]:
    """By day, the new grades of these pairs in the controls of a set, `(pairs,)`.

    `nan` where a control did not ask, or held another grade than that of `grades`.
    """
    by_day = dict[str, Floats]()
    for day, of in sessions_in(read_controls(collection, name)).items():
        news = {pair: grade for (pair, _), grade in of.items()}
        old, new = (
            pairs.beside(PairColumns.of_pairs(each, np.float64), np.nan)
            for each in (dict(of.keys()), news)
        )
        by_day[day] = np.where(old == grades, new, np.nan)
    return by_day


def asked_in_controls(pairs: PairColumns[Any], sessions: Sequence[Floats]) -> GradeMatrix:
    """The grades of the pairs that have one in each of some sessions, `(pairs,)` each."""
    columns = np.column_stack(sessions)
    every = np.asarray(~np.isnan(columns).any(axis=1))
    grades, places = np.unique(columns[every], return_inverse=True)
    times = tuple(map(str, range(len(sessions))))
    values = places.reshape(-1, len(times))
    return GradeMatrix(times, grades.astype(int).tolist(), pairs.keep(every), values)


def _every_time(columns: Sequence[PairColumns[int]]) -> GradeMatrix:
    """The pairs that have a grade in each column, in the order of their ids."""
    grades = sorted({grade for column in columns for grade in column.used()})
    named = {str(time): column for time, column in enumerate(columns)}
    return grade_matrix(named, grades, fewest=len(columns), by_id=True)


def retest(
    name: str, asked: GradeMatrix, failed: int = 0, options: StatisticOptions | None = None
) -> Retest:
    """The share of pairs that move and the kappa of `asked`, which has a column for each time."""
    options, times, pairs = options or StatisticOptions(), len(asked.assessors), asked.pairs.size
    if not pairs:
        return Retest(name, times, 0, 0, UNDEFINED, UNDEFINED, failed)
    # any two times of each pair, the same both ways, so that a pair counts once
    tables = query_coincidences(asked) / times
    moved, kappa = share_off_diagonal(tables, options), kappa_of(tables, asked.grades, options)
    return Retest(name, times, pairs, len(tables), moved, kappa, failed)


def kappa_of(tables: Floats, scale: Sequence[int], options: StatisticOptions) -> Interval:
    """Cohen's kappa of `(queries, k, k)` tables, with its interval over queries."""
    return estimate(find_statistic("kappa", scale), Sample(tables, options.draws, options.seed))


def share_off_diagonal(tables: Floats, options: StatisticOptions) -> Interval:
    """The share of pairs whose two grades differ, of `(queries, k, k)` tables, over queries."""
    return share_of(off_diagonal(tables), tables.sum(axis=(1, 2)), options)


def off_diagonal(tables: Floats) -> Floats:
    """How many pairs of each query have two grades, of `(queries, k, k)` tables."""
    same = np.trace(tables, axis1=1, axis2=2)
    return np.asarray(np.clip(tables.sum(axis=(1, 2)) - same, 0.0, None))
