"""More than two assessors: their grades side by side, and the statistics of any number of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

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
from labeler.arrays import Flags, Floats, Integers
from labeler.data import Pair, Qrels
from labeler.errors import Misuse
from labeler.report.result import Hidden
from labeler.report.table import Interval, shown
from labeler.stats.intervals import Sample, between
from labeler.trec.pairs import PairColumns, joined_pairs

UNGRADED = -1


@dataclass(frozen=True, eq=False)
class GradeMatrix:
    """`values[i, a]` is the place in `grades` of assessor `a`'s grade of pair `i`, or `UNGRADED`.

    `query` holds the pairs' places in `queries`; `weight` is one over the pair's inclusion
    probability, `None` where every pair of the pool was graded.
    """

    assessors: tuple[str, ...]
    queries: tuple[str, ...]
    grades: tuple[int, ...]
    query: Integers
    values: Integers
    weight: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Each pair's weight, 1 where none is known."""
        return np.ones(len(self.query)) if self.weight is None else self.weight

    def complete(self) -> GradeMatrix:
        """The pairs that every assessor graded, and their queries."""
        return self.graded_by(len(self.assessors))

    def of(self, *names: str) -> GradeMatrix:
        """The columns of some assessors, on the pairs that at least two of them graded."""
        columns = [self.assessors.index(name) for name in names]
        part = replace(self, assessors=tuple(names), values=self.values[:, columns])
        return part.graded_by(min(2, len(columns)))

    def graded_by(self, assessors: int) -> GradeMatrix:
        """The pairs that at least `assessors` assessors graded, and their queries."""
        return self.rows((self.values != UNGRADED).sum(axis=1) >= assessors)

    def rows(self, rows: Flags) -> GradeMatrix:
        """Some of the pairs, and their queries."""
        used, query = np.unique(self.query[rows], return_inverse=True)
        queries = tuple(self.queries[index] for index in used)
        return replace(
            self,
            queries=queries,
            query=query.astype(np.int64),
            values=self.values[rows],
            weight=None if self.weight is None else self.weight[rows],
        )


def grade_matrix(
    assessors: Mapping[str, Qrels],
    grades: Sequence[int],
    weights: Mapping[Pair, float] | None = None,
) -> GradeMatrix:
    """The grades of several assessors on every pair that at least one of them graded in the scale.

    With `weights` of a sample, the pairs of the sample alone, which stand for the pool.
    """
    sets = [PairColumns.of(qrels, np.int64) for qrels in assessors.values()]
    drawn = PairColumns.of_pairs(weights or {}, np.float64)
    joined = joined_pairs([*sets, drawn])
    values = [
        joined.values(column, _places(own, grades), UNGRADED) for column, own in enumerate(sets)
    ]
    whole = GradeMatrix(
        tuple(assessors),
        joined.queries,
        tuple(grades),
        joined.query.astype(np.int64),
        np.stack(values, axis=1),
        None if weights is None else joined.values(len(sets), drawn.value, np.nan),
    )
    rows = (whole.values != UNGRADED).any(axis=1)
    return whole.rows(rows if weights is None else rows & ~np.isnan(whole.weights))


def _places(own: PairColumns[int], grades: Sequence[int]) -> Integers:
    """The place of each pair's grade among `grades`, `UNGRADED` of another one."""
    distinct, code = own.coded
    places = [grades.index(grade) if grade in grades else UNGRADED for grade in distinct]
    return np.array(places, dtype=np.int64)[code]


def query_coincidences(matrix: GradeMatrix) -> Floats:
    """One `(k, k)` coincidence matrix a query; a pair that one assessor graded adds nothing."""
    k, queries = len(matrix.grades), len(matrix.queries)
    # of each grade, `(pairs,)`: how many assessors gave it
    counts = [(matrix.values == grade).sum(axis=1).astype(np.float64) for grade in range(k)]
    assessors = np.sum(counts, axis=0)
    # 1 / (m - 1) for each ordered pair of the m grades of one pair
    share = np.where(assessors > 1, matrix.weights / np.maximum(assessors - 1, 1), 0.0)
    matrices = np.zeros((queries, k, k))
    for i, j in product(range(k), repeat=2):
        # ordered pairs of these two grades, a grade with itself left out
        within = counts[i] * counts[j] - (counts[i] if i == j else 0.0)
        matrices[:, i, j] = np.bincount(matrix.query, within * share, queries)
    return matrices


def tables_of_two(matrix: GradeMatrix, first: int, second: int) -> Floats:
    """One `(k, k)` contingency table a query of two of the assessors, the first one's in rows."""
    a, b = matrix.values[:, first], matrix.values[:, second]
    both = (a != UNGRADED) & (b != UNGRADED)
    size = len(matrix.queries), len(matrix.grades)
    return tables_of(matrix.query[both], a[both], b[both], size, matrix.weights[both])


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

    raters: tuple[str, ...]
    statistics: Mapping[str, Interval]


@dataclass(frozen=True)
class JointAgreement:
    """People among themselves, and the other assessors among themselves.

    The two are never pooled: assessors that agree with each other, as copies of one do, would lift
    a figure that is read as agreement with people. `None` stands for fewer than two.
    """

    raters: tuple[str, ...]
    people: Together | None
    others: Together | None


def joint_agreement(
    matrix: GradeMatrix, people: Sequence[str], others: Sequence[str], options: StatisticOptions
) -> JointAgreement:
    """The statistics of people and of the other assessors."""
    groups = [together(matrix, names, options) for names in (people, others)]
    return JointAgreement(matrix.assessors, groups[0], groups[1])


def together(
    matrix: GradeMatrix, names: Sequence[str], options: StatisticOptions
) -> Together | None:
    """Statistics of any number of assessors with intervals; `None` of fewer than two."""
    if len(names) < 2:
        return None
    part = matrix.of(*names)
    sample = Sample(query_coincidences(part), options.draws, options.seed)
    grades = np.array(part.grades, dtype=np.float64)
    statistics = {
        name: interval_of(sample, partial(compute, grades=grades), bounded=True)
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
    people: tuple[BesideHuman, ...]
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
        wide = f"its difference may be anything from {low:.2f} to {high:.2f}"
        return f"whether the assessor is as good as a colleague cannot be told: {wide}"


def ceiling(
    matrix: GradeMatrix, assessor: str, statistic: Statistic, options: StatisticOptions
) -> Ceiling:
    """Leave each person out in turn; all columns but that of `assessor` are people's."""
    whole = matrix.complete()
    column = whole.assessors.index(assessor)
    people = [index for index in range(len(whole.assessors)) if index != column]
    if len(people) < 2:
        raise Misuse("a ceiling needs the labels of two people or more")
    # every two people, and every person with the assessor
    links = [*combinations(people, 2), *((person, column) for person in people)]
    # (queries, links, k, k)
    tables = np.stack([tables_of_two(whole, a, b) for a, b in links], axis=1)
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
    return Ceiling(statistic.name, len(whole.query), len(whole.queries), rows, overall)


def _mean(values: Floats, shares: Floats) -> Floats:
    """The weighted sum over the last axis, of the values that have any weight."""
    used = shares != 0
    return np.asarray(values[..., used] @ shares[used], dtype=np.float64)
