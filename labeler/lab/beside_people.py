"""A panel and each of its members beside people, and the panel without each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from labeler.agreement.align import AssessorLabels, Rules, align
from labeler.agreement.compare import (
    Estimate,
    StatisticOptions,
    defined,
    estimate,
    selected_statistics,
)
from labeler.agreement.differences import Difference, differences
from labeler.agreement.statistics.registry import GradedPairs, Statistic, query_tables
from labeler.arrays import Floats, Integers
from labeler.data import Pair, Qrels
from labeler.lab.members import PanelSet
from labeler.lab.panel_rules import PANEL_RULES, UNGRADED, Votes, combine
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample, draws_of


@dataclass(frozen=True)
class MemberBesidePeople:
    """A member's agreement with people, and what the panel gains over it and by leaving it out.

    `without` is the agreement of the panel without it less that of the panel; `None` where the rule
    needs every member.
    """

    name: str
    agreement: Estimate
    panel_less: Difference
    without: Difference | None

    @property
    def verdict(self) -> str:
        """What the member does to the panel's agreement with people, as far as it can be told."""
        verdict = "" if self.without is None else self.without.verdict
        texts = {"first is closer": "harms", "second is closer": "helps"}
        return texts.get(verdict, "cannot tell")


@dataclass(frozen=True)
class PanelBesidePeople:
    """The panel's agreement with people by one statistic, on the pairs that both graded.

    `better` is 1 where more of it means closer to people, -1 where less does, 0 where neither.
    """

    human: str
    statistic: str
    pairs: int
    queries: int
    panel: Estimate
    members: tuple[MemberBesidePeople, ...]
    better: int = 1

    @property
    def best(self) -> MemberBesidePeople | None:
        """The member that agrees most with people; found on the same grades, which flatters it."""
        defined = [m for m in self.members if m.agreement.value is not None]
        return max(defined, key=self._closeness, default=None)

    def _closeness(self, member: MemberBesidePeople) -> float:
        """The statistic, turned so that more is closer to people."""
        value = member.agreement.value or 0.0
        return self.better * value if self.better else -abs(value)


def beside_people(
    panel: PanelSet, human: Qrels, human_name: str, options: StatisticOptions
) -> PanelBesidePeople | None:
    """The panel beside people; `None` where they have no pair in common."""
    scale = panel.votes.grades
    whole = _paired(human, panel.qrels, scale)
    if not len(whole):
        return None
    (statistic,) = selected_statistics(options, scale)
    members = [
        _member(panel, name, (human, whole), statistic, options) for name in panel.votes.members
    ]
    value = _estimate(whole, statistic, options)
    return PanelBesidePeople(
        human_name,
        statistic.name,
        len(whole),
        len(whole.queries),
        value,
        tuple(members),
        statistic.better,
    )


def _member(
    panel: PanelSet,
    name: str,
    beside: tuple[Qrels, GradedPairs],
    statistic: Statistic,
    options: StatisticOptions,
) -> MemberBesidePeople:
    human, whole = beside
    votes, others = panel.votes, len(panel.members)
    own = _paired(human, _qrels_of(votes, votes.values[:, votes.members.index(name)]), votes.grades)
    less = differences(whole, own, [statistic], options, others)[0]
    rest = [member for member in votes.members if member != name]
    without = None
    if len(rest) >= PANEL_RULES[panel.options.rule].members:
        smaller = _paired(human, _panel_qrels(panel, rest), votes.grades)
        without = differences(smaller, whole, [statistic], options, others)[0]
    return MemberBesidePeople(name, _estimate(own, statistic, options), less, without)


def _panel_qrels(panel: PanelSet, members: Sequence[str]) -> Qrels:
    """What the panel would say of the same pairs with some of its members alone."""
    votes = panel.votes.by(members)
    fewest = min(panel.fewest, len(members))
    votes = votes.of(votes.graded.sum(axis=1) >= fewest)
    return _qrels_of(votes, combine(votes, panel.options.rule, panel.options.seed).values)


def _qrels_of(votes: Votes, values: Integers) -> Qrels:
    """The grades of the pairs that have one."""
    qrels: Qrels = {}
    for pair, value in zip(votes.pairs, values.tolist(), strict=True):
        if value >= 0:
            qrels.setdefault(pair.query_id, {})[pair.doc_id] = votes.grades[value]
    return qrels


def _paired(human: Qrels, grades: Qrels, scale: tuple[int, ...]) -> GradedPairs:
    return align(human, AssessorLabels(grades), Rules(scale=scale)).pairs


def _estimate(paired: GradedPairs, statistic: Statistic, options: StatisticOptions) -> Estimate:
    sample = Sample(query_tables(paired), options.draws, options.seed)
    grades = np.array(paired.grades, dtype=np.float64)
    return estimate(statistic, sample, grades, options, len(paired))


# How many independent assessors a panel is worth, by how its members' errors go together.
#
# Of `n` assessors whose errors correlate by `r`, the mean errs as that of `n / (1 + (n - 1) r)`
# independent ones: Clemen and Winkler (1985), Limits for the precision and value of information
# from dependent sources, Operations Research 33(2). With `r` the mean over all pairs of members it
# holds for unequal correlations too, of errors of one size. However many such assessors there are,
# they are never worth more than `1 / r`.

