"""How far an assessor agrees with itself when it is asked twice: the floor of every comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from labeler.agreement.compare import UNDEFINED, StatisticOptions, interval_of, share_of
from labeler.agreement.statistics import find_statistic, tables_of
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.controls import read_controls
from labeler.collection.judged_set import judged_in, read_set
from labeler.collection.judgements import repeats_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.report.result import Hidden, Result
from labeler.report.table import Interval, Table, figure_table, interval_text
from labeler.stats.intervals import Sample
from labeler.trec.pairs import NONE, Joined, PairColumns, joined_pairs, taken

MOST = 4
"""So many controls are read at most."""


@dataclass(frozen=True, eq=False)
class AskedAgain:
    """The grades of pairs that were asked about several times, `(n, times)`.

    The pairs are in the order of their ids, those of a query in a row.
    """

    pairs: PairColumns[int]
    grades: Integers

    @classmethod
    def of_joined(cls, joined: Joined, mask: Flags, grades: Integers) -> AskedAgain:
        """The grades of the pairs of a mask, in their order."""
        rows = joined.by_id(mask)
        return cls(joined.columns(rows), grades[(np.cumsum(mask) - 1)[rows]])

    def __len__(self) -> int:
        return len(self.grades)

    def among(self, pairs: PairColumns[Any]) -> AskedAgain:
        """The same of some pairs alone."""
        mask = self.pairs.rows_in(pairs) != NONE
        return AskedAgain(self.pairs.keep(mask), self.grades[mask])

    def of_grades(self, pairs: PairColumns[Any], grades: Integers) -> AskedAgain:
        """The same of those of these pairs whose first grade is the one given here."""
        part = self.among(pairs)
        mask = part.grades[:, 0] == grades[part.pairs.rows_in(pairs)]
        return AskedAgain(part.pairs.keep(mask), part.grades[mask])

    def beside(self, pairs: PairColumns[Any]) -> Floats:
        """The grades in the order of these pairs, `(pairs, times)`, `nan` where there are none."""
        of = self.among(pairs)
        grades = np.full((pairs.size, self.grades.shape[1]), np.nan)
        grades[of.pairs.rows_in(pairs)] = of.grades
        return grades

    def of(self, pairs: PairColumns[Any]) -> AskedAgain | None:
        """The same of exactly these pairs; None where it lacks one of them."""
        part = self.among(pairs)
        return part if len(part) == pairs.size else None


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

    def tables(self) -> list[Table]:
        """The two figures, with intervals over queries."""
        named = {"pairs with another grade when asked again": self.moved}
        return [figure_table("retest", {**named, "test-retest kappa": self.kappa})]


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
    if not len(asked) and not failed:
        raise BadInput(
            f"no pair of {name} was asked about more than once; judging with repeat=3 asks three "
            "times"
        )
    return retest(name, asked, failed)


def asked_again(collection: Collection, name: str) -> tuple[AskedAgain, int]:
    """The grades of pairs that have one every time, and how many others were asked about again."""
    files = repeats_of(collection, name)
    if not files:
        return AskedAgain(PairColumns.of({}, np.int64), np.zeros((0, 0), dtype=np.int64)), 0
    sets = [read_set(collection, name), *map(judged_in, files)]
    joined = joined_pairs([each.states for each in sets])
    asked = (joined.row[:, 0] != NONE) & (joined.row[:, 1:] != NONE).any(axis=1)
    graded = np.stack(
        [joined.values(n, each.is_graded, False) for n, each in enumerate(sets)], axis=1
    )
    whole = asked & graded.all(axis=1)
    grades = [taken(each.grade, joined.row[whole, n], 0) for n, each in enumerate(sets)]
    of = AskedAgain.of_joined(joined, whole, np.stack(grades, axis=1))
    return of, int(asked.sum()) - len(of)


def asked_in_controls(collection: Collection, name: str) -> AskedAgain:
    """Grades that controls held, and the first new one of each, of pairs that all asked about.

    Of the last controls by the same assessor: each is a session of its own.
    """
    runs = [run for run in read_controls(collection, name) if run.is_of_same_assessor]
    of = [{(p.pair, p.old): p.grades[1] for p in run.pairs if p.grades} for run in runs[-MOST:]]
    common = [key for key in (of[-1] if of else ()) if all(key in each for each in of)]
    grades = [[old, *(each[pair, old] for each in of)] for pair, old in common]
    rows = np.array(grades, np.int64).reshape(len(common), 1 + len(of))
    places = {pair: at for at, (pair, _) in enumerate(common)}
    pairs = PairColumns.of_pairs(places, np.int64)
    every = np.ones(pairs.size, dtype=np.bool_)
    return AskedAgain.of_joined(joined_pairs([pairs]), every, rows[pairs.value])


def retest(
    name: str, asked: AskedAgain, failed: int = 0, options: StatisticOptions | None = None
) -> Retest:
    """The share of pairs that move and the kappa of `asked`."""
    options, times = options or StatisticOptions(), asked.grades.shape[1]
    if not len(asked):
        return Retest(name, times, 0, 0, UNDEFINED, UNDEFINED, failed)
    tables, scale = self_tables(asked)
    return Retest(
        name,
        times,
        len(asked),
        len(tables),
        share_off_diagonal(tables, options),
        kappa_of(tables, scale, options),
        failed,
    )


def kappa_of(tables: Floats, scale: Sequence[int], options: StatisticOptions) -> Interval:
    """Cohen's kappa of `(queries, k, k)` tables, with its interval over queries."""
    sample = Sample(tables, options.draws, options.seed)
    of = interval_of(sample, find_statistic("kappa", scale), bounded=True)
    if of.low is None or of.high is None:
        return of
    return Interval(of.value, max(of.low, -1.0), min(of.high, 1.0))


def scale_of(grades: Iterable[int]) -> Sequence[int]:
    """The grades that occur, two at the least."""
    scale = tuple(sorted(set(grades)))
    return scale if len(scale) > 1 else (scale[0], scale[0] + 1)


def self_tables(asked: AskedAgain) -> tuple[Floats, Sequence[int]]:
    """Of each query a table `(k, k)` of any two times of its pairs, the same both ways; the scale.

    Each pair counts once, whatever the number of times.
    """
    scale = scale_of(np.unique(asked.grades).tolist())
    grades = np.searchsorted(scale, asked.grades)
    two = np.array(list(combinations(range(grades.shape[1]), 2)))
    # (n, combinations, 2): each two times of a pair, one way and the other
    first, second = grades[:, two], grades[:, two[:, ::-1]]
    query = np.repeat(asked.pairs.query, first[0].size)
    share = np.full(len(query), 0.5 / len(two))
    size = len(asked.pairs.queries), len(scale)
    return tables_of(query, first.ravel(), second.ravel(), size, share), scale


def share_off_diagonal(tables: Floats, options: StatisticOptions) -> Interval:
    """The share of pairs whose two grades differ, of `(queries, k, k)` tables, over queries."""
    whole = tables.sum(axis=(1, 2))
    return share_of(np.clip(whole - np.trace(tables, axis1=1, axis2=2), 0.0, None), whole, options)
