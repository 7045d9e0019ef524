"""Pairs that were judged again: one control as it is kept, and whether its assessor has drifted."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.data import Judged, Judgement, Pair
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows
from labeler.messages import count_of
from labeler.report.result import Result
from labeler.report.table import Cell, Interval, Table, figure_table
from labeler.stats.drift import FailedReplies, RetestP, retest
from labeler.stats.families import each_pair
from labeler.stats.means import bounded_interval
from labeler.stats.student import SIGNIFICANT, t_quantile

TIMES = 2
"""How often each pair is asked again: the new grades differ from each other by noise alone."""
FOUR_IN_FIVE = 0.8
MOST_WITHOUT_GRADE = 0.1
"""The share of new replies without a grade above which a control does not pass."""
_LARGEST_GRADE = 2.0**31
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class PromptAndModel(NamedTuple):
    """The prompt and the model that gave grades; empty where nobody knows."""

    prompt: str = ""
    model: str = ""


class PairAgain(NamedTuple):
    """A pair of a control: its grade as it stood, and what each new reply gave.

    A reply without a grade has the status of its failure. `served` is what the server called its
    model. A pair is `remembered` where a reply was stored before the control began: it says nothing
    of today.
    """

    pair: Pair
    old: int
    new: Sequence[int | str]
    served: Sequence[str] = ()
    remembered: bool = False

    @classmethod
    def of(cls, old: Judgement, again: Sequence[Judged]) -> PairAgain:
        """A pair with a grade, and how it was judged again."""
        outcomes = [judged.outcome for judged in again]
        new = tuple(o.grade if isinstance(o, Judgement) else o.status for o in outcomes)
        served = tuple(sorted({judged.model for judged in again if judged.model}))
        remembered = any(judged.remembered and not judged.shared for judged in again)
        return cls(old.pair, old.grade, new, served, remembered)

    @property
    def grades(self) -> Sequence[int] | None:
        """The old grade and the new ones; None where a new reply gave none, or is not new."""
        new = tuple(grade for grade in self.new if isinstance(grade, int))
        return None if self.remembered or len(new) < len(self.new) else (self.old, *new)


@dataclass(frozen=True)
class ControlRun:
    """One control of a set: when, by which prompts and models then and now, and its pairs.

    The time of a control of which the card names none is that of its file.
    """

    number: int
    time: datetime
    before: PromptAndModel
    now: PromptAndModel
    pairs: Sequence[PairAgain]

    @property
    def label(self) -> str:
        """The day of the control."""
        return self.time.strftime("%Y-%m-%d")

    @property
    def is_of_same_assessor(self) -> bool:
        """Whether the prompt of that name, and the same model, were asked again."""
        old, new = (made.prompt.partition("@")[0] for made in (self.before, self.now))
        return not any(self.before) or (old, self.before.model) == (new, self.now.model)

    @property
    def names(self) -> Sequence[str]:
        """What the server called its model."""
        return tuple(sorted({name for pair in self.pairs for name in pair.served}))

    @property
    def failures(self) -> FailedReplies:
        """How many of the new replies gave no grade."""
        new = [each for pair in self.pairs if not pair.remembered for each in pair.new]
        return FailedReplies(sum(isinstance(each, str) for each in new), len(new))

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each pair: its grade as it stood, and what each new reply gave."""
        for pair in self.pairs:
            given = {"old": pair.old, "new": list(pair.new), "model": list(pair.served)}
            yield {**pair.pair._asdict(), **given}


def read_controls(collection: Collection, name: str) -> list[ControlRun]:
    """The controls of a set that were finished, the oldest first."""
    entries = card_section(read_card(collection), "control")
    runs = list[ControlRun]()
    for path in sorted(collection.controls.glob("*.jsonl")):
        stem, _, number = path.stem.rpartition(".")
        if stem == name and _NUMBER.fullmatch(number):
            entry = entries.get(path.stem)
            runs.append(_run(path, int(number), entry if isinstance(entry, dict) else {}))
    return sorted(runs, key=lambda run: run.number)