MOST_CELLS = 10_000_000
FEWEST_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Independence:
    """The mean correlation of members' errors, and the number of independent assessors it means.

    `by_people` says that errors are what members' grades differ by among pairs of one human grade.
    Without people, all that members share counts as error, so that the number is a lower bound.
    `matrix` holds the correlation of every two members, `nan` where it is undefined.
    """

    members: tuple[str, ...]
    by_people: bool
    pairs: int
    queries: int
    correlation: Estimate
    matrix: Floats

    @property
    def number(self) -> Estimate:
        """The effective number of independent assessors."""
        r, n = self.correlation, len(self.members)
        ends = [None if end is None else effective_number(n, end) for end in (r.high, r.low)]
        value = None if r.value is None else effective_number(n, r.value)
        return Estimate(value, ends[0], ends[1], r.method)

    def as_json(self) -> dict[str, Any]:
        """The figures by name; the matrix with its members."""
        return {
            "by_people": self.by_people,
            "pairs": self.pairs,
            "queries": self.queries,
            "correlation": _ends(self.correlation),
            "effective_number": _ends(self.number),
            "members": list(self.members),
            "matrix": [[defined(cell) for cell in row] for row in self.matrix],
        }


def _ends(e: Estimate) -> dict[str, float | None]:
    return {"value": e.value, "low": e.low, "high": e.high}


def effective_number(members: int, correlation: float) -> float:
    """`n / (1 + (n - 1) r)`; never more than the members, whose errors may cancel by chance.

    >>> round(effective_number(5, 0.5), 3)
    1.667
    """
    return members / (1 + (members - 1) * max(correlation, 0.0))


def independence(
    votes: Votes,
    human: Mapping[Pair, int] | None = None,
    options: StatisticOptions | None = None,
) -> Independence:
    """The correlation of members' errors, with an interval over queries.

    An error is a member's grade less its mean over the pairs of the same human grade, so that
    what members have in common because they see the same truth is no error, nor is a bias.
    """
    options = options or StatisticOptions()
    if human is not None:
        rows = np.array([pair in human for pair in votes.pairs], dtype=np.bool_)
        votes = votes.of(rows)
    queries = list(dict.fromkeys(pair.query_id for pair in votes.pairs))
    number_of = {query: number for number, query in enumerate(queries)}
    query = np.array([number_of[pair.query_id] for pair in votes.pairs], dtype=np.int64)
    group = _groups(votes, human)
    sums = _moments(votes, query, group, len(queries))
    sample = Sample(sums, _draws(options.draws, sums), options.seed)
    value = defined(_mean_correlation(sample.total)) if queries else None
    ends = (None, None) if value is None else _interval(options.method, sample)
    matrix = _matrix(_correlations(sample.total), len(votes.members))
    estimate = Estimate(value, *ends, options.method)
    members, by_people = votes.members, human is not None
    return Independence(members, by_people, len(query), len(queries), estimate, matrix)


def _interval(method: str, sample: Sample) -> tuple[float | None, float | None]:
    return between(method, sample, _mean_correlation, bounded=True)


def _groups(votes: Votes, human: Mapping[Pair, int] | None) -> Integers:
    """The human grade of each pair, counted from 0; 0 throughout without people."""
    if human is None:
        return np.zeros(len(votes.pairs), dtype=np.int64)
    grades = [human[pair] for pair in votes.pairs]
    return np.asarray(np.unique(grades, return_inverse=True)[1], dtype=np.int64)


def _moments(votes: Votes, query: Integers, group: Integers, queries: int) -> Floats:
    """`(queries, links, groups, 6)`: of every two members n, x, y, xx, yy, xy over their pairs."""
    links = list(combinations(range(len(votes.members)), 2))
    groups = int(group.max(initial=0)) + 1
    sums = np.zeros((queries, len(links), groups, 6))
    numbers = np.nan_to_num(votes.numbers)
    for number, (a, b) in enumerate(links):
        both = (votes.values[:, a] != UNGRADED) & (votes.values[:, b] != UNGRADED)
        cell, x, y = (query * groups + group)[both], numbers[both, a], numbers[both, b]
        for index, values in enumerate((np.ones_like(x), x, y, x * x, y * y, x * y)):
            counted = np.bincount(cell, weights=values, minlength=queries * groups)
            sums[:, number, :, index] = counted.reshape(queries, groups)
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
        return np.asarray(total / counted.sum(axis=-1), dtype=np.float64)


def _matrix(values: Floats, members: int) -> Floats:
    matrix = np.eye(members)
    for value, (a, b) in zip(values.tolist(), combinations(range(members), 2), strict=True):
        matrix[a, b] = matrix[b, a] = value
    return matrix


def _draws(draws: int | None, sums: Floats) -> int:
    """As many draws as were asked for, else as fit: of many members the sums of each are many."""
    features = max(int(np.prod(sums.shape[1:])), 1)
    usual = draws_of(max(len(sums), 1))
    return draws or max(FEWEST_DRAWS, min(usual, MOST_CELLS // features))
