"""A picture of agreement: the matrix, the queries, and the systems under both sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labeler.agreement.assessor_report import AssessorReport
from labeler.agreement.overview import bars_of
from labeler.agreement.sentences import short
from labeler.collection.outputs import Output
from labeler.errors import Misuse
from labeler.files.atomic import replacing_bytes
from labeler.report.picture import (
    check_ending,
    forest,
    height_of,
    most_rows,
    picture_bytes,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 8
MOST_NAMES = 20
LONGEST = 28


def check_picture(path: Path, assessors: int, *, details: bool = False) -> None:
    """Refuse what `plot` could not draw: another ending, too many assessors, no matplotlib."""
    check_ending(path)
    if details and assessors > MOST_ROWS:
        raise Misuse(f"a picture with details holds {MOST_ROWS} assessors; these are {assessors}")


def plot(
    reports: Sequence[AssessorReport],
    output: Output | Path,
    *,
    details: bool = False,
    statistics: Sequence[str] | None = None,
) -> list[str]:
    """Draw one assessor's panels, or a row for each of several; returns what to know of it.

    With `details` the panels of each of several assessors. `statistics` are those asked for, of
    which the first is drawn for several.
    """
    picture = Output.of(output)
    check_picture(picture.path, len(reports), details=details)

    def draw(figure: Figure) -> None:
        if len(reports) == 1 or details:
            _draw(reports, figure)
        else:
            _forest(reports, statistics, figure)

    content, lacking = picture_bytes(draw, picture.path.suffix)
    with picture.writing(), replacing_bytes(picture.path) as out:
        out.write(content)
    return lacking


def _forest(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None, figure: Figure
) -> None:
    """Every assessor's statistic with its interval, the closest to people at the top."""
    statistic, bars = bars_of(reports, statistics)
    shown, left_out = most_rows(bars)
    figure.set_size_inches(8, height_of(len(shown)))
    panel = figure.subplots()
    human = shortened(short(reports[0].human))
    ends = "dot and number: value; line: 95 % interval over queries"
    forest(panel, shown, f"{statistic} with {human}\n{ends}{left_out and '; '}{left_out}")


def _draw(reports: Sequence[AssessorReport], figure: Figure) -> None:
    boards = any(report.board for report in reports)
    columns = 3 if boards else 2
    figure.set_size_inches(5.6 * columns, 4.6 * len(reports))
    panels = figure.subplots(len(reports), columns, squeeze=False)
    for report, row in zip(reports, panels, strict=True):
        _matrix(row[0], report)
        _queries(row[1], report)
        if boards:
            _systems(row[2], report)


def _matrix(panel: Axes, report: AssessorReport) -> None:
    """Shares of people's grades by row, with counts."""
    agreement = report.agreement
    counts = agreement.confusion
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    small = len(agreement.scale) > 6
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            color = "white" if shares[i, j] > 0.55 else "black"
            text = f"{shares[i, j]:.0%}" if small else f"{shares[i, j]:.0%}\n{count:,.0f}"
            panel.text(j, i, text, ha="center", va="center", color=color, fontsize=8)
    ticks = range(len(agreement.scale))
    panel.set_xticks(ticks, list(map(str, agreement.scale)))
    panel.set_yticks(ticks, list(map(str, agreement.scale)))
    panel.set_xlabel(f"grade by {_cut(report.assessor)}")
    panel.set_ylabel(f"grade by {_cut(report.human)}")
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
    area = 15 + 85 * sizes / sizes.max() if len(rows) else []
    shares, biases = [row.agreement for row in rows], [row.bias for row in rows]
    panel.scatter(biases, shares, s=area, alpha=0.5, color="tab:blue", linewidths=0)
    panel.axvline(0, color="gray", linewidth=0.8)
    panel.set_ylim(min([0.5, *shares]) - 0.03, 1.03)
    worst = [row for row in rows if row.mae > 0][:5]
    _name(panel, [(row.bias, row.agreement, row.query_id) for row in worst])
    panel.set_xlabel("bias in grades (right: more generous than people)")
    panel.set_ylabel("share of pairs with the same grade")
    panel.set_title(f"{len(rows):,} queries", fontsize=10)


def _systems(panel: Axes, report: AssessorReport) -> None:
    """Each system's score under people and under the other."""
    board = report.board
    if board is None:
        panel.set_axis_off()
        return
    ours, theirs = [s.first for s in board.systems], [s.second for s in board.systems]
    ends = min(*ours, *theirs), max(*ours, *theirs)
    panel.plot(ends, ends, color="gray", linewidth=0.8)
    panel.scatter(ours, theirs, s=40, color="tab:orange", alpha=0.6, linewidths=0)
    if len(board.systems) <= MOST_NAMES:
        _name(panel, [(system.first, system.second, system.run) for system in board.ranked])
    panel.set_xlabel(f"{board.measure} by {_cut(report.human)}")
    panel.set_ylabel(f"{board.measure} by {_cut(report.assessor)}")
    value = board.statistics["tau_b"].value
    tau = "undefined" if value is None else f"{value:.2f}"
    panel.set_title(f"{len(board.systems)} systems, tau-b {tau}", fontsize=10)


def _name(panel: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Names beside the panel, in the points' order from the top, each with a line to its point."""
    ordered = sorted(points, key=lambda point: -point[1])
    low, high = panel.get_ylim()
    wished = [(y - low) / (high - low) for _, y, _ in ordered]
    line = {"arrowstyle": "-", "color": "gray", "linewidth": 0.4, "shrinkB": 3, "relpos": (0, 0.5)}
    for height, (x, y, name) in zip(_apart(wished), ordered, strict=True):
        panel.annotate(
            _cut(name),
            (x, y),
            (1.03, height),
            textcoords="axes fraction",
            fontsize=7,
            va="center",
            arrowprops=line,
        )


def _apart(wished: Sequence[float], least: float = 0.045) -> list[float]:
    """Descending heights near those wished, `least` or more apart, none below 0."""
    heights: list[float] = []
    for height in wished:
        heights.append(min(height, heights[-1] - least) if heights else min(height, 1.0))
    floor = 0.0
    for i in reversed(range(len(heights))):
        heights[i] = max(heights[i], floor)
        floor = heights[i] + least
    return heights


def _cut(name: str) -> str:
    """A name's beginning and end: models' names differ there."""
    name = short(name)
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"
