"""What pairs that were judged again say of their assessor: drifted, or no drift shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.data import Judged, Judgement, Outcome
from labeler.messages import count_of
from labeler.report.table import Column, Interval, Row, Table, is_undefined
from labeler.stats.drift import RetestP, retest
from labeler.stats.means import bounded_interval, paired_interval
from labeler.stats.student import SIGNIFICANT, t_quantile

FOUR_IN_FIVE = 0.8
MOST_WITHOUT_GRADE = 0.1
"""The share of new replies without a grade above which a control does not pass."""


class Regraded(NamedTuple):
    """A pair's judgement as it stands, and what its assessor says of the pair now."""

    old: Judged
    new: tuple[Judged, ...]

    @property
    def is_remembered(self) -> bool:
        """Whether a reply was stored before the control began, and says nothing of today."""
        return any(judged.remembered and not judged.shared for judged in self.new)

    @property
    def without_grade(self) -> int:
        """How many of the new replies gave no grade."""
        return sum(not isinstance(judged.outcome, Judgement) for judged in self.new)

    @property
    def grades(self) -> tuple[int, ...] | None:
        """The old grade and the new ones; None where a new reply gave none, or is not new."""
        if self.is_remembered:
            return None
        outcomes: list[Outcome] = [self.old.outcome, *(judged.outcome for judged in self.new)]
        grades = [o.grade for o in outcomes if isinstance(o, Judgement)]
        return tuple(grades) if len(grades) == len(outcomes) else None


