"""`panel`: several assessors' grades put together, and how many assessors that really is.

A member is what an assessor is everywhere here: a prompt and a model. Each one's judgements are a
set of their own, which can be looked at, compared or put into another panel. How far the panel and
its members agree with people, `agree` says, as of any set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from labeler.agreement.align import GradeMatrix, Rules, scale_of, tables_of
from labeler.agreement.compare import StatisticOptions, interval_of
from labeler.agreement.sources import human_grades, made_from
from labeler.arrays import Floats, Integers
from labeler.collection.layout import AnyCollection, open_collection
from labeler.data import Qrels
from labeler.errors import Misuse, about
from labeler.evaluation.inputs import short
from labeler.judging.changes import human_beside
from labeler.lab.members import (
    PanelOptions,
    PanelSet,
    check_made_name,
    panel_of,
    read_member,
    write_made,
)
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, interval_text, shown
from labeler.stats.intervals import Sample, draws_of
from labeler.trec.pairs import PairColumns

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

    Errors are what members' grades differ by among pairs of one human grade.
    """

    members: Sequence[str]
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
    human: Qrels,
    options: StatisticOptions | None = None,
) -> Independence:
    """The correlation of members' errors, with an interval over queries.

    An error is a member's grade less its mean over the pairs of the same human grade, so that
    what members have in common because they see the same truth is no error, nor is a bias.
    """
    options = options or StatisticOptions()
    people = PairColumns.of(human, np.int64)
    votes = votes.among(people)
    groups = np.unique(votes.pairs.beside(people, 0), return_inverse=True)[1]
    sums = _moments(votes, groups)
    features = max(int(np.prod(sums.shape[1:])), 1)
    # of many members the sums of each query are many
    usual = min(draws_of(max(len(sums), 1)), MOST_CELLS // features)
    sample = Sample(sums, options.draws or max(FEWEST_DRAWS, usual), options.seed)
    correlation = interval_of(sample, _mean_correlation, bounded=True)
    return Independence(votes.assessors, votes.pairs.size, len(sums), correlation)


def _moments(votes: GradeMatrix, group: Integers) -> Floats:
    """`(queries, links, groups, 6)`: of every two members n, x, y, xx, yy, xy over their pairs.

    A group holds the pairs of one human grade.
    """
    x, y = np.meshgrid(votes.scale, votes.scale, indexing="ij")
    cells = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    shape, graded = (len(votes.pairs.queries), len(votes.grades)), votes.graded

    def sums(a: int, b: int, of: int) -> Floats:
        rows = graded[:, a] & graded[:, b] & (group == of)
        tables = tables_of(
            votes.pairs.query[rows], votes.values[rows, a], votes.values[rows, b], shape
        )
        return np.asarray(np.einsum("qij,fij->qf", tables, cells))

    links = combinations(range(len(votes.assessors)), 2)
    groups = range(int(group.max(initial=0)) + 1)
    return np.moveaxis(np.array([[sums(*link, of) for of in groups] for link in links]), 2, 0)


def _mean_correlation(sums: Floats) -> Floats:
    """The mean over links of the correlations within groups; `nan` where all are undefined.

    One is undefined where a member does not vary.
    """
    n, x, y, xx, yy, xy = (sums[..., index] for index in range(6))
    safe = np.maximum(n, 1)
    cross = (xy - x * y / safe).sum(axis=-1)
    spread = (xx - x * x / safe).sum(axis=-1) * (yy - y * y / safe).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(spread > 1e-9, cross / np.sqrt(np.maximum(spread, 1e-12)), np.nan)
        return np.asarray(np.nansum(values, axis=-1) / np.isfinite(values).sum(axis=-1))


# What `panel` gives, and how.


@dataclass(frozen=True, eq=False, repr=False)
class PanelResult(Result):
    """A panel's grades, and how many independent assessors it is worth.

    `name` is that of the set that was written to a collection. `people` are the human qrels by
    which members' errors are told; `None` without any.
    """

    panel: PanelSet
    name: str | None
    people: str | None
    independence: Independence | None
    findings: Sequence[Finding] = ()

    @property
    def sentences(self) -> list[str]:
        """What was put together, and what it is worth."""
        return [self._counts(), *self._worth()]

    def _counts(self) -> str:
        panel = self.panel
        pairs = count_of(panel.judged, "pair has", "pairs have")
        text = f"{panel.options.rule} of {len(panel.members)} members: {pairs} a grade"
        if panel.failed:
            text += f", {panel.failed:,} have none for want of {panel.fewest} members' grades"
        return f"{text}."

    def _worth(self) -> Iterator[str]:
        worth, members = self.independence, len(self.panel.members)
        if worth is None or (number := worth.effective_number).value is None:
            return
        yield (
            f"Its {members} members are worth {interval_text(number, '.1f')} independent "
            "assessors: among pairs of one human grade their grades correlate by "
            f"{interval_text(worth.correlation, '.2f')}."
        )

    def tables(self) -> list[Table]:
        """A row for the panel and for each member: its grades, and how many pairs have none."""
        columns = [Column("assessor", align="left"), Column("pairs"), Column("failed")]
        of_panel = ("the panel", self.panel.judged, self.panel.failed)
        rows = [
            (short(m.name), int(m.judged.is_graded.sum()), len(m.judged.failures))
            for m in self.panel.members
        ]
        return [Table("members", columns, [of_panel, *rows], self.panel.options.rule)]

    def as_json(self) -> dict[str, Any]:
        """The figures of the command by name."""
        panel = self.panel
        return self.picked(
            *("name", "people", "independence", "findings"),
            rule=panel.options.rule,
            fewest=panel.fewest,
            seed=panel.options.seed,
            members={member.name: member.origin for member in panel.members},
            pairs=len(panel),
            judged=panel.judged,
            failed=panel.failed,
            failures=panel.failures,
            left_out=panel.left_out,
        )


def panel(
    collection: AnyCollection,
    *names: str,
    people: str | None = None,
    name: str | None = None,
    options: PanelOptions | None = None,
) -> PanelResult:
    """Put several assessors' grades of the same pairs together into one grade each.

    `names` are sets of the collection's judgements, or of its qrels. The panel is kept as the set
    `name`. `people` names human qrels of the collection (by default its own, where it has some).

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> said = {"lax": '{"grade": 3}', "strict": '{"grade": 0}'}
    >>> sets = [judge(collection, model=fake_model(r, m), name=m) for m, r in said.items()]
    >>> panel(collection, "lax", "strict").sentences[0]
    'median of 2 members: 4 pairs have a grade.'
    """
    options, notes = options or PanelOptions(), list[str]()
    opened = open_collection(collection)
    members = [read_member(opened, name) for name in names]
    if people in names:
        raise Misuse(
            f"{people} is a member of the panel, and cannot tell how good it is", parameter="people"
        )
    human_name = people or human_beside(opened, *names) or ""
    graded: Qrels = {}
    if human_name:
        with about("people"):
            graded, _ = human_grades(opened, human_name, notes.append)
    if name is not None:
        check_made_name(opened, name, options.rule, names)
    scale: Sequence[int] | None = None
    if graded:
        # from the lowest to the highest grade of the members and of people
        used = {grade for member in members for grade in member.judged.used}
        every = used.union(scale_of(graded, Rules()))
        scale = range(min(every), max(every) + 1)
    judged = panel_of(members, options, scale)
    if name is not None:
        write_made(opened, name, judged.made)
    how = StatisticOptions(seed=options.seed)
    human = PairColumns.of(graded, np.int64)
    human = human.keep(human.value >= 0)
    is_beside = bool(judged.votes.among(human).pairs.size)
    if len(human) and not is_beside:
        notes.append(f"{human_name} and the panel have no pair in common")
    worth = independence(judged.votes, human, how) if is_beside else None
    parts = [name for name in names if name in made_from(opened).get(human_name, ())]
    findings = (*map(Finding, notes), *_findings(judged, human_name, parts))
    return PanelResult(judged, name, human_name if is_beside else None, worth, findings)


def _findings(judged: PanelSet, human: str, parts: Sequence[str]) -> Iterator[Finding]:
    """What was left out, and that the human grades were made from those of some members."""
    if judged.left_out:
        yield Finding(
            f"{count_of(judged.left_out, 'pair is', 'pairs are')} left out, which fewer than "
            f"{judged.fewest} members were asked about",
            level="note",
        )
    if parts:
        yield Finding(
            f"{human} was made from the grades of {', '.join(parts)}: panel and members agree "
            "with what they are part of, and errors are none of people's"
        )
