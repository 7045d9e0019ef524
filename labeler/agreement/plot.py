"""Pictures of agreement: statistics with intervals; in detail, matrix, queries and systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labeler.agreement.overview import bars_of, bars_of_one, short, whom
from labeler.agreement.report import AssessorReport
from labeler.collection.user_files import Output
from labeler.errors import Misuse
from labeler.evaluation.plot import draw_systems, write_picture
from labeler.messages import count_of
from labeler.report.picture import (
    INK,
    MOST_ROWS,
    check_ending,
    forest,
    height_of,
    matrix,
    most_rows,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labeler.evaluation.boards.board import Leaderboard

MOST_DETAILED = 8
WIDTH = 8.6
LONGEST = 28


def check_picture(path: Path, assessors: int, *, details: bool = False) -> None:
    """Refuse what `plot` could not draw: another ending, too many assessors, no matplotlib."""
    check_ending(path)
    if details and assessors > MOST_DETAILED:
        raise Misuse(
            f"a picture with details holds {MOST_DETAILED} assessors; these are {assessors}"
        )


def plot(
    reports: Sequence[AssessorReport],
    output: Output | Path,
    *,
    details: bool = False,
    statistics: Sequence[str] | None = None,
) -> list[str]:
    """Draw one assessor's statistics, or a row for each of several; returns what to know of it.

    With `details` the panels of each assessor: matrix, queries, systems. `statistics` are those
    asked for, of which the first is drawn for several assessors.
    """
    picture = Output.of(output)
    check_picture(picture.path, len(reports), details=details)

    def draw(figure: Figure) -> None:
        if details:
            _draw(reports, figure)
        elif len(reports) == 1:
            _forests(reports[0], figure)
        else:
            _forest(reports, statistics, figure)

    return write_picture(draw, picture)


ENDS = "dot and number: value; line: 95 % interval over queries"


def _forest(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None, figure: Figure
) -> None:
    """Every assessor's statistic with its interval, the closest to people at the top."""
    statistic, bars = bars_of(reports, statistics)
    shown, left_out = most_rows(bars)
    figure.set_size_inches(WIDTH, height_of(len(shown)))
    human = shortened(short(reports[0].human))
    label = f"{statistic} with {human}\n{ENDS}{left_out and '; '}{left_out}"
    forest(figure.subplots(), shown, label)


def _forests(report: AssessorReport, figure: Figure) -> None:
    """One assessor's statistics with their intervals, those in grades and the systems below."""
    groups, board = bars_of_one(report), report.board
    rows = [len(bars) for bars in groups.values()]
    rows += [min(len(board.systems), MOST_ROWS)] if board else []
    heights = [height_of(number) for number in rows]
    figure.set_size_inches(WIDTH, sum(heights))
    panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, (label, bars) in zip(panels, groups.items(), strict=False):
        forest(panel, bars, label)
        low, high = panel.get_xlim()
        panel.set_xlim(min(low, 0), max(high, 1))
        panel.axvline(0, color=INK, linewidth=0.6, zorder=0)
    panels[len(groups) - 1].set_xlabel(f"{label}\n{ENDS}")
    names = shortened(short(report.assessor)), shortened(short(report.human))
    if board:
        draw_systems(panels[-1], board, names[::-1])
    pairs = count_of(report.agreement.pairs, "pair", "pairs")
    panels[0].set_title(f"{names[0]} with {names[1]}, {pairs}", fontsize=10)


def _draw(reports: Sequence[AssessorReport], figure: Figure) -> None:
    systems = max(len(report.board.systems) if report.board else 0 for report in reports)
    columns = 3 if systems else 2
    height = max(4.6, height_of(min(systems, MOST_ROWS)))
    figure.set_size_inches(5.6 * columns + (2 if systems else 0), height * len(reports))
    panels = figure.subplots(len(reports), columns, squeeze=False)
    for report, row in zip(reports, panels, strict=True):
        _matrix(row[0], report)
        _queries(row[1], report)
        if report.board:
            draw_systems(row[2], report.board, (_cut(report.human), _cut(report.assessor)))
            row[2].set_title(_systems(report.board), fontsize=10)
        elif systems:
            row[2].set_axis_off()


def _matrix(panel: Axes, report: AssessorReport) -> None:
    """Shares of people's grades by row, with counts."""
    agreement = report.agreement
    grades = list(map(str, agreement.scale))
    names = f"grade by {_cut(report.human)}", f"grade by {_cut(report.assessor)}"
    matrix(panel, agreement.confusion, grades, *names)
    kappa, shown = agreement.headline["kappa"], ""
    if kappa.value is not None:
        shown = f"kappa {kappa.value:.2f}"
        if kappa.low is not None and kappa.high is not None:
            shown += f" [{kappa.low:.2f}, {kappa.high:.2f}]"
    panel.set_title(f"{agreement.pairs:,} pairs  {shown}", fontsize=10)


def _queries(panel: Axes, report: AssessorReport) -> None:
    """Each query's signed bias against its share of equal grades; larger dots, more pairs."""
    rows = report.details.queries
    sizes = np.array([row.pairs for row in rows], dtype=np.float64)
    area = 15 + 85 * sizes / sizes.max(initial=1.0)
    shares, biases = [row.agreement for row in rows], [row.bias for row in rows]
    panel.scatter(biases, shares, s=area, alpha=0.5, color=INK, linewidths=0)
    panel.axvline(0, color="gray", linewidth=0.8)
    panel.set_ylim(min([0.5, *shares]) - 0.03, 1.03)
    worst = [row for row in rows if row.mae > 0][:5]
    for row in worst:
        side, align = (5, "left") if row.bias < 0 else (-5, "right")
        panel.annotate(
            _cut(row.query_id),
            (row.bias, row.agreement),
            (side, -6),
            textcoords="offset points",
            ha=align,
            fontsize=7,
        )
    panel.set_xlabel(f"bias in grades (right: more generous than {_cut(whom(report.human))})")
    panel.set_ylabel("share of pairs with the same grade")
    panel.set_title(f"{len(rows):,} queries", fontsize=10)


def _systems(board: Leaderboard) -> str:
    value = board.statistics["tau_b"].value
    tau = "undefined" if value is None else f"{value:.2f}"
    return f"{len(board.systems)} systems, tau-b {tau}"


def _cut(name: str) -> str:
    """A name's beginning and end: models' names differ there."""
    name = short(name)
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"
