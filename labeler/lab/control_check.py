"""Whether the assessor of a set of judgements has drifted, by pairs that were judged again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.collection.controls import ControlRun, PromptAndModel
from labeler.messages import count_of
from labeler.report.result import Result
from labeler.report.table import Cell, Interval, Table, figure_table
from labeler.stats.drift import LEAST_CHANGE, SessionChange, changed
from labeler.stats.families import each_pair
from labeler.stats.means import bounded_interval
from labeler.stats.student import SIGNIFICANT, t_quantile

FOUR_IN_FIVE = 0.8
MOST_WITHOUT_GRADE = 0.1
"""The share of new replies without a grade above which a control does not pass."""
MOST_EARLIER = 4
"""The grades of at most this many earlier controls are held against the new ones."""


@dataclass(frozen=True, eq=False, repr=False)
class DriftCheck(Result):
    """What one control says of the assessor of the judgements `name`.

    `judged_as` is what the server called its model when the pairs were judged. `changed` counts the
    pairs that were passed over because their texts are others now. `earlier` are the controls of
    the set before this one. A stable assessor is called drifted in 5 of 100 controls at most,
    however alike the two new replies are: the first alone decides.
    """

    name: str
    run: ControlRun
    judged_as: Sequence[str] = ()
    changed: int = 0
    earlier: Sequence[ControlRun] = ()

    @cached_property
    def grades(self) -> Floats:
        """The grades of the pairs that compare, `(pairs, 1 + times)`, the old ones first."""
        grades = [pair.grades for pair in self.run.pairs if pair.grades]
        return np.array(grades, float).reshape(len(grades), -1 if grades else 3)

    @cached_property
    def sessions(self) -> Floats:
        """A grade a session, `(pairs, sessions)`: the old, of earlier controls, and the new."""
        runs = [run for run in self.earlier if run.is_of_same_assessor][-MOST_EARLIER:]
        earlier = [{(p.pair, p.old): p.grades[1] for p in run.pairs if p.grades} for run in runs]
        rows = [
            [pair.old, *(of.get((pair.pair, pair.old), math.nan) for of in earlier), pair.grades[1]]
            for pair in self.run.pairs
            if pair.grades
        ]
        return np.array(rows, float).reshape(len(rows), 2 + len(earlier))

    @cached_property
    def change(self) -> SessionChange:
        """How far the new grades differ from the old, and how likely that is by chance."""
        return changed(self.sessions)

    @cached_property
    def same(self) -> Interval:
        """The share of new grades that equal the old ones."""
        values = (self.grades[:, 1:] == self.grades[:, :1]).mean(axis=1)
        return _estimate(values, bounded_interval(values, (0.0, 1.0)))

    @property
    def same_now(self) -> float:
        """The share of pairs whose two new grades are equal."""
        return _mean((self.grades[:, 1] == self.grades[:, 2]).astype(float))

    @property
    def moved(self) -> Floats:
        """By how much each pair's first new grade differs from the old, `(pairs,)`."""
        return np.asarray(self.grades[:, 1] - self.grades[:, 0])

    @cached_property
    def shift(self) -> Interval:
        """How far grades moved on average."""
        most = float(self.grades.max(initial=1.0))
        (verdict,) = each_pair(self.moved[None], most)
        return Interval(verdict.estimate, *verdict.ends)

    @property
    def has_drifted(self) -> bool:
        """Whether a drift of some size is shown at the 5 % level."""
        return self.change.is_shown()

    @property
    def verdict(self) -> str:
        """In words."""
        if self.is_undecided:
            too_few = "one pair alone" if self.compared else "no pair"
            if self.remembered == len(self.run.pairs):
                return "undecided: all replies were stored before"
            return f"undecided: {too_few} has a grade again"
        if self.has_drifted:
            return "drifted"
        return "too many replies without a grade" if self.fails_often else "no drift shown"

    @property
    def is_undecided(self) -> bool:
        """Whether too few pairs compare for any verdict."""
        return self.compared < 2

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the new replies gave no grade."""
        without, replies = self.run.failures
        return without > MOST_WITHOUT_GRADE * replies

    @property
    def has_passed(self) -> bool:
        """Whether a gate may pass: enough pairs compare, few failed, and no drift is shown."""
        return not (self.is_undecided or self.has_drifted or self.fails_often)

    @property
    def compared(self) -> int:
        """How many pairs have a grade again, each time."""
        return len(self.grades)

    @property
    def remembered(self) -> int:
        """How many pairs had a reply that was stored before the control began."""
        return sum(pair.remembered for pair in self.run.pairs)

    @property
    def failed(self) -> int:
        """How many pairs had a grade and now have none, once at least."""
        return len(self.run.pairs) - self.compared - self.remembered

    @property
    def sentences(self) -> list[str]:
        """What was asked, what came of it, and what so few pairs can tell."""
        p = "" if self.is_undecided else f"; p {self.change.p:.2g}"
        first = (
            f"{self.name}: {self.verdict} ({self.compared:,} of "
            f"{count_of(len(self.run.pairs), 'pair')} compared, each asked about twice{p})"
        )
        power = [] if self.is_undecided or self.has_drifted else [self._power()]
        return [first, *self._changes(), *self._left_out(), *self._basis(), *power]

    def _basis(self) -> Iterator[str]:
        """Which replies decide, and what they leave open."""
        if self.is_undecided:
            return
        same = f"{self.same_now:.0%} of second replies equal the first"
        yield f"{same}; the first alone decides, as replies of the same minutes may be alike"
        if self.change.tests == 1:
            yield (
                "a mean shift is looked for; moves up and down that cancel out are told from the "
                "next control on, which asks about the same pairs"
            )
        if self.change.p < SIGNIFICANT and not self.has_drifted:
            yield f"what differs is less than {LEAST_CHANGE} grades, and is not called a drift"

    def _left_out(self) -> Iterator[str]:
        """Which pairs are not compared, and why."""
        if self.changed:
            pairs = count_of(self.changed, "pair")
            yield f"{pairs} passed over: to the texts as they are now no reply is stored"
        if self.remembered:
            pairs = count_of(self.remembered, "pair")
            yield f"{pairs} left out: a reply was stored before this control began"
        if self.failed:
            without, replies = self.run.failures
            pairs = count_of(self.failed, "pair")
            yield (
                f"{pairs} had a grade and got none now; {without:,} of {replies:,} new replies, "
                f"{without / replies:.0%}, gave no grade (at most {MOST_WITHOUT_GRADE:.0%} pass)"
            )

    def _changes(self) -> Iterator[str]:
        for what, old, new in zip(
            PromptAndModel._fields, self.run.before, self.run.now, strict=True
        ):
            if old != new:
                yield f"the {what} is not the same: {old or 'unknown'} then, {new} now"
        then, now = self.judged_as, self.run.names
        if then and now and then != now:
            yield f"the server calls its model {', '.join(then)} then, {', '.join(now)} now"

    def _power(self) -> str:
        """The least shift, or share of changed grades, that as many pairs show as a rule."""
        if not np.ptp(self.grades, axis=1).any():
            compared = "" if self.compared == len(self.run.pairs) else " that compare"
            return (
                f"all grades{compared} are as before; at most {1 - (self.same.low or 0.0):.0%} "
                "of all pairs have another grade now"
            )
        moved = self.moved
        deviation = float(np.std(moved, ddof=1))
        if not deviation:
            return (
                f"the new grade of every pair lies {moved[0]:+.2f} from the old; "
                "which shift so many pairs would show cannot be told"
            )
        reach = t_quantile(1 - SIGNIFICANT / 4, len(moved) - 1) + t_quantile(FOUR_IN_FIVE, 1e6)
        shift = reach * deviation / math.sqrt(len(moved))
        pairs = count_of(len(moved), "pair")
        return f"{pairs} would show a shift of {shift:.2f} grades in four of five controls"

    def tables(self) -> list[Table]:
        """The figures: shares of equal grades, and the mean shift."""
        figures: dict[str, Cell] = {
            "new grades that equal the old": self.same,
            "new grades that equal each other": self.same_now,
            "shift of grades": self.shift,
        }
        return [figure_table("drift", figures)]

    def as_json(self) -> dict[str, Any]:
        """The figures by name; what is undefined is None."""
        return self.picked(
            *("name", "verdict", "compared", "failed", "remembered", "changed"),
            *("same", "same_now", "shift"),
            control=self.run.number,
            drifted=self.has_drifted,
            pairs=len(self.run.pairs),
            passed=self.has_passed,
            p=self.change.p,
            p_shift=self.change.p_shift,
            p_apart=self.change.p_apart,
            before=self.run.before,
            now=self.run.now,
        )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _estimate(values: Floats, ends: tuple[float, float] | None) -> Interval:
    return Interval(_mean(values), *(ends or (math.nan, math.nan)))
