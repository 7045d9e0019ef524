"""Charts of scores: systems with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.report.charts import Axis, Drawing, NamedValue, intervals

if TYPE_CHECKING:
    from labeler.evaluation.evaluate import Report


def score_drawings(report: Report) -> list[Drawing]:
    """Every run's scores with their intervals, the best first; a chart for each measure."""
    return [measure_drawing(report, measure) for measure in report.measures]


def measure_drawing(report: Report, measure: str) -> Drawing:
    """Every run's mean by a measure with its interval over queries, the best first."""
    rows = [NamedValue(run.name, *run.means()[measure]) for run in report.ranked]
    return intervals(f"{measure} of each system, with 95 % intervals", rows, Axis(measure))


def difference_drawing(report: Report, title: str) -> Drawing:
    """Every run's difference from the baseline by the first measure, with its interval."""
    compared = report.compared()
    measure, baseline = compared[0].measure, compared[0].baseline
    rows = [NamedValue(c.run, c.difference, c.low, c.high) for c in compared]
    axis = Axis(f"{measure}, difference from {baseline}", "+.3f", reference=0.0)
    return intervals(title, rows, axis)
