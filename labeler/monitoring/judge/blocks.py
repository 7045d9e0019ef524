"""The charts of an assessor's controls, for the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from labeler.messages import count_of
from labeler.monitoring.judge.controls import ControlRun
from labeler.monitoring.judge.drift import JudgeDrift
from labeler.report.charts import Axis, Drawing, Moment, control
from labeler.report.page import Block, Chart, Disclosure, FactList, TableBlock
from labeler.report.table import Ends
from labeler.stats.chart import DRAWS, LEVEL, REFERENCE, WEIGHT, Average, ChartPoint
from labeler.stats.shares import share_interval

HOW_IT_IS_MADE = (
    "The grades of each control are held against earlier ones of the same pairs: half against "
    f"those in the qrels, half against those of the first {REFERENCE} controls. "
    f"The line is a moving average in which the last control counts {WEIGHT:g}. Its limits come "
    f"from {DRAWS:,} random orders of each pair's own grades, so they allow for the assessor's "
    f"noise; one that stays as it is crosses them in {LEVEL:.1%} of controls at most."
)
_KAPPA = Axis("kappa of earlier grades and new ones", format=".2f")
_SHIFT = Axis("new grades less earlier ones", format="+.2f", reference=0.0)


DIGITS = 6
"""Limits lie beyond what they still allow by less than this."""


def judge_blocks(drift: JudgeDrift) -> list[Block]:
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
