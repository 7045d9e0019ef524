"""The ceiling: each person against the others, beside the assessor against the same others.

No assessor can be asked to agree with people more than people do among themselves. Everything is
computed on the pairs that all of them graded, so that nobody had easier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.estimate import defined
from labeler.agreement.several.joint import GradeMatrix, tables_of_two
from labeler.agreement.statistics.registry import Statistic
from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample

MARGIN = 0.05
"""An assessor that is worse than a colleague by less than this counts as as good as one, unless a
user names another margin."""


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

    statistic: str
    pairs: int
    queries: int
    rows: tuple[BesideHuman, ...]
    overall: BesideHuman
    margin: float = MARGIN

    @property
    def verdict(self) -> str:
        """Whether the assessor is as good as a colleague, at 95 % and the margin."""
        low, high = self.overall.low, self.overall.high
        if low is None or high is None:
            return "whether the assessor is as good as a colleague cannot be said"
        if low > 0:
            return "the assessor agrees with people more than they do among themselves"
        if low > -self.margin:
            return f"the assessor is as good as a colleague (worse by less than {self.margin:g})"
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
    grades = np.array(whole.grades, dtype=np.float64)

    # a statistic of links is a mean over those whose share is not 0
    def beside(name: str, left_out: list[int]) -> BesideHuman:
        mine, its = (
            np.array([_share(link, left_out, column, of_assessor=of) for link in links])
            for of in (False, True)
        )
        mine, its = mine / mine.sum(), its / its.sum()

        def compute(at: Floats) -> Floats:
            return _mean(statistic.compute(at, grades), its - mine)

        values = statistic.compute(sample.total, grades)
        ends = between(options.method, sample, compute)
        of = [defined(_mean(values, shares)) for shares in (mine, its, its - mine)]
        return BesideHuman(name, of[0], of[1], of[2], *ends)

    rows = tuple(beside(whole.assessors[person], [person]) for person in people)
    overall = beside("everyone", people)
    return Ceiling(statistic.name, len(whole.query), len(whole.queries), rows, overall)


def _share(link: tuple[int, int], left_out: list[int], column: int, *, of_assessor: bool) -> float:
    """How often a link of two assessors stands in the mean when each of `left_out` is left out."""
    if of_assessor != (column in link):
        return 0.0
    if of_assessor:
        return float(sum(person not in link for person in left_out))
    return float(sum(person in link for person in left_out))


def _mean(values: Floats, shares: Floats) -> Floats:
    """The weighted sum over the last axis, of the values that have any weight."""
    used = shares != 0
    return np.asarray(values[..., used] @ shares[used], dtype=np.float64)
