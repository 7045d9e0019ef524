"""What a diff says in three sentences: how much moved, who is closer to people, which systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.agreement.align import GradeMatrix, drawn_weights
from labeler.agreement.compare import UNDEFINED, StatisticOptions, share_of
from labeler.agreement.diff.sides import Sides
from labeler.agreement.differences import Difference
from labeler.agreement.report import AssessorReport
from labeler.agreement.retest import (
    MOST,
    Retest,
    asked_again,
    asked_in_controls,
    control_grades,
    kappa_of,
    off_diagonal,
    retest,
    share_off_diagonal,
)
from labeler.agreement.shown import closer, hundred
from labeler.arrays import Floats
from labeler.data import Pair
from labeler.evaluation.inputs import short
from labeler.judging.changes import ABSENT, Transitions
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result, as_plain
from labeler.report.table import Column, Interval, Table, interval_text, number_text, shown
from labeler.stats.drift import Drift, change

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard

SIDES = ("a", "b")

# Which share of pairs moved up and down, with intervals, and in which queries moves are many.


class QueryMoves(NamedTuple):
    """How many pairs of a query both sets grade, and how many of them moved up and down."""

    query_id: Annotated[str, Column("query", align="left")]
    pairs: int
    up: int
    down: int

    @shown
    def moved(self) -> int:
        """How many moved at all."""
        return self.up + self.down


def common_grades(
    changes: Transitions, names: tuple[str, str], weights: Mapping[Pair, float] | None
) -> GradeMatrix:
    """The grades of the pairs that both sets grade, in the order of their ids.

    The weight is one over the chance with which people drew a pair, 1 where they drew none.
    """
    grades = [state.grade for state in changes.states if state.grade is not None]
    # grades come first among the states
    rows = changes.joined.by_id(np.maximum(changes.before, changes.after) < len(grades))
    pairs = changes.joined.columns(rows)
    values = np.stack([changes.before, changes.after], axis=1)[rows]
    weight = np.nan_to_num(drawn_weights(pairs, weights), nan=1.0) if weights else None
    return GradeMatrix(names, grades, pairs, values, weight)


def moves_by_query(common: GradeMatrix) -> list[QueryMoves]:
    """The moves of each query, those first in which most moved."""
    counts = (each.astype(int).tolist() for each in _moves(replace(common, weight=None)))
    moves = [QueryMoves(*row) for row in zip(common.pairs.queries, *counts, strict=True)]
    return sorted(moves, key=lambda query: -query.moved)


def shares_moved(common: GradeMatrix, options: StatisticOptions) -> tuple[Interval, Interval]:
    """The weighted shares of pairs that moved up, and down."""
    if not common.pairs.size:
        return UNDEFINED, UNDEFINED
    whole, up, down = _moves(common)
    return share_of(up, whole, options), share_of(down, whole, options)


def _moves(common: GradeMatrix) -> Sequence[Floats]:
    """How many pairs of each query there are, and how many moved up and down."""
    tables = common.tables()
    return [each.sum(axis=(1, 2)) for each in (tables, np.triu(tables, 1), np.tril(tables, -1))]


# How many pairs move where the same is asked twice, beside those that moved between two sets.

Controls = Mapping[str, Floats]
"""New grades of some pairs by day, `(pairs,)` each."""


@dataclass(frozen=True, eq=False, repr=False)
class Noise(Result):
    """What asking the same again gives, of `pairs` that both sets grade, and what moved of these.

    `retests` are of either set, None where it was asked once. `by_chance` is the share of pairs
    that would move between two sets by one assessor: the mean of the two retests, which is too
    small where the replies of one session are alike. `change` is of all common pairs that controls
    of both sets asked about on one day.

    Pairs picked by their old grade are likelier to have a stray one. For them `by_chance` is the
    share that gets another grade when asked again.
    """

    names: tuple[str, str]
    retests: tuple[Retest | None, Retest | None]
    pairs: int
    moved: Interval
    kappa: Interval
    by_chance: Interval
    change: Drift

    @property
    def is_change_shown(self) -> bool:
        """Whether more differs between the two sets than one assessor's own noise explains."""
        return bool(self.change.alarms)

    def table(self) -> Table:
        """The share of pairs with another grade and kappa: of each set with itself, and of both."""
        columns = [
            Column("grades", align="left"),
            Column("another grade", format=".3f", ends=".3f"),
            Column("kappa", format=".3f", ends=".3f"),
        ]
        rows = [
            (f"{name} asked twice", of.moved, of.kappa)
            for name, of in zip(self.names, self.retests, strict=True)
            if of is not None
        ]
        rows.append((" to ".join(self.names), self.moved, self.kappa))
        return Table("retest", columns, rows, f"what asking twice gives, of {self.pairs:,} pairs")

    def as_json(self) -> dict[str, Any]:
        """The retests of both sets, the share that moves by chance, and what shows a change."""
        return self.picked(
            *("pairs", "moved", "kappa", "by_chance"),
            **dict(zip(SIDES, self.retests, strict=True)),
            sessions=self.change.others,
            departures=self.change.departures,
            changed=self.is_change_shown if self.change.departures else None,
        )


