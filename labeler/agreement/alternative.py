"""The alternative annotator test: may an assessor stand in for a person among several?

Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL. Each
person is left out in turn. On each pair either the assessor or that person is closer to the other
people, or both are as close. The assessor has the advantage in a share of the pairs (a tie counts
for both), the person in another; the person costs more, so that the assessor may lose by less than
`epsilon`. It wins against a person where that is told from chance; it passes where it wins
against half of the people or more.

The test of the paper takes pairs for independent. Those of one query are not, so that it passes
assessors too often: the tests here are over queries. An assessor that fails at few queries wholly
looks as good as any where none of them was drawn. So each test counts a query more than there are,
with as many pairs as the others have, in all of which the person alone has the advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions, interval_of
from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.report.table import Interval, shown
from labeler.stats.families import benjamini_yekutieli
from labeler.stats.intervals import Sample, degrees, jackknife_error
from labeler.stats.student import SIGNIFICANT, t_below

EPSILON = 0.1
"""How much less often than a person the assessor may have the advantage: the paper's strictest
value; it names 0.15 where people are skilled, and 0.2 where they are experts."""
PASSES = 0.5
FEWEST_PEOPLE = 3


@dataclass(frozen=True)
class BesideLeftOut:
    """A person and the assessor beside the same other people, on the pairs that both graded.

    `assessors` and `persons` are shares of pairs in which each has the advantage; `difference` is
    the person's less the assessor's, from `low` to `high`. `p` is the chance of one so low
    were it `epsilon`, over queries; `wins` says whether it is told from chance, with what is
    allowed for several people.
    """

    person: str
    pairs: int
    queries: int
    assessors: float | None
    persons: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    wins: bool = False


@dataclass(frozen=True)
class AlternativeTest:
    """The test against each person, and the share of people against whom the assessor wins.

    `advantage` is the mean over people of the assessor's shares, with its interval over queries.
    """

    epsilon: float
    people: Sequence[BesideLeftOut]
    advantage: Interval

    @shown
    def winning_rate(self) -> float:
        """The share of people against whom the assessor wins, by tests over queries."""
        return sum(row.wins for row in self.people) / len(self.people)

    @shown
    def passes(self) -> bool:
        """Whether it wins against half of the people or more."""
        return self.winning_rate >= PASSES

    @shown
    def verdict(self) -> str:
        """Whether the assessor may stand in for a person, in a sentence."""
        if not self._can_pass:
            return "so few queries show of no assessor, however good, that it may stand in"
        wins = sum(row.wins for row in self.people)
        so = "" if self.passes else "it is not shown that "
        return (
            f"{so}the assessor may stand in for a person: it wins against {wins} of "
            f"{len(self.people)}, at a cost-benefit of {self.epsilon:g}"
        )

    @property
    def _can_pass(self) -> bool:
        """Whether one would pass that has the advantage in all pairs of so many queries."""
        queries = max(row.queries for row in self.people)
        best = _p(np.tile([1.0, 0.0, 1.0], (queries, 1)), self.epsilon) if queries > 1 else 1.0
        return bool(benjamini_yekutieli(np.full(len(self.people), best))[0] < SIGNIFICANT)


def alternative_test(
    matrix: GradeMatrix,
    assessor: str,
    epsilon: float = EPSILON,
    options: StatisticOptions | None = None,
) -> AlternativeTest:
    """Leave each person out in turn; all columns but that of `assessor` are people's.

    How close a grade is to other people's is the root of its mean squared difference.
    """
    options = options or StatisticOptions()
    column = matrix.assessors.index(assessor)
    people = [index for index in range(len(matrix.assessors)) if index != column]
    if len(people) < FEWEST_PEOPLE:
        raise Misuse(f"the test takes the labels of {FEWEST_PEOPLE} people or more")
    sums = [_advantages(matrix, column, person) for person in people]
    rows = [
        _tested(matrix.assessors[person], of[of[:, 3] > 0], epsilon, options)
        for person, of in zip(people, sums, strict=True)
    ]
    # (queries, people, 4)
    sample = Sample(np.stack(sums, axis=1), options.draws, options.seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        advantage = interval_of(sample, lambda sums: (sums[..., 0] / sums[..., 2]).mean(axis=-1))
    p = benjamini_yekutieli(np.array([1.0 if row.p is None else row.p for row in rows]))
    beside = (
        replace(row, wins=won) for row, won in zip(rows, (p < SIGNIFICANT).tolist(), strict=True)
    )
    return AlternativeTest(epsilon, tuple(beside), advantage)


def _advantages(matrix: GradeMatrix, column: int, person: int) -> Floats:
    """`(queries, 4)` sums over the pairs that the assessor, the person and any other graded.

    The weights of those in which the assessor is as close or closer, of those in which the person
    is, and of all of them; and how many there are.
    """
    others = [i for i in range(len(matrix.assessors)) if i not in (column, person)]
    graded = matrix.graded
    rows = graded[:, column] & graded[:, person] & graded[:, others].any(axis=1)
    numbers, weights = matrix.numbers[rows], matrix.weights[rows]

    def apart(index: int) -> Floats:
        squares = (numbers[:, [index]] - numbers[:, others]) ** 2
        return np.asarray(np.nanmean(squares, axis=1))

    its, theirs = apart(column), apart(person)
    columns = weights * (its <= theirs), weights * (theirs <= its), weights, np.ones(len(weights))
    query, queries = matrix.pairs.query[rows], len(matrix.pairs.queries)
    return np.stack([np.bincount(query, each, queries) for each in columns], axis=1)


def _tested(person: str, sums: Floats, epsilon: float, options: StatisticOptions) -> BesideLeftOut:
    """The test of the sums of queries that have any pair."""
    queries, pairs = len(sums), int(sums[:, 3].sum())
    if not pairs:
        return BesideLeftOut(person, 0, 0, None, None, None, None, None, None)
    sample = Sample(sums[:, :3], options.draws, options.seed)
    assessors, persons, weight = sample.total.tolist()
    shares = assessors / weight, persons / weight
    p = _p(sums[:, :3], epsilon) if queries > 1 else None
    return BesideLeftOut(person, pairs, queries, *shares, *interval_of(sample, _difference), p)


def _p(sums: Floats, epsilon: float) -> float:
    """The chance of a difference so low were it `epsilon`, with a query more than there are."""
    unseen = sums[:, 2].mean() * np.array([[0.0, 1.0, 1.0]])
    guarded = Sample(np.concatenate([sums, unseen]))
    error = jackknife_error(guarded.of_rest(_difference))
    return t_below((float(_difference(guarded.total)) - epsilon) / error, degrees(len(sums)))


def _difference(sums: Floats) -> Floats:
    """`(..., 3)` sums to the person's share less the assessor's."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums[..., 1] - sums[..., 0]) / sums[..., 2]
