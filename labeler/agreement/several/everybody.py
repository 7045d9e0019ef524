"""Everybody's grades side by side: who are people, who of them are colleagues, who copies whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from labeler.agreement.align import Rules, grades_of_assessor, grades_of_human, rules_for, scale_of
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.overview import short
from labeler.agreement.several.alternative import (
    EPSILON,
    FEWEST_PEOPLE,
    AlternativeTest,
    alternative_test,
)
from labeler.agreement.several.joint import (
    MARGIN,
    Ceiling,
    GradeMatrix,
    JointAgreement,
    ceiling,
    grade_matrix,
    joint_agreement,
    tables_of_two,
)
from labeler.agreement.sources import AssessorSource, Sources
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.report.finding import Finding

# Who is no colleague of the others: a consensus made from their grades, a copy of another.
#
# An assessor beside a consensus and the people it was made from is measured against a part of each
# of them. Copies of one assessor agree with each other, which says nothing of how right they are.

OUTSIDE = 0.25
"""A consensus lies outside of all others' grades at most this often, as a share of the others."""
FEWEST_OUTSIDE, FEWEST_PAIRS = 10, 30
"""With fewer pairs than these nothing is concluded from what never happened."""
ALIKE, CLOSER = 0.8, 0.25
"""Copies have at least this kappa, and lack this share of what both lack at best with people."""


def is_consensus(matrix: GradeMatrix, person: str, others: Sequence[str]) -> bool:
    """Whether a person's grades look as if they were made from the others'.

    Whatever is made from grades (their median, majority, rounded mean, the pick of an adjudicator)
    lies within their range. Of independent people each leaves the range of the rest about as
    often; the least often of the `others` is the measure.
    """
    if len(others) < 2:
        return False
    whole = matrix.of(person, *others).complete()
    outside = [_outside(whole, column) for column in range(len(others) + 1)]
    return min(outside[1:]) >= FEWEST_OUTSIDE and outside[0] <= OUTSIDE * min(outside[1:])


def _outside(matrix: GradeMatrix, column: int) -> int:
    """In how many pairs a column's grade is above or below all the others'."""
    grade, rest = matrix.values[:, column], np.delete(matrix.values, column, axis=1)
    return int(((grade < rest.min(axis=1)) | (grade > rest.max(axis=1))).sum())


def copies(
    matrix: GradeMatrix, assessors: Sequence[str], people: Sequence[str]
) -> list[tuple[str, str]]:
    """Every two of the assessors, or of them and the people, that agree as only copies do.

    Their kappa is `ALIKE` at least, and lacks at most a quarter (`CLOSER`) of what the kappa of
    either with any other person lacks.
    """
    names = (*people, *assessors)
    pairs = [pair for pair in combinations(names, 2) if pair[1] in assessors]
    kappas = {pair: _kappa(matrix, *pair) for pair in pairs}
    return [pair for pair in pairs if _is_copy(kappas, pair, people)]


def _is_copy(
    kappas: dict[tuple[str, str], float], pair: tuple[str, str], people: Sequence[str]
) -> bool:
    with_people = [
        kappa
        for (person, assessor), kappa in kappas.items()
        if person in people and person not in pair and assessor in pair and not np.isnan(kappa)
    ]
    if not with_people:
        return False
    return kappas[pair] >= ALIKE and 1 - kappas[pair] <= CLOSER * (1 - max(with_people))


def _kappa(matrix: GradeMatrix, first: str, second: str) -> float:
    """Cohen's kappa of two columns; `nan` of few pairs."""
    columns = [matrix.assessors.index(name) for name in (first, second)]
    both = (matrix.values[:, columns] >= 0).all(axis=1)
    if both.sum() < FEWEST_PAIRS:
        return float("nan")
    table: Floats = tables_of_two(matrix, *columns).sum(axis=0)
    kappa = find_statistic("kappa", matrix.grades)
    return float(kappa.compute(table, np.array(matrix.grades, dtype=np.float64)))


def distinct(assessors: Sequence[str], copied: Sequence[tuple[str, str]]) -> list[str]:
    """The assessors without those that are copies of one before them."""
    return [name for name in assessors if all(second != name for _, second in copied)]


CEILING_STATISTICS = ("kappa-quadratic", "kappa")
Maps = Mapping[str, Mapping[int, int]]
Weights = Mapping[Pair, float] | None


@dataclass(frozen=True, eq=False)
class Everybody:
    """All grades as columns of one matrix, by who gave them.

    `people` are colleagues: a consensus of the others is none, and stands in no column's stead.
    `copied` names every two that agree as only copies do.
    """

    matrix: GradeMatrix
    people: tuple[str, ...]
    assessors: tuple[str, ...]
    copied: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()

    def joint(self, options: StatisticOptions) -> JointAgreement:
        """What people have among themselves, and what the assessors have."""
        assessors = distinct(self.assessors, self.copied)
        return joint_agreement(self.matrix, self.people, assessors, options)


