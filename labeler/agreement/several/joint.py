"""More than two assessors: their grades side by side, and the statistics of any number of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from labeler.agreement.compare import StatisticOptions, defined, interval_of
from labeler.agreement.statistics import (
    Statistic,
    fleiss_kappa,
    interval_alpha,
    nominal_alpha,
    ordinal_alpha,
    tables_of,
)
from labeler.arrays import Flags, Floats, Places
from labeler.data import Pair, Qrels
from labeler.errors import Misuse
from labeler.report.result import Hidden
from labeler.report.table import Interval, shown
from labeler.stats.intervals import Sample, between
from labeler.trec.pairs import NONE, PairColumns, joined_pairs

UNGRADED = -1
AT_ONCE = 1 << 16
"""Pairs that are put together at a time."""


@dataclass(frozen=True, eq=False)
class GradeMatrix:
    """`values[i, a]` is the place in `grades` of assessor `a`'s grade of pair `i`, or `UNGRADED`.

    `weight` is one over the pair's inclusion probability, `None` where every pair of the pool was
    graded. `shares` hold, `(pairs, assessors, grades)`, how probable each assessor holds each
    grade: its own distribution where it gave one, else all of it on its grade, and zeros where it
    has none. `None` stands for assessors that gave none.
    """

    assessors: Sequence[str]
    grades: Sequence[int]
    pairs: PairColumns[Any]
    values: Places
    weight: Floats | None = None
    shares: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Each pair's weight, 1 where none is known."""
        return np.ones(len(self.values)) if self.weight is None else self.weight

    @property
    def graded(self) -> Flags:
        """Which assessors have a grade of which pairs, `(pairs, assessors)`."""
        return np.asarray(self.values != UNGRADED)

    @property
    def scale(self) -> Floats:
        """The grades as numbers, `(grades,)`."""
        return np.array(self.grades, dtype=np.float64)

    @property
    def numbers(self) -> Floats:
        """The assessors' grades as numbers, `(pairs, assessors)`; `nan` where there is none."""
        return np.where(self.graded, self.scale[self.values], np.nan)

    @property
    def counts(self) -> Floats:
        """How many assessors gave each grade to a pair, `(pairs, grades)`."""
        each = [(self.values == at).sum(axis=1) for at in range(len(self.grades))]
        return np.stack(each, axis=1).astype(np.float64)

    @property
    def mean_shares(self) -> Floats:
        """The mean of the distributions of the assessors that graded a pair, `(pairs, grades)`."""
        whole = self.counts if self.shares is None else self.shares.sum(axis=1)
        return np.asarray(whole / np.maximum(self.graded.sum(axis=1, keepdims=True), 1))

    def of(self, *names: str) -> GradeMatrix:
        """The columns of some assessors, on the pairs that at least two of them graded."""
        columns = [self.assessors.index(name) for name in names]
        part = replace(self, assessors=tuple(names), values=self.values[:, columns])
        return part.graded_by(min(2, len(columns)))

    def graded_by(self, assessors: int) -> GradeMatrix:
        """The pairs that at least `assessors` assessors graded, and their queries."""
        rows = self.graded.sum(axis=1) >= assessors
        return replace(self._of_rows(rows), pairs=self.pairs.keep(rows))

    def among(self, pairs: PairColumns[Any]) -> GradeMatrix:
        """The same of some pairs alone."""
        rows = self.pairs.rows_in(pairs) != NONE
        return replace(self._of_rows(rows), pairs=self.pairs.keep(rows))

    def blocks(self) -> Iterator[GradeMatrix]:
        """Some thousand pairs at a time, `pairs` being all of them."""
        for first in range(0, len(self.values), AT_ONCE):
            yield self._of_rows(slice(first, first + AT_ONCE))

    def _of_rows(self, rows: Flags | slice) -> GradeMatrix:
        return replace(
            self,
            values=self.values[rows],
            weight=None if self.weight is None else self.weight[rows],
            shares=None if self.shares is None else self.shares[rows],
        )


def grade_matrix(
    assessors: Mapping[str, Qrels],
    grades: Sequence[int],
    weights: Mapping[Pair, float] | None = None,
    *,
    fewest: int = 1,
    by_id: bool = False,
) -> GradeMatrix:
    """The grades of several assessors on every pair that `fewest` of them graded in the scale.

    The pairs are in the order of the first assessors' or, where it is asked for, of their ids.
    With `weights` of a sample, the pairs of the sample alone, which stand for the pool.
    """
    sets = [PairColumns.of(qrels, np.int64) for qrels in assessors.values()]
    drawn = PairColumns.of_pairs(weights or {}, np.float64)
    joined = joined_pairs([*sets, drawn])
    each = [joined.values(at, _places(own, grades), UNGRADED) for at, own in enumerate(sets)]
    values = np.stack(each, axis=1)
    mask, weight = (values != UNGRADED).sum(axis=1) >= fewest, None
    if weights is not None:
        weight = joined.values(len(sets), drawn.value, np.nan)
        mask &= ~np.isnan(weight)
    rows = joined.by_id(mask) if by_id else np.flatnonzero(mask)
    weight = None if weight is None else weight[rows]
    return GradeMatrix(tuple(assessors), tuple(grades), joined.columns(rows), values[rows], weight)


def _places(own: PairColumns[int], grades: Sequence[int]) -> Places:
    """The place of each pair's grade among `grades`, `UNGRADED` of another one."""
    distinct, code = own.coded
    places = [grades.index(grade) if grade in grades else UNGRADED for grade in distinct]
    return np.array(places, dtype=np.int8)[code]


