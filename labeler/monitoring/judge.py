"""The charts of an assessor's controls, for the page."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.data import Judgement, Pair
from labeler.errors import BadInput
from labeler.files.boundary import finite, reading
from labeler.files.jsonl import identifier, read_rows
from labeler.messages import count_of
from labeler.report.charts import Axis, Drawing, Moment, control
from labeler.report.finding import Finding
from labeler.report.page import Chart, Disclosure, FactList, PageBlock, TableBlock
from labeler.report.table import Column, Ends, Row, Table
from labeler.stats.drift import (
    CHART_DRAWS,
    LEVEL,
    REFERENCE,
    WEIGHT,
    Average,
    ChartPoint,
    GivenAgain,
    chart,
    fails_more_p,
)
from labeler.stats.shares import share_interval

# The controls of a set of judgements in their order, read back from the collection.

_LARGEST_GRADE = 2.0**31
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class PairAgain(NamedTuple):
    """A pair of a control: its grade as it stood, and each new one, None where there was none."""

    pair: Pair
    old: int
    new: tuple[int | None, ...]
    served: tuple[str, ...]


@dataclass(frozen=True)
class ControlRun:
    """One control of a set: when, by which prompts and models then and now, and its pairs.

    `is_dated` is false of a control whose card names no time: it is then that of its file.
    """

    number: int
    time: datetime
    is_dated: bool
    before: tuple[str, str]
    now: tuple[str, str]
    pairs: tuple[PairAgain, ...]

    @property
    def label(self) -> str:
        """The day of the control."""
        return self.time.strftime("%Y-%m-%d")

    @property
    def is_of_same_assessor(self) -> bool:
        """Whether the prompt of that name, and the same model, were asked again."""
        old, new = (prompt.partition("@")[0] for prompt in (self.before[0], self.now[0]))
        return not any(self.before) or (old, self.before[1]) == (new, self.now[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What the server called its model."""
        return tuple(sorted({name for pair in self.pairs for name in pair.served}))

    @property
    def failures(self) -> tuple[int, int]:
        """How many new replies gave no grade, and how many there were."""
        replies = [grade for pair in self.pairs for grade in pair.new]
        return replies.count(None), len(replies)


def read_controls(collection: Collection, name: str) -> list[ControlRun]:
    """The controls of a set that were finished, the oldest first."""
    entries = card_section(read_card(collection), "control")
    runs = list[ControlRun]()
    for path in sorted(collection.controls.glob("*.jsonl")):
        stem, _, number = path.stem.rpartition(".")
        if stem == name and _NUMBER.fullmatch(number):
            entry = entries.get(path.stem)
            made = entry if isinstance(entry, dict) else {}
            runs.append(_run(path, int(number), made))
    return sorted(runs, key=lambda run: run.number)


def _run(path: Path, number: int, made: Mapping[str, Any]) -> ControlRun:
    with reading(path):
        pairs = tuple(read_control(path))
        written = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    dated = time_of(made.get("time"))
    return ControlRun(
        number,
        dated or written,
        dated is not None,
        _made_by(made.get("before")),
        _made_by(made.get("now")),
        pairs,
    )


def read_control(path: Path) -> Iterator[PairAgain]:
    """The pairs of one control's file; those that had no grade before are left out."""
    for number, row in read_rows(path):
        pair = Pair(
            identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id")
        )
        old, new, served = row.get("old"), row.get("new"), row.get("model")
        if not isinstance(new, list) or not all(isinstance(each, int | str) for each in new):
            raise BadInput.at(path, number, "expected new: a list of grades and statuses")
        names = served if isinstance(served, list) else []
        if (grade := _grade(path, number, old)) is not None:
            again = tuple(_grade(path, number, each) for each in new)
            yield PairAgain(pair, grade, again, tuple(n for n in names if isinstance(n, str)))


def _grade(path: Path, number: int, value: object) -> int | None:
    if isinstance(value, str) or value is None:
        return None
    if type(value) is not int or finite(value, -_LARGEST_GRADE, _LARGEST_GRADE) is None:
        raise BadInput.at(path, number, f"expected a grade, found {value!r:.40}")
    return value