def _run(path: Path, number: int, made: Mapping[str, Any]) -> ControlRun:
    with reading(path):
        pairs = tuple(read_control(path))
        time = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    try:
        dated = datetime.fromisoformat(str(made.get("time")))
        time = dated.replace(tzinfo=dated.tzinfo or UTC).astimezone(UTC)
    except ValueError:
        pass  # that of the file stays
    by = (card_section(made, part) for part in ("before", "now"))
    before, now = (
        PromptAndModel(*(str(own.get(part) or "") for part in PromptAndModel._fields)) for own in by
    )
    return ControlRun(number, time, before, now, pairs)


def read_control(path: Path) -> Iterator[PairAgain]:
    """The pairs of one control's file; those that had no grade before are left out."""
    for number, row in read_rows(path):
        ids = (identifier(path, number, row, name) for name in Pair._fields)
        pair, old, new, served = Pair(*ids), row.get("old"), row.get("new"), row.get("model")
        if not isinstance(new, list) or not all(isinstance(each, int | str) for each in new):
            raise BadInput.at(path, number, "expected new: a list of grades and statuses")
        if len(new) != TIMES:
            raise BadInput.at(path, number, f"expected {TIMES} new grades, found {len(new)}")
        for grade in (old, *new):
            is_whole = type(grade) is int and abs(grade) <= _LARGEST_GRADE
            if not (is_whole or grade is None or isinstance(grade, str)):
                raise BadInput.at(path, number, f"expected a grade, found {grade!r:.40}")
        names = [name for name in served or () if isinstance(name, str)]
        if isinstance(old, int):
            yield PairAgain(pair, old, tuple(new), tuple(names))


@dataclass(frozen=True, eq=False, repr=False)
class DriftCheck(Result):
    """What one control says of the assessor of the judgements `name`.

    `judged_as` is what the server called its model when the pairs were judged. `changed` counts the
    pairs that were passed over because their texts are others now. A stable assessor is called
    drifted in 5 of 100 controls at most.
    """

    name: str
    run: ControlRun
    judged_as: Sequence[str] = ()
    changed: int = 0

    @cached_property
    def grades(self) -> Floats:
        """The grades of the pairs that compare, `(pairs, 1 + times)`, the old ones first."""
        grades = [pair.grades for pair in self.run.pairs if pair.grades]
        return np.array(grades, float).reshape(len(grades), -1 if grades else 3)

    @cached_property
    def p(self) -> RetestP:
        """How likely so large a change is where there is none."""
        return retest(self.grades[:, 0], self.grades[:, 1:])

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
        """By how much the mean of each pair's new grades differs from the old, `(pairs,)`."""
        return np.asarray(self.grades[:, 1:].mean(axis=1) - self.grades[:, 0])

    @cached_property
    def shift(self) -> Interval:
        """How far grades moved on average."""
        most = float(self.grades.max(initial=1.0))
        (verdict,) = each_pair(self.moved[None], most)
        return Interval(verdict.estimate, *verdict.ends)

    @property
    def has_drifted(self) -> bool:
        """Whether a drift is shown at the 5 % level."""
        return self.p.either < SIGNIFICANT

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
        p = "" if self.is_undecided else f"; p {self.p.either:.2g}"
        first = (
            f"{self.name}: {self.verdict} ({self.compared:,} of "
            f"{count_of(len(self.run.pairs), 'pair')} compared, each asked about twice{p})"
        )
        power = [] if self.is_undecided or self.has_drifted else [self._power()]
        return [first, *self._changes(), *self._left_out(), *power]

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
                f"the two new grades of every pair lie {moved[0]:+.2f} from the old on average; "
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
            p=self.p.either,
            p_shift=self.p.shift,
            p_apart=self.p.apart,
            before=self.run.before,
            now=self.run.now,
        )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _estimate(values: Floats, ends: tuple[float, float] | None) -> Interval:
    return Interval(_mean(values), *(ends or (math.nan, math.nan)))
