"""A panel and each of its members beside people, and how many assessors the panel is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from labeler.agreement.align import UNGRADED, AssessorLabels, GradeMatrix, Rules
from labeler.agreement.compare import (
    Agreement,
    StatisticOptions,
    agreement_of,
    interval_of,
    selected_statistics,
)
from labeler.agreement.differences import Difference, differences
from labeler.arrays import Floats, Integers
from labeler.data import Qrels
from labeler.lab.members import PanelSet
from labeler.report.result import Hidden, Result
from labeler.report.table import Interval, shown
from labeler.stats.intervals import Sample, draws_of
from labeler.trec.pairs import PairColumns


@dataclass(frozen=True)
class MemberBesidePeople:
    """A member's agreement with people, and what the panel gains over it."""

    name: Hidden[str]
    agreement: Interval
    panel_less_it: Difference


@dataclass(frozen=True, eq=False, repr=False)
class PanelBesidePeople(Result):
    """The panel's agreement with people by one statistic, on the pairs that both graded.

    `better` is 1 where more of it means closer to people, -1 where less does, 0 where neither.
    """

    human: str
    statistic: str
    pairs: int
    queries: int
    panel: Interval
    members: Mapping[str, MemberBesidePeople]
    better: Hidden[int] = 1

    @property
    def best(self) -> MemberBesidePeople | None:
        """The member that agrees most with people; found on the same grades, which flatters it."""

        def closeness(member: MemberBesidePeople) -> float:
            value = member.agreement.value or 0.0
            return self.better * value if self.better else -abs(value)

        defined = [m for m in self.members.values() if m.agreement.value is not None]
        return max(defined, key=closeness, default=None)


def beside_people(
    panel: PanelSet, human: Qrels, human_name: str, options: StatisticOptions
) -> PanelBesidePeople | None:
    """The panel beside people; `None` where they have no pair in common."""
    votes = panel.votes

    def agreement(grades: Qrels) -> Agreement:
        return agreement_of(human, AssessorLabels(grades), Rules(scale=votes.grades), options)

    whole = agreement(panel.qrels)
    if not whole.pairs:
        return None
    (statistic,) = selected_statistics(options, votes.grades)
    members = {}
    for column, name in enumerate(votes.assessors):
        values = votes.values[:, column]
        grades = votes.pairs.holding(np.array(votes.grades)[values]).keep(values != UNGRADED)
        own = agreement(grades)
        (less,) = differences(whole.paired, own.paired, [statistic], options, len(votes.assessors))
        members[name] = MemberBesidePeople(name, own.statistics[statistic.name], less)
    return PanelBesidePeople(
        human_name,
        statistic.name,
        whole.pairs,
        len(whole.queries),
        whole.statistics[statistic.name],
        members,
        statistic.better,
    )


# How many independent assessors a panel is worth, by how its members' errors go together.
#
# Of `n` assessors whose errors correlate by `r`, the mean errs as that of `n / (1 + (n - 1) r)`
# independent ones: Clemen and Winkler (1985), Limits for the precision and value of information
# from dependent sources, Operations Research 33(2). With `r` the mean over all pairs of members it
# holds for unequal correlations too, of errors of one size. However many such assessors there are,
# they are never worth more than `1 / r`.

MOST_CELLS = 10_000_000
FEWEST_DRAWS = 200


@dataclass(frozen=True, eq=False, repr=False)
class Independence(Result):
    """The mean correlation of members' errors, and the number of independent assessors it means.

    `by_people` says that errors are what members' grades differ by among pairs of one human grade.
    Without people, all that members share counts as error, so that the number is a lower bound.
    """

    members: Sequence[str]
    by_people: bool
    pairs: int
    queries: int
    correlation: Interval

    @shown
    def effective_number(self) -> Interval:
        """The effective number of independent assessors."""
        value, low, high = self.correlation
        ends = (value, high, low)
        n = len(self.members)
        return Interval(*(None if end is None else effective_number(n, end) for end in ends))


def effective_number(members: int, correlation: float) -> float:
    """`n / (1 + (n - 1) r)`; never more than the members, whose errors may cancel by chance.

    >>> round(effective_number(5, 0.5), 3)
    1.667
    """
    return members / (1 + (members - 1) * max(correlation, 0.0))


def independence(
    votes: GradeMatrix,
    human: Qrels | None = None,
    options: StatisticOptions | None = None,
) -> Independence:
    """The correlation of members' errors, with an interval over queries.

    An error is a member's grade less its mean over the pairs of the same human grade, so that
    what members have in common because they see the same truth is no error, nor is a bias.
    """
    options = options or StatisticOptions()
    groups = np.zeros(votes.pairs.size, np.int64)
    if human is not None:
        people = PairColumns.of(human, np.int64)
        votes = votes.among(people)
        groups = np.unique(votes.pairs.beside(people, 0), return_inverse=True)[1]
    sums = _moments(votes, groups)
    features = max(int(np.prod(sums.shape[1:])), 1)
    # of many members the sums of each query are many
    usual = min(draws_of(max(len(sums), 1)), MOST_CELLS // features)
    sample = Sample(sums, options.draws or max(FEWEST_DRAWS, usual), options.seed)
    correlation = interval_of(sample, _mean_correlation, bounded=True)
    by_people, pairs = human is not None, votes.pairs.size
    return Independence(votes.assessors, by_people, pairs, len(sums), correlation)


def _moments(votes: GradeMatrix, group: Integers) -> Floats:
    """`(queries, links, groups, 6)`: of every two members n, x, y, xx, yy, xy over their pairs.

    A group holds the pairs of one human grade; without people there is one.
    """
    query, queries = votes.pairs.query, len(votes.pairs.queries)
    groups = int(group.max(initial=0)) + 1
    links = list(combinations(range(len(votes.assessors)), 2))
    sums = np.zeros((queries, len(links), groups, 6))
    first = 0
    for block in votes.blocks():
        rows = slice(first, first + len(block.values))
        cells, first = query[rows] * groups + group[rows], rows.stop
        numbers = np.nan_to_num(block.numbers, copy=False)
        for number, (a, b) in enumerate(links):
            both = block.graded[:, a] & block.graded[:, b]
            cell, x, y = cells[both], numbers[both, a], numbers[both, b]
            for index, values in enumerate((np.ones_like(x), x, y, x * x, y * y, x * y)):
                counted = np.bincount(cell, weights=values, minlength=queries * groups)
                sums[:, number, :, index] += counted.reshape(queries, groups)
    return sums


def _correlations(sums: Floats) -> Floats:
    """`(..., links)` correlations within groups, from sums; `nan` where a member does not vary."""
    n, x, y, xx, yy, xy = (sums[..., index] for index in range(6))
    safe = np.maximum(n, 1)
    cross = (xy - x * y / safe).sum(axis=-1)
    spread = (xx - x * x / safe).sum(axis=-1) * (yy - y * y / safe).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-9, cross / np.sqrt(np.maximum(spread, 1e-12)), np.nan)


def _mean_correlation(sums: Floats) -> Floats:
    """The mean over the links whose correlation is defined; `nan` where none is."""
    values = _correlations(sums)
    counted = np.isfinite(values)
    total = np.where(counted, values, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / counted.sum(axis=-1))
