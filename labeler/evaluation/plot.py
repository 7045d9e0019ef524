"""Charts of scores: systems with their intervals, by one set of qrels or by two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.report.charts import Axis, Drawing, NamedValue, intervals

if TYPE_CHECKING:
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.leaderboard import Leaderboard
    from labeler.evaluation.two_sided import System


def score_drawings(report: Report) -> list[Drawing]:
    """Every run's scores with their intervals, the best first; a chart for each measure."""
    return [measure_drawing(report, measure) for measure in report.measures]


def measure_drawing(report: Report, measure: str) -> Drawing:
    """Every run's mean by a measure with its interval over queries, the best first."""
    rows = [NamedValue.of(run.name, run.means()[measure]) for run in report.ranked]
    return intervals(f"{measure} of each system, with 95 % intervals", rows, Axis(measure))


def board_drawings(board: Leaderboard, names: tuple[str, str] | None = None) -> list[Drawing]:
    """Every run's score by both qrels, whose `names` these are."""
    first, second = names or board.names
    kin = {system.run for system in board.kin}
    rows = [
        NamedValue(
            f"{system.run} ({system.first_rank} → {system.second_rank})"
            f"{', kin of the assessor' if system.run in kin else ''}",
            system.first,
            *_change(system),
            other=system.second,
        )
        for system in board.ranked
    ]
    title = f"{board.measure} of each system, with its ranks"
    message = "Lines are 95 % intervals of the change from the dot to the square."
    sides = f"by {first}", f"by {second}"
    return [intervals(title, rows, Axis(board.measure), message, sides)]


def _change(system: System) -> tuple[float | None, float | None]:
    """The ends of the interval of the change, from people's score."""
    if system.low is None or system.high is None:
        return None, None
    return system.first + system.low, system.first + system.high
