"""Whether the assessor of a set of judgements still grades as it did, over all its controls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from labeler.collection.controls import ControlRun, read_controls
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import AnyCollection, open_collection
from labeler.data import Judgement, Pair
from labeler.lab.control import TOO_LITTLE, DriftCheck
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, table_of


class ControlFigures(NamedTuple):
    """One control: how far its new grades lie from the old, and the replies without a grade."""

    control: int
    time: str
    pairs: int
    same: Annotated[Interval, Column("same", "new grades that equal the old", ".3f", ".3f")]
    shift: Annotated[Interval, Column("shift", "shift of grades", "+.3f", "+.3f")]
    verdict: str
    without_grade: int
    replies: int
    model: Sequence[str]


@dataclass(frozen=True, eq=False, repr=False)
class JudgeDrift(Result):
    """What the controls of a set of judgements say: agreement, shift, failures, names over time.

    `checks` are of its controls, the oldest first. `left_out` says which others do not count, and
    why.
    """

    name: str
    checks: Sequence[DriftCheck] = ()
    left_out: Sequence[Finding] = ()

    @property
    def is_open(self) -> bool:
        """Whether there are too few controls for a drift to be seen."""
        return not self.checks or self.checks[-1].verdict == TOO_LITTLE

    @property
    def alarms(self) -> list[Finding]:
        """What shows that grades given now are not those given before."""
        texts = self._alarms(self.checks[-1]) if self.checks else ()
        return [Finding(f"{self.name}: {text}", about) for text, about in texts]

    @staticmethod
    def _alarms(last: DriftCheck) -> Iterator[tuple[str, str]]:
        day, changes = last.run.label, last.changes
        if last.has_drifted:
            yield (
                f"the assessor has drifted by the control of {day}: {last.beside_sessions()}",
                "judge-drift",
            )
        if name := changes.get("name"):
            yield f"{name}, at the control of {day}", "model-name"
        if last.run.before.prompt and "prompt" in changes:
            yield changes["prompt"], "prompt-edited"
        if last.fails_often:
            yield f"{last.without_grade()}, at the control of {day}", "judge-failures"

    def _findings(self) -> Iterator[Finding]:
        """What a reader should know beside the alarms."""
        yield from self.left_out
        for last in self.checks[-1:]:
            if not last.has_drifted:
                text = f"{self.name}: {last.verdict} by the control of {last.run.label}"
                yield Finding(f"{text}: {last.beside_sessions()}", level="note")

    @property
    def controls(self) -> list[ControlFigures]:
        """What each control found."""
        return [
            ControlFigures(
                each.run.number,
                each.run.time.isoformat(timespec="seconds"),
                len(each.run.pairs),
                each.same,
                each.shift,
                each.verdict,
                *each.run.failures,
                each.run.names,
            )
            for each in self.checks
        ]

    def tables(self) -> list[Table]:
        """A row for each control: agreement with the grades of the judgements, and failures."""
        return [table_of("controls", ControlFigures, self.controls)]

    def as_json(self) -> dict[str, Any]:
        """The alarms and the figures of each control."""
        judged_as = self.checks[-1].judged_as if self.checks else ()
        return self.picked(
            "name", "alarms", "controls", judged_as=judged_as, findings=self.findings
        )


def judge_drift(collection: AnyCollection, name: str) -> JudgeDrift:
    """Say what the controls of a set of judgements tell of its assessor; asks no model.

    The grades of the last control are held against those of the judgements. A control by another
    prompt or model, and those of before the pairs were judged anew, are left out.

    >>> from labeler.lab.control import drift
    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, mild = small_collection(), fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> for _ in range(2):
    ...     check = drift(collection, "first", model=mild, pairs=4)
    >>> judge_drift(collection, "first").alarms
    []
    """
    opened = open_collection(collection)
    rows = [row.judged for row in read_judgements(opened.existing_judgements(name))]
    outcomes = [row.outcome for row in rows]
    grades = {each.pair: each.grade for each in outcomes if isinstance(each, Judgement)}
    runs, left_out = _comparable(read_controls(opened, name), grades, name)
    judged_as = tuple(sorted({row.model for row in rows if row.model}))
    checks = (
        DriftCheck(name, run, judged_as, earlier=runs[:number]) for number, run in enumerate(runs)
    )
    return JudgeDrift(name, tuple(checks), tuple(left_out))


def _comparable(
    runs: Sequence[ControlRun], grades: dict[Pair, int], name: str
) -> tuple[list[ControlRun], list[Finding]]:
    """The controls that compare with the grades as they stand, and why others do not."""
    same = [run for run in runs if run.is_of_same_assessor]
    current = [run for run in same if all(grades.get(p.pair, p.old) == p.old for p in run.pairs)]
    reasons = {
        "asked another prompt or model": len(runs) - len(same),
        "were made when the pairs had other grades": len(same) - len(current),
    }
    texts = (
        f"{name}: left out: {count_of(count, 'control')} that {why}"
        for why, count in reasons.items()
        if count
    )
    return current, [Finding(text, level="note") for text in texts]