def noise_of(sides: Sides, common: GradeMatrix, options: StatisticOptions) -> Noise | None:
    """The noise of the pairs that both sets grade.

    None where neither was asked twice, or of picked pairs the earlier one was not.
    """
    if sides.collection is None:
        return None
    once, again = replace(common, weight=None), list[GradeMatrix]()
    controls = list[Controls]()
    for side, name in enumerate(sides.names):
        grades = once.scale[once.values[:, side]]  # both graded all of these
        by_day = control_grades(sides.collection, name, once.pairs, grades)
        repeats = asked_again(sides.collection, name)[0].among(once.pairs)
        if by_day and not repeats.pairs.size:
            repeats = asked_in_controls(once.pairs, [grades, *[*by_day.values()][-MOST:]])
        again.append(repeats)
        controls.append(by_day)
    asked = [of for of in again if of.pairs.size]
    if not asked:
        return None
    pairs = asked[0].among(asked[-1].pairs).pairs
    pairs = pairs if pairs.size else asked[0].pairs
    # those that were asked again about each of these pairs
    parts = [of.among(pairs) for of in again]
    each = [part if part.pairs.size == pairs.size else None for part in parts]
    picking = [name in sides.picking for name in sides.names]
    both = list(zip(each, picking, strict=True))
    if (None, True) in both:
        return None
    before, after = (
        None if of is None else retest(name, of, 0, options)
        for name, of in zip(sides.names, each, strict=True)
    )
    tables = once.among(pairs).tables()
    apart = [
        _moved_again(of, is_picking=is_picking)
        for of, is_picking in both
        if of is not None and (is_picking or not any(picking))
    ]
    return Noise(
        sides.names,
        (before, after),
        pairs.size,
        share_off_diagonal(tables, options),
        kappa_of(tables, once.grades, options),
        share_of(np.mean(apart, axis=0), tables.sum(axis=(1, 2)), options),
        _change(once, controls, options.seed),
    )


def _moved_again(asked: GradeMatrix, *, is_picking: bool) -> Floats:
    """How many pairs of each query get another grade when asked again, on average.

    For pairs that were picked by the first grade, how many get another grade than that one.
    """
    two = combinations(range(len(asked.assessors)), 2)
    links = [link for link in two if 0 in link or not is_picking]
    return np.asarray(np.mean([off_diagonal(asked.tables(*link)) for link in links], axis=0))


def _change(once: GradeMatrix, controls: Sequence[Controls], seed: int) -> Drift:
    """Whether the later set's assessor grades as the earlier one's, by a day that asked both again.

    How sessions lean differs from day to day, so other days do not tell.
    """
    before, (old, new) = once.numbers[:, 0], map(dict, controls)
    if not (common := sorted(old.keys() & new.keys())):
        return Drift(0)
    beside = old.pop(common[-1])
    return change(new[common[-1]], np.column_stack([before, *old.values()]), beside, seed)


# How far each of two sets of grades agrees with people, and which of them is closer.


@dataclass(frozen=True, eq=False)
class BesidePeople:
    """How far the two sets agree with people: a report of each, the earlier one first.

    Where one of the two is people's own, that of the other alone. `withheld` says why neither is
    told; `runs` are those that were read for it.
    """

    reports: Sequence[AssessorReport] = ()
    withheld: str = "is not known: no human qrels were named"
    runs: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    @property
    def is_of_both(self) -> bool:
        """Whether both sets stand beside human grades."""
        return len(self.reports) == 2

    @property
    def human(self) -> str:
        """The human qrels."""
        return self.reports[0].human

    @property
    def changes(self) -> Sequence[Difference]:
        """The statistics of the later set less those of the earlier one."""
        return self.reports[-1].differences if self.reports else ()

    def verdict(self, change: Difference) -> str:
        """Who is closer to people by one statistic, by name; the later set stands first in it."""
        before, after = (short(report.assessor) for report in self.reports)
        return closer(change.verdict, (after, before))

    def as_json(self) -> dict[str, Any] | None:
        """The statistics of both sets by name, and the second's less the first's."""
        if not self.is_of_both:
            return None
        statistics = (as_plain(report.agreement.statistics) for report in self.reports)
        return {
            "human": self.human,
            "pairs": max((change.pairs for change in self.changes), default=0),
            **dict(zip(SIDES, statistics, strict=True)),
            "difference": {
                change.statistic.name: as_plain(change.interval) | {"verdict": self.verdict(change)}
                for change in self.changes
            },
        }