def query_coincidences(matrix: GradeMatrix) -> Floats:
    """One `(k, k)` coincidence matrix a query; a pair that one assessor graded adds nothing."""
    k, queries = len(matrix.grades), len(matrix.pairs.queries)
    # of each grade, `(pairs,)`: how many assessors gave it
    counts = matrix.counts.T
    assessors = counts.sum(axis=0)
    # 1 / (m - 1) for each ordered pair of the m grades of one pair
    share = np.where(assessors > 1, matrix.weights / np.maximum(assessors - 1, 1), 0.0)
    matrices = np.zeros((queries, k, k))
    for i, j in product(range(k), repeat=2):
        # ordered pairs of these two grades, a grade with itself left out
        within = counts[i] * counts[j] - (counts[i] if i == j else 0.0)
        matrices[:, i, j] = np.bincount(matrix.pairs.query, within * share, queries)
    return matrices


JOINT = {
    "alpha-nominal": nominal_alpha,
    "alpha-ordinal": ordinal_alpha,
    "alpha-interval": interval_alpha,
    "fleiss": fleiss_kappa,
}
"""Statistics of any number of assessors, from coincidences and grades."""


@dataclass(frozen=True)
class Together:
    """Several people, or several assessors, and the statistics of all of them together."""

    raters: Sequence[str]
    statistics: Mapping[str, Interval]


@dataclass(frozen=True)
class JointAgreement:
    """People among themselves, and the other assessors among themselves.

    The two are never pooled: assessors that agree with each other, as copies of one do, would lift
    a figure that is read as agreement with people. `None` stands for fewer than two.
    """

    raters: Sequence[str]
    people: Together | None
    others: Together | None


def together(
    matrix: GradeMatrix, names: Sequence[str], options: StatisticOptions
) -> Together | None:
    """Statistics of any number of assessors with intervals; `None` of fewer than two."""
    if len(names) < 2:
        return None
    part = matrix.of(*names)
    sample = Sample(query_coincidences(part), options.draws, options.seed)
    statistics = {
        name: interval_of(sample, partial(compute, grades=part.scale), bounded=True)
        for name, compute in JOINT.items()
    }
    return Together(tuple(names), statistics)


# The ceiling: each person against the others, beside the assessor against the same others.
#
# No assessor can be asked to agree with people more than people do among themselves. Everything is
# computed on the pairs that all of them graded, so that nobody had easier ones.

MARGIN = 0.05
"""An assessor that is worse than a colleague by less than this counts as as good as one."""


@dataclass(frozen=True)
class BesideHuman:
    """A person and the assessor against the same other people; means over those."""

    person: str
    persons: float | None
    assessors: float | None
    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ceiling:
    """Each person left out in turn, then the means over all of them, as `overall`."""

    statistic: Hidden[str]
    pairs: int
    queries: int
    people: Sequence[BesideHuman]
    overall: BesideHuman

    @shown
    def verdict(self) -> str:
        """Whether the assessor is as good as a colleague, at 95 % and `MARGIN`."""
        low, high = self.overall.low, self.overall.high
        if low is None or high is None:
            return "whether the assessor is as good as a colleague cannot be said"
        if low > 0:
            return "the assessor agrees with people more than they do among themselves"
        if low > -MARGIN:
            return f"the assessor is as good as a colleague (worse by less than {MARGIN:g})"
        if high < 0:
            return "the assessor is not as good as a colleague"
        return (
            "whether the assessor is as good as a colleague cannot be told: its difference may "
            f"be anything from {low:.2f} to {high:.2f}"
        )


def ceiling(
    matrix: GradeMatrix, assessor: str, statistic: Statistic, options: StatisticOptions
) -> Ceiling:
    """Leave each person out in turn; all columns but that of `assessor` are people's."""
    whole = matrix.graded_by(len(matrix.assessors))
    column = whole.assessors.index(assessor)
    people = [index for index in range(len(whole.assessors)) if index != column]
    if len(people) < 2:
        raise Misuse("a ceiling needs the labels of two people or more")
    # every two people, and every person with the assessor
    links = [*combinations(people, 2), *((person, column) for person in people)]
    # (queries, links, k, k)
    query, size = whole.pairs.query, (len(whole.pairs.queries), len(whole.grades))
    each = [
        tables_of(query, whole.values[:, a], whole.values[:, b], size, whole.weights)
        for a, b in links
    ]
    tables = np.stack(each, axis=1)
    sample = Sample(tables, options.draws, options.seed)

    # a statistic of links is a mean over those whose share is not 0
    def beside(name: str, left_out: list[int]) -> BesideHuman:
        # of each link, how many of those left out are in it
        inside = np.array([len({*link} & {*left_out}) for link in links], dtype=np.float64)
        is_its = np.array([column in link for link in links])
        mine, its = np.where(is_its, 0.0, inside), np.where(is_its, len(left_out) - inside, 0.0)
        mine, its = mine / mine.sum(), its / its.sum()
        values = statistic(sample.total)
        of = [defined(_mean(values, shares)) for shares in (mine, its, its - mine)]
        ends = between(sample, lambda at: _mean(statistic(at), its - mine))
        return BesideHuman(name, of[0], of[1], of[2], *ends)

    rows = tuple(beside(whole.assessors[person], [person]) for person in people)
    overall = beside("everyone", people)
    return Ceiling(statistic.name, whole.pairs.size, len(whole.pairs.queries), rows, overall)


def _mean(values: Floats, shares: Floats) -> Floats:
    """The weighted sum over the last axis, of the values that have any weight."""
    used = shares != 0
    return np.asarray(values[..., used] @ shares[used])
