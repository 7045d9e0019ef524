"""How far an assessor agrees with itself when it is asked twice: the floor of every comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from labeler.agreement.compare import UNDEFINED, StatisticOptions, share_of
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.collection.judgements import read_repeats
from labeler.collection.layout import Collection, open_collection
from labeler.data import Pair
from labeler.errors import BadInput
from labeler.judging.changes import read_set
from labeler.messages import count_of
from labeler.report.result import Hidden, Result
from labeler.report.table import Interval, Table, figure_table, interval_text
from labeler.stats.intervals import Sample, between

Asked = Mapping[Pair, tuple[int, ...]]
"""The grades of pairs that were asked about several times, those of each time in one place."""


@dataclass(frozen=True, eq=False, repr=False)
class Retest(Result):
    """What asking the same again gives: the share of pairs with another grade, and the kappa.

    Of two of the `times`, on average over any two. `failed` pairs, which had no grade every time,
    are left out.
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
        pairs = count_of(self.pairs, "pair", "pairs")
        asked = f"{self.name}: {pairs} asked about {self.times} times"
        moved = f"{interval_text(self.moved, '.0%')} get another grade when they are asked again"
        kappa = f"test-retest kappa {interval_text(self.kappa, '.2f')}"
        floor = "Two sets that differ in no more pairs than this show no change."
        return [f"{asked}: {moved}; {kappa}.", floor]

    def tables(self) -> list[Table]:
        """The two figures, with intervals over queries."""
        named = {"pairs with another grade when asked again": self.moved}
        return [figure_table("retest", {**named, "test-retest kappa": self.kappa})]


def retest_of(collection: Collection | Path | str, name: str) -> Retest:
    """How far the assessor of a set of judgements agrees with itself, after `judge` with `repeat`.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> first = judge(collection, model=fake_model('{"grade": 2}'), name="first", repeat=3)
    >>> retest_of(collection, "first").moved.value
    0.0
    """
    opened = open_collection(collection)
    asked, failed = asked_again(opened, name)
    if not asked and not failed:
        problem = f"no pair of {name} was asked about more than once"
        raise BadInput(f"{problem}; judging with repeat=3 asks three times")
    return retest(name, asked, failed)


def asked_again(collection: Collection, name: str) -> tuple[dict[Pair, tuple[int, ...]], int]:
    """The grades of pairs that have one every time, and how many others were asked about again."""
    again = read_repeats(collection, name)
    if not again:
        return {}, 0
    states = read_set(collection, name).states
    asked = {
        pair: (states[pair].grade, *grades) for pair, grades in again.items() if pair in states
    }
    whole = {
        pair: tuple(grade for grade in grades if grade is not None)
        for pair, grades in asked.items()
        if None not in grades
    }
    return whole, len(asked) - len(whole)


def retest(
    name: str, asked: Asked, failed: int = 0, options: StatisticOptions | None = None
) -> Retest:
    """The share of pairs that move and the kappa of `asked`, all of them asked equally often."""
    options = options or StatisticOptions()
    times = max(map(len, asked.values()), default=0)
    if not asked:
        return Retest(name, times, 0, 0, UNDEFINED, UNDEFINED, failed)
    tables, scale = self_tables(asked)
    figures = share_off_diagonal(tables, options), kappa_of(tables, scale, options)
    return Retest(name, times, len(asked), len(tables), *figures, failed)


def kappa_of(tables: Floats, scale: tuple[int, ...], options: StatisticOptions) -> Interval:
    """Cohen's kappa of `(queries, k, k)` tables, with its interval over queries."""
    kappa, grades = find_statistic("kappa", scale), np.array(scale, dtype=np.float64)
    sample = Sample(tables, options.draws, options.seed)
    value = float(kappa.compute(sample.total, grades))
    if not np.isfinite(value):
        return UNDEFINED
    low, high = between(sample, lambda t: kappa.compute(t, grades), bounded=True)
    if low is None or high is None:
        return Interval(value, None, None)
    return Interval(value, max(low, -1.0), min(high, 1.0))


def scale_of(grades: Iterable[int]) -> tuple[int, ...]:
    """The grades that occur, two at the least."""
    scale = tuple(sorted(set(grades)))
    return scale if len(scale) > 1 else (scale[0], scale[0] + 1)


def self_tables(asked: Asked) -> tuple[Floats, tuple[int, ...]]:
    """Of each query a table `(k, k)` of any two times of its pairs, the same both ways; the scale.

    Each pair counts once, whatever the number of times.
    """
    scale = scale_of(grade for grades in asked.values() for grade in grades)
    index_of = {grade: index for index, grade in enumerate(scale)}
    queries = {query_id: n for n, query_id in enumerate(sorted({p.query_id for p in asked}))}
    tables = np.zeros((len(queries), len(scale), len(scale)))
    for pair, grades in asked.items():
        two = list(combinations(grades, 2))
        for first, second in two:
            table, share = tables[queries[pair.query_id]], 0.5 / len(two)
            table[index_of[first], index_of[second]] += share
            table[index_of[second], index_of[first]] += share
    return tables, scale


def share_off_diagonal(tables: Floats, options: StatisticOptions) -> Interval:
    """The share of pairs whose two grades differ, of `(queries, k, k)` tables, over queries."""
    whole = tables.sum(axis=(1, 2))
    moved = whole - np.trace(tables, axis1=1, axis2=2)
    return share_of(np.clip(moved, 0.0, None), whole, options)