def how_much(
    sides: Sides,
    changes: Transitions,
    queries: Sequence[QueryMoves],
    shares: tuple[Interval, Interval],
    noise: Noise | None,
) -> str:
    """How many pairs moved, which way, of which pairs, and how many of these by chance."""
    before, after = sides.names
    pairs = sum(query.pairs for query in queries)
    if not pairs:
        return f"No pair has a grade in both {before} and {after}.{_beside(changes)}{sides.of_part}"
    count = sum(query.moved for query in queries)
    up, down = (f"{hundred(s.value or 0.0)}{_hundreds(s)}" for s in shares)
    weighted = " (weighted as people's sample is)" if sides.weights is not None else ""
    return (
        f"{after} gives another grade than {before} to {count:,} of the "
        f"{count_of(pairs, 'pair')} that both graded: of 100{weighted}, {up} are higher and "
        f"{down} lower."
        f"{sides.of_scales}{_beside(changes)}{sides.of_part}{_by_chance(noise, pairs, count)}"
    )


def _beside(changes: Transitions) -> str:
    """The pairs that only one of the two has, and those of which one has no grade."""
    kinds = [2 if state.status == ABSENT else int(state.grade is None) for state in changes.states]
    # (graded, without a grade, absent): from each to each
    of = np.eye(3)[kinds]
    went = (of.T @ changes.table @ of).astype(int)
    gained, lost, alone = went[1, 0], went[0, 1], went[2].sum() + went[:, 2].sum()
    sentences = ""
    if gained or lost:
        sentences += f" {gained:,} without a grade got one, {lost:,} lost theirs."
    if alone:
        sentences += f" {count_of(alone, 'pair stands', 'pairs stand')} on one side only."
    return sentences


def _by_chance(noise: Noise | None, pairs: int, moved: int) -> str:
    """How many pairs would move if the same were asked twice, and whether more is shown."""
    if noise is None:
        return ""
    value, low, high = (None if s is None else s * pairs for s in noise.by_chance)
    ends = "" if low is None or high is None else f" ({low:,.0f} to {high:,.0f})"
    about = f"about {value or 0.0:,.0f}{ends}"
    gives = f" Of these moves {about} are what asking twice gives"
    if round(value or 0.0) > moved:
        gives = f" Asking twice gives {about} such moves"
    if not noise.change.departures:
        return f"{gives}; {NOT_TOLD}."
    if noise.is_change_shown:
        return f"{gives}; the rest is a change ({'; '.join(map(str, noise.change.alarms))})."
    figures = "; ".join(map(str, noise.change.departures))
    return f"{gives}; that the two differ by more is not shown ({figures})."


NOT_TOLD = "whether the rest is a change is not known, as no day has a control of both"


def how_close(beside: BesidePeople, names: tuple[str, str]) -> str:
    """Which of the two is closer to people, or why that is not told."""
    which = "Which of the two is closer to"
    if not beside.reports:
        return f"{which} people {beside.withheld}."
    human, change = short(beside.human), next(iter(beside.changes), None)
    if not beside.is_of_both:
        return _of_people(beside.reports[0])
    if change is None or not change.pairs:
        return f"The two share too few pairs with {human} to be compared."
    name, pairs = change.statistic.name, count_of(change.pairs, "pair")
    if change.value is None:
        return (
            f"{which} {human} cannot be told: {name} is not defined on the {pairs} that all graded."
        )
    before, after = (number_text(value or 0.0, ".2f") for value in (change.second, change.first))
    figures = (
        f"by {name} over {pairs}: {before} of {names[0]}, {after} of {names[1]}, a difference of "
        f"{interval_text(change, '+.2f')}"
    )
    verdict = beside.verdict(change)
    if verdict.endswith("is closer"):
        return f"{verdict} to {human} {figures}."
    # why a difference whose own interval leaves 0 out tells nothing: others are looked at too
    allowed = f"the verdict allows for {len(beside.changes)} statistics"
    alone = f" (the interval is of {name} alone; {allowed})" if change.leaves_0_out else ""
    return f"{which} {human} cannot be told {figures}{alone}."


def _of_people(report: AssessorReport) -> str:
    """How far one of the two agrees with the other, whose grades are people's."""
    human, assessor = short(report.human), short(report.assessor)
    kappa = report.agreement.statistics.get("kappa")
    if kappa is None or kappa.value is None:
        return f"{human} are people's grades; how far {assessor} agrees with them is not defined."
    return (
        f"{human} are people's grades: {assessor} agrees with them by a kappa of "
        f"{interval_text(kappa, '.2f')}, over {count_of(report.agreement.pairs, 'pair')}."
    )


def order(board: Leaderboard | None, sides: Sides) -> str:
    """Whether systems change places, or why that is not told."""
    if board is not None:
        return board.sentences[0]
    if sides.thins_rankings:
        return "Whether systems change places is not told: rankings need all pairs, not a part."
    if not has_common_queries(sides):
        return "Whether systems change places is not known: no query has grades in both."
    return "Whether systems change places is not known: fewer than two runs were given."


def has_common_queries(sides: Sides) -> bool:
    """Whether any query has grades in both sets, so that systems can be ranked by either."""
    before, after = (set(side.grades.queries) for side in (sides.before, sides.after))
    return not before.isdisjoint(after)


def _hundreds(share: Interval) -> str:
    """The interval of a share as so many of 100."""
    if share.low is None or share.high is None:
        return ""
    return f" ({100 * share.low:.0f} to {100 * share.high:.0f} over queries like these)"