def mapped(sources: Sources, source: AssessorSource, rules: Rules) -> tuple[Qrels, Qrels]:
    """Both sides' grades as the rules read them."""
    scale = scale_of(sources.human, rules)
    human = grades_of_human(sources.human, scale, rules)
    return human, grades_of_assessor(source.judged.labels, scale, rules)


def everybody(sources: Sources, maps: Maps, rest: Rules, weights: Weights) -> Everybody:
    """Every assessor's grades, those included of pairs that the first assessor lacks."""
    columns: dict[str, Qrels] = {}
    for source in sources.assessors:
        rules = rules_for(sources.human, source.judged.labels, maps, rest)
        human, assessor = mapped(sources, source, rules)
        columns.setdefault(sources.human_name, human)
        columns[source.name] = assessor
    scale = scale_of(sources.human, rules)
    for name, qrels in sources.more_humans.items():
        columns[name] = grades_of_human(qrels, scale, rules)
    matrix = grade_matrix(columns, scale if rules.cut is None else (0, 1), weights)
    named = [sources.human_name, *sources.more_humans]
    assessors = [source.name for source in sources.assessors]
    left_out = _consensus(sources, matrix, named, assessors)
    people = [name for name in named if left_out is None or name != left_out.about]
    copied = copies(matrix, assessors, people)
    findings = [*([left_out] if left_out else []), *_copies_said(copied, people)]
    return Everybody(matrix, tuple(people), tuple(assessors), tuple(copied), tuple(findings))


def _consensus(
    sources: Sources, matrix: GradeMatrix, named: Sequence[str], assessors: Sequence[str]
) -> Finding | None:
    """The finding that one of several people is a consensus, `about` that one."""
    if len(named) < 2:
        return None
    for name in named:
        others = [other for other in named if other != name]
        made_from = set(sources.made_from.get(name, ()))
        if made_from & {*others, *assessors}:
            return _left_out(name, "was made from the grades of", sorted(made_from), others)
        if is_consensus(matrix, name, others):
            return _left_out(name, "lies within the range of the grades of", others, others)
    return None


def _left_out(name: str, how: str, raters: Sequence[str], others: Sequence[str]) -> Finding:
    whose = _and([short(rater) for rater in raters])
    text = f"{short(name)} {how} {whose}, as a consensus does"
    if how.startswith("was"):
        text = f"{short(name)} {how} {whose}"
    if len(others) < 2:
        rest = "no ceiling is given, which takes two of those people"
    else:
        rest = "it is no colleague of theirs, and is left out of the ceiling and of people's alpha"
    return Finding(f"{text}: {rest}", about=name)


def _and(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _copies_said(copied: Sequence[tuple[str, str]], people: Sequence[str]) -> Iterator[Finding]:
    for person, assessor in copied:
        if person in people:
            names = f"{short(assessor)} and {short(person)}"
            yield Finding(f"{names} agree as one person's grades do: that person is no colleague")
    for group in _groups([pair for pair in copied if pair[0] not in people]):
        names = _and([short(name) for name in group])
        yield Finding(f"{names} agree as copies of one assessor do, and count as one together")


def _groups(copied: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Assessors that hang together as copies, each group in its order."""
    groups: list[list[str]] = []
    for pair in copied:
        touched = [group for group in groups if set(group) & set(pair)]
        merged = list(dict.fromkeys([name for group in (*touched, pair) for name in group]))
        groups = [group for group in groups if group not in touched] + [merged]
    return groups


def part_of(sources: Sources, source: AssessorSource) -> list[Finding]:
    """A finding that one of the two sides' grades were made from the other's, among others."""
    name, human = source.name, sources.human_name
    for whole, part in ((human, name), (name, human)):
        raters = sources.made_from.get(whole, ())
        if part in raters:
            what = f"{short(whole)} was made from the grades of {_and(list(raters))}"
            return [Finding(f"{what}: this is the agreement of a part with the whole")]
    return []


def ceilings(
    whole: Everybody, assessor: str, options: StatisticOptions, margin: float = MARGIN
) -> tuple[Ceiling, ...]:
    """The assessor beside each of the people, against the others; `()` of fewer than two people."""
    people = [name for name in whole.people if (name, assessor) not in whole.copied]
    if len(people) < 2:
        return ()
    matrix = whole.matrix.of(*people, assessor)
    statistics = [find_statistic(name, matrix.grades) for name in CEILING_STATISTICS]
    by_statistic = (ceiling(matrix, assessor, s, options) for s in statistics)
    return tuple(replace(measured, margin=margin) for measured in by_statistic)


def alternative(
    whole: Everybody, assessor: str, options: StatisticOptions, epsilon: float = EPSILON
) -> AlternativeTest | None:
    """May the assessor stand in for a person? `None` of fewer than three people."""
    people = [name for name in whole.people if (name, assessor) not in whole.copied]
    if len(people) < FEWEST_PEOPLE:
        return None
    return alternative_test(whole.matrix.of(*people, assessor), assessor, epsilon, options)