def _made_by(value: object) -> tuple[str, str]:
    made = value if isinstance(value, dict) else {}
    prompt, model = (made.get(part) for part in ("prompt", "model"))
    return str(prompt or ""), str(model or "")


def time_of(value: object) -> datetime | None:
    """A time as a card or a history tells it, in UTC; None where it is none."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)


# Whether the assessor of a set of judgements still grades as it did, over all its controls.

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


HOW_IT_IS_MADE = (
    "The grades of each control are held against earlier ones of the same pairs: half against "
    f"those in the qrels, half against those of the first {REFERENCE} controls. "
    f"The line is a moving average in which the last control counts {WEIGHT:g}. Its limits come "
    f"from {CHART_DRAWS:,} random orders of each pair's own grades, so they allow for the "
    f"assessor's noise; one that stays as it is crosses them in {LEVEL:.1%} of controls at most."
)
_KAPPA = Axis("kappa of earlier grades and new ones", format=".2f")
_SHIFT = Axis("new grades less earlier ones", format="+.2f", reference=0.0)


DIGITS = 6
"""Limits lie beyond what they still allow by less than this."""


def judge_blocks(drift: JudgeDrift) -> list[PageBlock]:
    """Agreement, shift and failures over time, then the table of controls."""
    if not drift.points:
        return []
    first, last = drift.charted[0][0], drift.charted[-1][0]
    facts = [
        ("judgements", drift.name),
        ("controls", f"{len(drift.controls):,}, the first on {first.label}"),
        ("pairs at the last one", f"{len(last.pairs):,}"),
        ("prompt", last.now[0]),
        ("model as the server names it", ", ".join(last.names)),
        ("when the pairs were judged", ", ".join(drift.judged)),
    ]
    return [
        Chart(
            _averaged(drift, "agreement with earlier grades", _KAPPA, _agreement), HOW_IT_IS_MADE
        ),
        Chart(_averaged(drift, "shift of grades", _SHIFT, _moved)),
        _failures(drift),
        FactList([(name, value) for name, value in facts if value]),
        Disclosure(
            f"All controls on the chart: {count_of(len(drift.points), 'control', 'controls')}",
            [TableBlock(drift.table())],
        ),
    ]


def _agreement(point: ChartPoint) -> tuple[float, Average]:
    return point.kappa, point.agreement


def _moved(point: ChartPoint) -> tuple[float, Average]:
    return point.shift, point.moved


def _averaged(
    drift: JudgeDrift,
    title: str,
    axis: Axis,
    figure: Callable[[ChartPoint], tuple[float, Average]],
) -> Drawing:
    moments = []
    for run, label, point in _labeled(drift):
        value, average = figure(point)
        ends = (average.low, average.high)
        limits = Ends(*(round(end, DIGITS) if math.isfinite(end) else None for end in ends))
        moments.append(
            Moment(label, value, limits=limits, smoothed=round(average.value, DIGITS), at=run.time)
        )
    return control(f"{drift.name}: {title}", moments, axis)


def _labeled(drift: JudgeDrift) -> Sequence[tuple[ControlRun, str, ChartPoint]]:
    """The controls on the chart, each with its day, and its hour where a day has several."""
    days = [run.label for run, _ in drift.charted]
    return [
        (run, run.label if days.count(run.label) == 1 else run.time.strftime("%m-%d %H:%M"), point)
        for run, point in drift.charted
    ]


def _failures(drift: JudgeDrift) -> Chart:
    """The share of new replies without a grade, with its interval."""
    moments = []
    for run, label, _ in _labeled(drift):
        shares = np.array([each.new.count(None) / len(each.new) for each in run.pairs if each.new])
        interval = Ends(*share_interval(shares))  # two replies of a pair may fail together
        moments.append(Moment(label, float(shares.mean()), interval, at=run.time))
    axis = Axis("replies without a grade", format=".1%", least=0.0)
    caption = "The band is the 95 % interval of each share."
    return Chart(control(f"{drift.name}: replies without a grade", moments, axis), caption)
