"""Everybody's grades side by side: who are people, and who of them are colleagues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labeler.agreement.align import Rules, grades_of_assessor, grades_of_human, scale_of
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.overview import short
from labeler.agreement.several.alternative import (
    EPSILON,
    FEWEST_PEOPLE,
    AlternativeTest,
    alternative_test,
)
from labeler.agreement.several.joint import (
    Ceiling,
    GradeMatrix,
    JointAgreement,
    ceiling,
    grade_matrix,
    joint_agreement,
)
from labeler.agreement.sources import AssessorSource, Sources
from labeler.agreement.statistics import find_statistic
from labeler.data import Pair, Qrels
from labeler.report.finding import Finding

CEILING_STATISTICS = ("kappa-quadratic", "kappa")
Weights = Mapping[Pair, float] | None


@dataclass(frozen=True, eq=False)
class Everybody:
    """All grades as columns of one matrix, by who gave them.

    `people` are colleagues: a consensus of the others, as the card says of it, is none.
    """

    matrix: GradeMatrix
    people: tuple[str, ...]
    assessors: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def joint(self, options: StatisticOptions) -> JointAgreement:
        """What people have among themselves, and what the assessors have."""
        return joint_agreement(self.matrix, self.people, self.assessors, options)


def mapped(sources: Sources, source: AssessorSource, rules: Rules) -> tuple[Qrels, Qrels]:
    """Both sides' grades as the rules read them."""
    scale = scale_of(sources.human, rules)
    human = grades_of_human(sources.human, scale, rules)
    return human, grades_of_assessor(source.judged.labels, scale, rules)


def everybody(sources: Sources, rules: Rules, weights: Weights) -> Everybody:
    """Every assessor's grades, those included of pairs that the first assessor lacks."""
    scale = scale_of(sources.human, rules)
    columns = {sources.human_name: grades_of_human(sources.human, scale, rules)}
    for source in sources.assessors:
        columns[source.name] = grades_of_assessor(source.judged.labels, scale, rules)
    for name, qrels in sources.more_humans.items():
        columns[name] = grades_of_human(qrels, scale, rules)
    matrix = grade_matrix(columns, scale if rules.cut is None else (0, 1), weights)
    people = [sources.human_name, *sources.more_humans]
    assessors = tuple(source.name for source in sources.assessors)
    made_from = {name: {*sources.made_from.get(name, ())} for name in people}
    consensus = {name for name, raters in made_from.items() if raters & set(columns) - {name}}
    consensus = consensus if len(people) > 1 else set()
    findings = [_left_out(name, sorted(made_from[name])) for name in people if name in consensus]
    colleagues = tuple(name for name in people if name not in consensus)
    return Everybody(matrix, colleagues, assessors, tuple(findings))


def _left_out(name: str, raters: Sequence[str]) -> Finding:
    made = f"{short(name)} was made from the grades of {_and(list(map(short, raters)))}"
    rest = "it is no colleague of theirs, and is left out of the ceiling and of people's alpha"
    return Finding(f"{made}: {rest}", about=name)


def _and(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def part_of(sources: Sources, source: AssessorSource) -> list[Finding]:
    """A finding that one of the two sides' grades were made from the other's, among others."""
    name, human = source.name, sources.human_name
    for whole, part in ((human, name), (name, human)):
        raters = sources.made_from.get(whole, ())
        if part in raters:
            what = f"{short(whole)} was made from the grades of {_and(list(raters))}"
            return [Finding(f"{what}: this is the agreement of a part with the whole")]
    return []


def ceilings(whole: Everybody, assessor: str, options: StatisticOptions) -> tuple[Ceiling, ...]:
    """The assessor beside each of the people, against the others; `()` of fewer than two people."""
    if len(whole.people) < 2:
        return ()
    matrix = whole.matrix.of(*whole.people, assessor)
    statistics = [find_statistic(name, matrix.grades) for name in CEILING_STATISTICS]
    return tuple(ceiling(matrix, assessor, s, options) for s in statistics)


def alternative(
    whole: Everybody, assessor: str, options: StatisticOptions, epsilon: float = EPSILON
) -> AlternativeTest | None:
    """May the assessor stand in for a person? `None` of fewer than three people."""
    if len(whole.people) < FEWEST_PEOPLE:
        return None
    return alternative_test(whole.matrix.of(*whole.people, assessor), assessor, epsilon, options)