@dataclass(frozen=True, repr=False)
class DriftCheck:
    """What a control says of the assessor of the judgements `name`.

    `before` and `now` are the prompt and the model, then and today. `same` is the share of new
    grades that equal the old ones, `same_now` of pairs whose two new grades are equal, `shift` how
    far grades moved on average. `changed` counts the pairs that were passed over because their
    texts are others now. With `fixed` the pairs are those of earlier controls, too. A stable
    assessor is called drifted in 5 of 100 controls at most.
    """

    name: str
    number: int
    regraded: tuple[Regraded, ...]
    before: tuple[str, str]
    now: tuple[str, str]
    p: RetestP
    same: Interval
    same_now: float
    shift: Interval
    changed: int = 0
    fixed: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        number: int,
        regraded: tuple[Regraded, ...],
        before: tuple[str, str],
        now: tuple[str, str],
    ) -> DriftCheck:
        """The check of pairs that were judged again."""
        grades = np.array([r.grades for r in regraded if r.grades], dtype=np.float64)
        grades = grades.reshape(-1, 3)
        old, new = grades[:, 0], grades[:, 1:]
        same = (new == old[:, None]).mean(axis=1)
        moved = new.mean(axis=1) - old
        most = float(np.ptp(grades)) if len(grades) else 0.0
        return cls(
            name,
            number,
            regraded,
            before,
            now,
            retest(old, new),
            _estimate(same, bounded_interval(same, "bootstrap", 0, (0.0, 1.0))),
            _mean((new[:, 0] == new[:, 1]).astype(np.float64)),
            _estimate(moved, paired_interval(moved, "bootstrap", 0, max(most, 1.0))),
        )

    @property
    def has_drifted(self) -> bool:
        """Whether a drift is shown at the 5 % level."""
        return self.p.either < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """In words."""
        if self.is_undecided:
            return f"undecided: {self._too_few()}"
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
        without, replies = self.replies_without_grade
        return without > MOST_WITHOUT_GRADE * replies

    @property
    def has_passed(self) -> bool:
        """Whether a gate may pass: enough pairs compare, few failed, and no drift is shown."""
        return not (self.is_undecided or self.has_drifted or self.fails_often)

    def _too_few(self) -> str:
        if self.remembered == len(self.regraded):
            return "all replies were stored before"
        return "one pair alone has a grade again" if self.compared else "no pair has a grade again"

    @cached_property
    def compared(self) -> int:
        """How many pairs have a grade again, each time."""
        return sum(r.grades is not None for r in self.regraded)

    @cached_property
    def remembered(self) -> int:
        """How many pairs had a reply that was stored before the control began."""
        return sum(r.is_remembered for r in self.regraded)

    @property
    def failed(self) -> int:
        """How many pairs had a grade and now have none, once at least."""
        return len(self.regraded) - self.compared - self.remembered

    @cached_property
    def replies_without_grade(self) -> tuple[int, int]:
        """How many of the new replies gave no grade, and how many new replies there were."""
        new = [r for r in self.regraded if not r.is_remembered]
        return sum(r.without_grade for r in new), sum(len(r.new) for r in new)

    @property
    def served(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the server called its model, then and now."""
        old = Counter(r.old.model for r in self.regraded if r.old.model)
        new = Counter(judged.model for r in self.regraded for judged in r.new if judged.model)
        return tuple(sorted(old)), tuple(sorted(new))

    def sentences(self) -> Iterator[str]:
        """What was asked, what came of it, and what so few pairs can tell."""
        pairs = count_of(len(self.regraded), "pair", "pairs")
        p = "" if self.is_undecided else f"; p {self.p.either:.2g}"
        how = f"{self.compared:,} of {pairs} compared, each asked about twice{p}"
        yield f"{self.name}: {self.verdict} ({how})"
        yield from self._changes()
        yield from self._left_out()
        if not (self.is_undecided or self.has_drifted):
            yield self._power()

    def _left_out(self) -> Iterator[str]:
        """Which pairs are not compared, and why."""
        if self.changed:
            pairs = count_of(self.changed, "pair", "pairs")
            why = "to the texts as they are now no reply is stored"
            if self.fixed:
                why = "edited since the fixed pairs were drawn, or without a grade now"
            yield f"{pairs} passed over: {why}"
        if self.remembered:
            pairs = count_of(self.remembered, "pair", "pairs")
            yield f"{pairs} left out: a reply was stored before this control began"
        if self.failed:
            without, replies = self.replies_without_grade
            pairs = count_of(self.failed, "pair", "pairs")
            share = (
                f"{without:,} of {replies:,} new replies, {without / replies:.0%}, gave no grade"
            )
            allowed = f"at most {MOST_WITHOUT_GRADE:.0%} pass"
            yield f"{pairs} had a grade and got none now; {share} ({allowed})"

    def _changes(self) -> Iterator[str]:
        for what, old, new in zip(("prompt", "model"), self.before, self.now, strict=True):
            if old != new:
                yield f"the {what} is not the same: {old or 'unknown'} then, {new} now"
        old_names, new_names = self.served
        if old_names and new_names and old_names != new_names:
            names = f"{', '.join(old_names)} then, {', '.join(new_names)} now"
            yield f"the server calls its model {names}"

    def _power(self) -> str:
        """The least shift, or share of changed grades, that as many pairs show as a rule."""
        grades = [r.grades for r in self.regraded if r.grades]
        if all(len(set(given)) == 1 for given in grades):
            compared = "" if self.compared == len(self.regraded) else " that compare"
            return f"all grades{compared} are as before{self._most_changed()}"
        moved = [np.mean(new) - old for old, *new in grades]
        deviation = float(np.std(moved, ddof=1))
        if not deviation:
            alike = f"the two new grades of every pair lie {moved[0]:+.2f} from the old on average"
            return f"{alike}; which shift so many pairs would show cannot be told"
        reach = t_quantile(1 - SIGNIFICANT / 4, len(moved) - 1) + t_quantile(FOUR_IN_FIVE, 1e6)
        shift = reach * deviation / math.sqrt(len(moved))
        pairs = count_of(len(moved), "pair", "pairs")
        return f"{pairs} would show a shift of {shift:.2f} grades in four of five controls"

    def _most_changed(self) -> str:
        """The largest share of changed grades that goes with none among those compared."""
        if is_undefined(self.same.low):
            return ""
        return f"; at most {1 - (self.same.low or 0.0):.0%} of all pairs have another grade now"

    def table(self) -> Table:
        """The figures: shares of equal grades, and the mean shift."""
        columns = [
            Column("figure", align="left"),
            Column("value", format=".3f", ends=".3f"),
        ]
        rows: list[Row] = [
            ["new grades that equal the old", self.same],
            ["new grades that equal each other", Interval(self.same_now, None, None)],
            ["shift of grades", self.shift],
        ]
        return Table("drift", columns, rows)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each pair: its grade as it stands, and what each new reply gave."""
        for r in self.regraded:
            query, document = r.old.outcome.pair
            old = r.old.outcome.grade if isinstance(r.old.outcome, Judgement) else None
            new = [_grade_or_status(judged.outcome) for judged in r.new]
            served = sorted({judged.model for judged in r.new if judged.model})
            yield {"query_id": query, "doc_id": document, "old": old, "new": new, "model": served}

    def as_json(self) -> dict[str, Any]:
        """The figures by name; what is undefined is None."""
        return {
            "name": self.name,
            "control": self.number,
            "fixed": self.fixed,
            "verdict": self.verdict,
            "drifted": self.has_drifted,
            "pairs": len(self.regraded),
            "compared": self.compared,
            "failed": self.failed,
            "remembered": self.remembered,
            "changed": self.changed,
            "passed": self.has_passed,
            "p": self.p.either,
            "p_shift": self.p.shift,
            "p_apart": self.p.apart,
            "same": _defined(self.same),
            "same_now": None if math.isnan(self.same_now) else self.same_now,
            "shift": _defined(self.shift),
            "before": dict(zip(("prompt", "model"), self.before, strict=True)),
            "now": dict(zip(("prompt", "model"), self.now, strict=True)),
        }

    def __repr__(self) -> str:
        return f"DriftCheck({self.name!r}, {self.verdict}, p={self.p.either:.2g})"


def _grade_or_status(outcome: Outcome) -> int | str:
    return outcome.grade if isinstance(outcome, Judgement) else outcome.status


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _estimate(values: Floats, ends: tuple[float, float] | None) -> Interval:
    return Interval(_mean(values), *(ends or (math.nan, math.nan)))


def _defined(estimate: Interval) -> dict[str, float | None]:
    named = estimate._asdict()
    return {name: None if is_undefined(value) else value for name, value in named.items()}
