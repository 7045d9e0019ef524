"""Charts of scores: systems with their intervals, and systems by two qrels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.report.charts import Axis, Drawing, NamedValue, Point, Series, intervals, plane

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
    """Every run's score by both qrels, and the systems by the one and the other.

    `names` are those of the qrels.
    """
    first, second = names or board.names
    rows = [
        NamedValue(
            f"{system.run} ({system.first_rank} → {system.second_rank})",
            system.first,
            *_change(system),
            other=system.second,
        )
        for system in board.ranked
    ]
    title = f"{board.measure} of each system, with its ranks"
    message = "Lines are 95 % intervals of the change from the dot to the square."
    systems = intervals(title, rows, Axis(board.measure), message, (f"by {first}", f"by {second}"))
    return [systems, _bias(board, f"by {first}", f"by {second}")]


def _change(system: System) -> tuple[float | None, float | None]:
    """The ends of the interval of the change, from people's score."""
    if system.low is None or system.high is None:
        return None, None
    return system.first + system.low, system.first + system.high


def _bias(board: Leaderboard, first: str, second: str) -> Drawing:
    """Each system by both qrels, and the line of equal scores."""
    kin = {system.run for system in board.kin}
    points = {s.run: Point(s.first, s.second, *_change(s), s.run) for s in board.systems}
    unrelated = [point for run, point in points.items() if run not in kin]
    series = [Series("system", unrelated, "dot unclear", named="name")]
    if kin:
        of_kin = [points[run] for run in sorted(kin)]
        series.insert(0, Series("kin of the assessor", of_kin, "other", named="alarm"))
    message = "Dashed: equal scores; upright lines: 95 % interval of the change, over queries."
    axes = Axis(f"{board.measure} {first}"), Axis(f"{board.measure} {second}")
    return plane("The systems by both", series, axes, message, diagonal=True)
