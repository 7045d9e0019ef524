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
    rows = [NamedValue.of(run.name, run.means()[measure]) for run in report.ranked]
    return intervals(f"{measure} of each system, with 95 % intervals", rows, Axis(measure))
