"""Whether the assessor of a set of judgements still grades as it did, over all its controls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.data import Judgement, Pair
from labeler.messages import count_of
from labeler.monitoring.judge.controls import ControlRun, read_controls
from labeler.report.finding import Finding
from labeler.report.table import Column, Row, Table
from labeler.stats.chart import LEVEL, ChartPoint, GivenAgain, chart
from labeler.stats.failing import fails_more_p

MOST_POINTS = 52
"""Controls on a chart: those of a year, one a week."""


@dataclass(frozen=True)
class JudgeDrift:
    """What the controls of a set of judgements say: agreement, shift, failures, names over time.

    `points` belong to the last of `controls`, one each; `judged` are the names that the server
    gave its model when the pairs were judged, `failed` how many of how many pairs had no grade
    then. `left_out` says which controls are not on the chart, and why.
    """

    name: str
    controls: tuple[ControlRun, ...] = ()
    points: tuple[ChartPoint, ...] = ()
    judged: tuple[str, ...] = ()
    failed: tuple[int, int] = (0, 0)
    left_out: tuple[Finding, ...] = field(default=())

    @property
    def charted(self) -> Sequence[tuple[ControlRun, ChartPoint]]:
        """The controls on the chart, with their points."""
        return tuple(zip(self.controls[-len(self.points) :], self.points, strict=True))

    @property
    def failure_p(self) -> float:
        """How likely so many failures are at the last control, had nothing changed."""
        if not self.controls:
            return 1.0
        earlier = [run.failures for run in self.controls[:-1]]
        failed, replies = (sum(each) for each in zip(self.failed, *earlier, strict=True))
        return fails_more_p(self.controls[-1].failures, (failed, replies))

    def alarms(self) -> list[Finding]:
        """What shows that grades given now are not those given before."""
        return list(self._alarms()) if self.controls else []

    def _alarms(self) -> Iterator[Finding]:
        last = self.controls[-1]
        if self.points and self.points[-1].is_out:
            yield Finding(f"{self._since()}: {'; '.join(self._beyond())}", "judge-drift")
        if self.judged and last.names and set(last.names) != set(self.judged):
            names = f"{_listed(last.names)} since the control of {self._named_so_since()}"
            before = f"{_listed(self.judged)} when the pairs were judged"
            yield Finding(
                f"{self.name}: the server calls its model {names}, {before}", "model-name"
            )
        if last.before[0] and last.now[0] != last.before[0]:
            text = f"the prompt was edited since the pairs were judged: {last.before[0]} then"
            yield Finding(f"{self.name}: {text}, {last.now[0]} now", "prompt-edited")
        failed, replies = last.failures
        if failed and self.failure_p <= LEVEL:
            share = f"{failed:,} of {replies:,} new replies gave no grade ({failed / replies:.0%})"
            text = (
                f"{share} at the control of {last.label}, more than before; p {self.failure_p:.2g}"
            )
            yield Finding(f"{self.name}: {text}", "judge-failures")

    def _since(self) -> str:
        """From which control on the chart has been beyond its limits."""
        first = len(self.points) - 1
        while first and self.points[first - 1].is_out:
            first -= 1
        day = self.charted[first][0].label
        return f"{self.name}: the assessor has drifted by the control of {day}"

    def _beyond(self) -> Iterator[str]:
        point = self.points[-1]
        moved, agreed = point.moved, point.agreement
        if moved.is_out:
            limits = f"limits {moved.low:+.2f} to {moved.high:+.2f}"
            way = "higher" if moved.value > 0 else "lower"
            yield f"grades are {abs(moved.value):.2f} {way} than earlier ones ({limits})"
        if agreed.is_out:
            limit = f"limit {agreed.low:.2f}"
            yield f"their kappa with earlier grades is {agreed.value:.2f} ({limit})"

    def _named_so_since(self) -> str:
        names, label = set(self.controls[-1].names), self.controls[-1].label
        for run in reversed(self.controls):
            if run.names and set(run.names) != names:
                break
            label = run.label if run.names else label
        return label

    def findings(self) -> list[Finding]:
        """What a reader of the chart should know."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        yield from self.left_out
        if not self.controls:
            return
        last = self.controls[-1]
        if self.points and not self.points[-1].is_out:
            point = self.points[-1]
            kappa = f"kappa {point.agreement.value:.2f}, limit {point.agreement.low:.2f}"
            text = f"no drift shown by the control of {last.label} ({kappa})"
            yield Finding(f"{self.name}: {text}", level="note")
        undated = sum(not run.is_dated for run in self.controls)
        if undated:
            controls = count_of(undated, "control has", "controls have")
            yield Finding(
                f"{self.name}: {controls} the time of a file, which copying may have changed",
                level="note",
            )

    def table(self) -> Table:
        """A row for each control: agreement and shift with their averages, failures, names."""
        columns = [
            Column("control", align="left"),
            Column("date", align="left"),
            Column("pairs", format=","),
            *(Column(name, format=".3f") for name in ("kappa", "average kappa", "limit")),
            *(Column(name, format="+.3f") for name in ("shift", "average shift")),
            Column("without grade", format=","),
            Column("model", align="left"),
        ]
        rows: list[Row] = []
        for run, point in self.charted:
            agreed = point.agreement
            figures = (point.kappa, agreed.value, agreed.low, point.shift, point.moved.value)
            names = ", ".join(run.names)
            rows.append(
                [str(run.number), run.label, len(run.pairs), *figures, run.failures[0], names]
            )
        return Table("controls", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The alarms and the figures of each control."""
        return {
            "name": self.name,
            "alarms": [str(alarm) for alarm in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
            "judged_as": list(self.judged),
            "controls": [_as_json(run, point) for run, point in self.charted],
        }


def judge_drift(collection: Collection | Path | str, name: str) -> JudgeDrift:
    """Put the controls of a set of judgements on a chart; asks no model.

    Limits come from shuffling each pair's grades over the controls, as `stats/chart.py` says. A
    control by another prompt or model, and those of before the pairs were judged anew, are left
    out.

    >>> from labeler.judging.drift import drift
    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, mild = small_collection(), fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> for _ in range(2):
    ...     check = drift(collection, "first", model=mild, pairs=4, fixed=True)
    >>> judge_drift(collection, "first").alarms()
    []
    """
    opened = open_collection(collection)
    path = opened.existing_judgements(name)
    grades, names, failed, pairs = dict[Pair, int](), set[str](), 0, 0
    for row in read_judgements(path):
        pairs += 1
        if isinstance(row.judged.outcome, Judgement):
            grades[row.judged.outcome.pair] = row.judged.outcome.grade
        else:
            failed += 1
        names |= {row.judged.model} if row.judged.model else set()
    runs, left_out = _comparable(read_controls(opened, name), grades, name)
    judged = tuple(sorted(names))
    return JudgeDrift(name, tuple(runs), _points(runs), judged, (failed, pairs), tuple(left_out))


def _comparable(
    runs: Sequence[ControlRun], grades: dict[Pair, int], name: str
) -> tuple[list[ControlRun], list[Finding]]:
    """The controls that compare with the grades as they stand, and why others do not."""
    same = [run for run in runs if run.is_of_same_assessor]
    current = [run for run in same if all(grades.get(p.pair, p.old) == p.old for p in run.pairs)]
    usable = [run for run in current if len(_given(run)) > 1]
    reasons = (
        (len(runs) - len(same), "asked another prompt or model"),
        (len(same) - len(current), "were made when the pairs had other grades"),
        (len(current) - len(usable), "brought fewer than two grades"),
    )
    left_out = [
        Finding(
            f"{name}: not on the chart: {count_of(n, 'control', 'controls')} that {why}",
            level="note",
        )
        for n, why in reasons
        if n
    ]
    return usable, left_out


def _given(run: ControlRun) -> list[tuple[Pair, int, int]]:
    """The pairs with their old grade, and the first new one where there is one."""
    return [(p.pair, p.old, p.new[0]) for p in run.pairs if p.new and p.new[0] is not None]


def _points(runs: Sequence[ControlRun]) -> tuple[ChartPoint, ...]:
    old = {pair: grade for run in runs for pair, grade, _ in _given(run)}
    places = {pair: number for number, pair in enumerate(sorted(old))}
    controls = []
    for run in runs:
        given = sorted((places[pair], new) for pair, _, new in _given(run))
        pairs, new_grades = (np.array(each) for each in zip(*given, strict=True))
        controls.append(GivenAgain(pairs.astype(np.int64), new_grades.astype(np.float64)))
    return chart(np.array([float(old[pair]) for pair in places]), controls, MOST_POINTS)


def controlled_sets(collection: Collection) -> list[str]:
    """The sets of judgements that have been controlled, sorted."""
    return [name for name in collection.judgement_names() if read_controls(collection, name)]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def _as_json(run: ControlRun, point: ChartPoint) -> dict[str, Any]:
    failed, replies = run.failures
    return {
        "control": run.number,
        "time": run.time.isoformat(timespec="seconds"),
        "pairs": len(run.pairs),
        "kappa": point.kappa,
        "shift": point.shift,
        "agreement": _average_json(point.agreement),
        "moved": _average_json(point.moved),
        "without_grade": failed,
        "replies": replies,
        "model": list(run.names),
    }


def _average_json(average: Any) -> dict[str, float | None]:
    return {key: value if np.isfinite(value) else None for key, value in average._asdict().items()}
