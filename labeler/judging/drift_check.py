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
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.means import bounded_interval, paired_interval
from labeler.stats.retest import RetestP, retest
from labeler.stats.student import t_quantile

FOUR_IN_FIVE = 0.8


class Regraded(NamedTuple):
    """A pair's judgement as it stands, and what its assessor says of the pair now."""

    old: Judged
    new: tuple[Judged, ...]

    @property
    def grades(self) -> tuple[int, ...] | None:
        """The old grade and the new ones; None where one of the new replies gave none."""
        outcomes: list[Outcome] = [self.old.outcome, *(judged.outcome for judged in self.new)]
        grades = [o.grade for o in outcomes if isinstance(o, Judgement)]
        return tuple(grades) if len(grades) == len(outcomes) else None


@dataclass(frozen=True, repr=False)
class DriftCheck:
    """What a control says of the assessor of the judgements `name`.

    `before` and `now` are the prompt and the model, then and today. `same` is the share of new
    grades that equal the old ones, `same_now` of pairs whose two new grades are equal, `shift` how
    far grades moved on average. A stable assessor is called drifted in 5 of 100 controls at most.
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
        if not self.compared:
            return "undecided: no pair has a grade again"
        return "drifted" if self.has_drifted else "no drift shown"

    @cached_property
    def compared(self) -> int:
        """How many pairs have a grade again, each time."""
        return sum(r.grades is not None for r in self.regraded)

    @property
    def failed(self) -> int:
        """How many pairs had a grade and now have none, once at least."""
        return len(self.regraded) - self.compared

    @property
    def served(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the server called its model, then and now."""
        old = Counter(r.old.model for r in self.regraded if r.old.model)
        new = Counter(judged.model for r in self.regraded for judged in r.new if judged.model)
        return tuple(sorted(old)), tuple(sorted(new))

    def sentences(self) -> Iterator[str]:
        """What was asked, what came of it, and what so few pairs can tell."""
        pairs = count_of(len(self.regraded), "pair", "pairs")
        how = f"{pairs} judged again, twice each; p {self.p.either:.2g}"
        yield f"{self.name}: {self.verdict} ({how})"
        yield from self._changes()
        if self.failed:
            yield f"{count_of(self.failed, 'pair', 'pairs')} had a grade and got none now"
        if self.compared and not self.has_drifted:
            yield self._power()

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
        moved = [np.mean(r.grades[1:]) - r.grades[0] for r in self.regraded if r.grades]
        deviation = float(np.std(moved, ddof=1)) if len(moved) > 1 else 0.0
        if not deviation:
            changed = 1 - (self.same.low or 0.0)
            most = f"at most {changed:.0%} of all pairs have another grade now"
            return f"all grades are as before; {most}"
        reach = t_quantile(1 - SIGNIFICANT / 4, len(moved) - 1) + t_quantile(FOUR_IN_FIVE, 1e6)
        shift = reach * deviation / math.sqrt(len(moved))
        return f"so many pairs show a shift of {shift:.2f} grades four times in five"

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
            "verdict": self.verdict,
            "drifted": self.has_drifted,
            "pairs": len(self.regraded),
            "compared": self.compared,
            "failed": self.failed,
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
