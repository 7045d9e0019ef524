"""More than two assessors: statistics of any number of them, and the ceiling that people set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions, defined, interval_of
from labeler.agreement.statistics import (
    Statistic,
    both_ways,
    fleiss_kappa,
    interval_alpha,
    nominal_alpha,
    ordinal_alpha,
)
from labeler.arrays import Flags, Floats
from labeler.report.result import Hidden
from labeler.report.table import Interval, shown
from labeler.stats.intervals import Sample


def query_coincidences(matrix: GradeMatrix) -> Floats:
    """One `(k, k)` coincidence matrix a query; a pair that one assessor graded adds nothing."""
    k, assessors = len(matrix.grades), matrix.graded.sum(axis=1)
    # 1 / (m - 1) for each ordered pair of the m grades of one pair
    shared = replace(matrix, weight=matrix.weights / np.maximum(assessors - 1, 1))
    tables = np.zeros((len(matrix.pairs.queries), k, k))
    for link in combinations(range(len(matrix.assessors)), 2):
        tables += shared.tables(*link)
    return both_ways(tables)


JOINT = {
    "alpha-nominal": nominal_alpha,
    "alpha-ordinal": ordinal_alpha,
    "alpha-interval": interval_alpha,
    "fleiss": fleiss_kappa,
}
"""Statistics of any number of assessors, from coincidences and grades."""


@dataclass(frozen=True)
class Together:
    """Several people, and the statistics of all of them together.

    Assessors are never pooled with them: those that agree with each other, as copies of one do,
    would lift a figure that is read as agreement with people.
    """

    raters: Sequence[str]
    statistics: Mapping[str, Interval]


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
    """Leave each of two people or more out; all columns but that of `assessor` are people's."""
    whole = matrix.graded_by(len(matrix.assessors))
    column = whole.assessors.index(assessor)
    people = [index for index in range(len(whole.assessors)) if index != column]
    # every two people, and every person with the assessor: (queries, links, k, k)
    links = [*combinations(people, 2), *((person, column) for person in people)]
    tables = np.stack([whole.tables(*link) for link in links], axis=1)
    sample = Sample(tables, options.draws, options.seed)
    its = np.array([column in link for link in links])
    rows = []
    for person in people:
        own = np.array([person in link for link in links])
        name = whole.assessors[person]
        rows.append(_beside_human(name, statistic, sample, own & ~its, its & ~own))
    overall = _beside_human("everyone", statistic, sample, ~its, its)
    return Ceiling(statistic.name, whole.pairs.size, len(whole.pairs.queries), rows, overall)


def _beside_human(
    name: str, statistic: Statistic, sample: Sample, mine: Flags, its: Flags
) -> BesideHuman:
    """The mean over a person's links, `mine`, and over the assessor's with the same others."""

    def less(tables: Floats) -> Floats:
        values = statistic(tables)
        return np.asarray(values[..., its].mean(axis=-1) - values[..., mine].mean(axis=-1))

    values = statistic(sample.total)
    persons, assessors = (defined(values[links].mean()) for links in (mine, its))
    return BesideHuman(name, persons, assessors, *interval_of(sample, less))
