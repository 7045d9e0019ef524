"""Charts of agreement: statistics with intervals, and the systems."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.agreement.report import AssessorReport
from labeler.agreement.shown import in_order, short, shown_statistics
from labeler.agreement.statistics import find_statistic
from labeler.evaluation.plot import board_drawings
from labeler.report.charts import Axis, Drawing, NamedValue, intervals


def agreement_drawings(
    reports: Sequence[AssessorReport],
    *,
    details: bool = False,
    statistics: Sequence[str] | None = None,
) -> list[Drawing]:
    """One assessor's statistics, or a row for each of several, the closest to people first.

    With `details` all statistics of each of several, too. `statistics` are those asked for, of
    which the first is drawn for several assessors.
    """
    if details or len(reports) == 1:
        return [drawing for each in reports for drawing in (*_of_one(each), *_systems(each))]
    statistic = shown_statistics(reports, statistics)[0]
    rows = [
        NamedValue.of(short(report.assessor), report.agreement.statistics.get(statistic))
        for report in in_order(reports, statistic)
    ]
    title = f"{statistic} with {short(reports[0].human)}, with 95 % intervals over queries"
    return [intervals(title, rows, Axis(statistic))]


def _of_one(report: AssessorReport) -> list[Drawing]:
    """One assessor's statistics by what their numbers mean: shares of perfection, then grades."""
    agreement, names = report.agreement, f"{short(report.assessor)} with {short(report.human)}"
    drawings = []
    for label, is_share in (("1: the same grade to every pair", True), ("in grades", False)):
        rows = [
            NamedValue.of(name, estimate)
            for name, estimate in agreement.statistics.items()
            if name not in agreement.unused
            and (find_statistic(name, agreement.scale).high == 1) is is_share
        ]
        if rows:
            title = f"{names}, with 95 % intervals over queries"
            drawings.append(intervals(title, rows, Axis(label, reference=0.0)))
    return drawings


def _systems(report: AssessorReport) -> list[Drawing]:
    names = short(report.human), short(report.assessor)
    return [] if report.board is None else board_drawings(report.board, names)
