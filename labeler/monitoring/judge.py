"""Whether the assessor of a set of judgements still grades as it did, over all its controls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.data import Judgement, Pair
from labeler.lab.control_check import ControlRun, read_controls
from labeler.messages import count_of
from labeler.report.charts import Axis, Moment, control
from labeler.report.finding import Finding
from labeler.report.page import Chart
from labeler.report.result import Result
from labeler.report.table import Column, Ends, Table
from labeler.stats.drift import (
    CHART_DRAWS,
    LEVEL,
    REFERENCE,
    WEIGHT,
    ChartPoint,
    GivenAgain,
    chart,
    fails_more_p,
)

MOST_POINTS = 52
"""Controls on a chart: those of a year, one a week."""
DIGITS = 6
"""Limits lie beyond what they still allow by less than this."""
HOW_IT_IS_MADE = (
    "The grades of each control are held against earlier ones of the same pairs: half against "
    f"those in the qrels, half against those of the first {REFERENCE} controls. "
    f"The line is a moving average in which the last control counts {WEIGHT:g}. Its limits come "
    f"from {CHART_DRAWS:,} random orders of each pair's own grades, so they allow for the "
    f"assessor's noise; one that stays as it is crosses them in {LEVEL:.1%} of controls at most."
)


@dataclass(frozen=True, eq=False, repr=False)
class JudgeDrift(Result):
    """What the controls of a set of judgements say: agreement, shift, failures, names over time.

    `points` belong to the last of `controls`, one each; `judged_as` are the names that the server
    gave its model when the pairs were judged, `failed` how many of how many pairs had no grade
    then. `left_out` says which controls are not on the chart, and why.
    """

    name: str
    controls: tuple[ControlRun, ...] = ()
    points: tuple[ChartPoint, ...] = ()
    judged_as: tuple[str, ...] = ()
    failed: tuple[int, int] = (0, 0)
    left_out: tuple[Finding, ...] = ()

    @property
    def charted(self) -> Sequence[tuple[ControlRun, ChartPoint]]:
        """The controls on the chart, with their points."""
        return tuple(zip(self.controls[-len(self.points) :], self.points, strict=True))

    @property
    def failure_p(self) -> float:
        """How likely so many failures are at the last control, had nothing changed."""
        earlier = [self.failed, *(run.failures for run in self.controls[:-1])]
        failed, replies = map(sum, zip(*earlier, strict=True))
        return fails_more_p(self.controls[-1].failures, (failed, replies))

    @property
    def alarms(self) -> list[Finding]:
        """What shows that grades given now are not those given before."""
        texts = self._alarms() if self.controls else ()
        return [Finding(f"{self.name}: {text}", about) for text, about in texts]

    def _alarms(self) -> Iterator[tuple[str, str]]:
        last, before = self.controls[-1], " and ".join(self.judged_as)
        if self.points and self.points[-1].is_out:
            text = f"the assessor has drifted by the control of {last.label}"
            yield f"{text}: {'; '.join(self._beyond())}", "judge-drift"
        if before and last.names and set(last.names) != set(self.judged_as):
            names = f"{' and '.join(last.names)} at the control of {last.label}"
            text = f"the server calls its model {names}, {before} when the pairs were judged"
            yield text, "model-name"
        if last.before.prompt and last.now.prompt != last.before.prompt:
            text = "the prompt was edited since the pairs were judged"
            yield f"{text}: {last.before.prompt} then, {last.now.prompt} now", "prompt-edited"
        failed, replies = last.failures
        if failed and self.failure_p <= LEVEL:
            share = f"{failed:,} of {replies:,} new replies gave no grade ({failed / replies:.0%})"
            when = f"at the control of {last.label}, more than before; p {self.failure_p:.2g}"
            yield f"{share} {when}", "judge-failures"

    def _beyond(self) -> Iterator[str]:
        moved, agreed = self.points[-1].moved, self.points[-1].agreement
        if moved.is_out:
            limits = f"limits {moved.low:+.2f} to {moved.high:+.2f}"
            way = "higher" if moved.value > 0 else "lower"
            yield f"grades are {abs(moved.value):.2f} {way} than earlier ones ({limits})"
        if agreed.is_out:
            limit = f"limit {agreed.low:.2f}"
            yield f"their kappa with earlier grades is {agreed.value:.2f} ({limit})"

    @property
    def findings(self) -> list[Finding]:
        """What a reader of the chart should know beside the alarms."""
        if not self.points or self.points[-1].is_out:
            return list(self.left_out)
        agreed, last = self.points[-1].agreement, self.controls[-1]
        kappa = f"kappa {agreed.value:.2f}, limit {agreed.low:.2f}"
        text = f"{self.name}: no drift shown by the control of {last.label} ({kappa})"
        return [*self.left_out, Finding(text, level="note")]

    def tables(self) -> list[Table]:
        """A row for each control: agreement with its average, failures, names."""
        columns = [
            *(Column("control", align="left"), Column("date", align="left"), Column("pairs")),
            *(Column(name, format=".3f") for name in ("kappa", "average kappa", "limit")),
            *(Column("without grade"), Column("model", align="left")),
        ]
        rows = [
            (
                *(str(run.number), run.label, len(run.pairs)),
                *(point.kappa, point.agreement.value, point.agreement.low),
                *(run.failures[0], ", ".join(run.names)),
            )
            for run, point in self.charted
        ]
        return [Table("controls", columns, rows)]

    def as_json(self) -> dict[str, Any]:
        """The alarms and the figures of each control."""
        controls = [
            {
                "control": run.number,
                "time": run.time.isoformat(timespec="seconds"),
                "pairs": len(run.pairs),
                **point._asdict(),
                "without_grade": run.failures[0],
                "replies": run.failures[1],
                "model": run.names,
            }
            for run, point in self.charted
        ]
        return self.picked("name", "alarms", "judged_as", findings=self.findings, controls=controls)

    def charts(self) -> list[Chart]:
        """Agreement over time."""
        if not self.points:
            return []
        days, moments = [run.label for run, _ in self.charted], []
        for day, (run, point) in zip(days, self.charted, strict=True):
            label = day if days.count(day) == 1 else run.time.strftime("%m-%d %H:%M")
            of = point.agreement
            smoothed, low, high = (round(each, DIGITS) for each in (of.value, of.low, of.high))
            limits = Ends(*(end if math.isfinite(end) else None for end in (low, high)))
            moments.append(Moment(label, point.kappa, limits=limits, smoothed=smoothed))
        axis = Axis("kappa of earlier grades and new ones", format=".2f")
        drawn = control(f"{self.name}: agreement with earlier grades", moments, axis)
        return [Chart(drawn, HOW_IT_IS_MADE)]


def judge_drift(collection: Collection | Path | str, name: str) -> JudgeDrift:
    """Put the controls of a set of judgements on a chart; asks no model.

    Limits come from shuffling each pair's grades over the controls, as `stats/drift.py` says. A
    control by another prompt or model, and those of before the pairs were judged anew, are left
    out.

    >>> from labeler.lab.control import drift
    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, mild = small_collection(), fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> for _ in range(2):
    ...     check = drift(collection, "first", model=mild, pairs=4, fixed=True)
    >>> judge_drift(collection, "first").alarms
    []
    """
    opened = open_collection(collection)
    rows = [row.judged for row in read_judgements(opened.existing_judgements(name))]
    outcomes = [row.outcome for row in rows]
    grades = {each.pair: each.grade for each in outcomes if isinstance(each, Judgement)}
    runs, left_out = _comparable(read_controls(opened, name), grades, name)
    judged_as = tuple(sorted({row.model for row in rows if row.model}))
    failed = len(rows) - len(grades), len(rows)
    return JudgeDrift(name, tuple(runs), _points(runs), judged_as, failed, tuple(left_out))


def _comparable(
    runs: Sequence[ControlRun], grades: dict[Pair, int], name: str
) -> tuple[list[ControlRun], list[Finding]]:
    """The controls that compare with the grades as they stand, and why others do not."""
    same = [run for run in runs if run.is_of_same_assessor]
    current = [run for run in same if all(grades.get(p.pair, p.old) == p.old for p in run.pairs)]
    usable = [run for run in current if len(_given(run)) > 1]
    reasons = {
        "asked another prompt or model": len(runs) - len(same),
        "were made when the pairs had other grades": len(same) - len(current),
        "brought fewer than two grades": len(current) - len(usable),
    }
    texts = (
        f"{name}: not on the chart: {count_of(count, 'control', 'controls')} that {why}"
        for why, count in reasons.items()
        if count
    )
    return usable, [Finding(text, level="note") for text in texts]


def _given(run: ControlRun) -> dict[Pair, tuple[int, int]]:
    """The old grade of each pair, and the first new one where there is one."""
    first = ((pair, pair.new[0]) for pair in run.pairs if pair.new)
    return {pair.pair: (pair.old, new) for pair, new in first if isinstance(new, int)}


def _points(runs: Sequence[ControlRun]) -> tuple[ChartPoint, ...]:
    old = {pair: before for run in runs for pair, (before, _) in _given(run).items()}
    places = {pair: number for number, pair in enumerate(sorted(old))}
    controls = []
    for run in runs:
        given = sorted((places[pair], new) for pair, (_, new) in _given(run).items())
        pairs, grades = (np.array(each) for each in zip(*given, strict=True))
        controls.append(GivenAgain(pairs.astype(np.int64), grades.astype(np.float64)))
    return chart(np.array([float(old[pair]) for pair in places]), controls, MOST_POINTS)


def controlled_sets(collection: Collection) -> list[str]:
    """The sets of judgements that have been controlled, sorted."""
    return [name for name in collection.judgement_names() if read_controls(collection, name)]
