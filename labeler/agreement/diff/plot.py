"""The picture of a diff: where grades went, how many moved, whose are closer, and the systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labeler.agreement.diff.diff import Diff
from labeler.agreement.differences import Difference
from labeler.agreement.overview import short
from labeler.collection.user_files import Output
from labeler.evaluation.plot import draw_systems, write_picture
from labeler.report.picture import (
    INK,
    MOST_ROWS,
    Bar,
    check_ending,
    forest,
    height_of,
    matrix,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MATRIX = 9.0, 4.2
"""Inches."""


def plot_diff(changes: Diff, output: Output | Path) -> list[str]:
    """Draw the matrix of grades, the shares that moved, agreement with people, and the systems.

    Each where it is known; returns what a reader of the picture should know.
    """
    picture = Output.of(output)
    check_ending(picture.path)
    return write_picture(lambda figure: _draw(changes, figure), picture)


def _draw(changes: Diff, figure: Figure) -> None:
    groups = {f"share of {changes.pairs:,} pairs": _shares(changes), **_differences(changes)}
    heights = [MATRIX, *(height_of(len(bars)) for bars in groups.values())]
    board = changes.board
    if board is not None:
        heights.append(height_of(min(len(board.systems), MOST_ROWS)) + 0.2)
    figure.set_size_inches(WIDTH, sum(heights))
    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _grades(panels[0], changes)
    for panel, (label, bars) in zip(panels[1:], groups.items(), strict=False):
        forest(panel, bars, f"{label}\ndot and number: value; line: 95 % interval over queries")
        panel.axvline(0, color=INK, linewidth=0.6, zorder=0)
    if board is not None:
        draw_systems(panels[-1], board, changes.names)


def _grades(panel: Axes, changes: Diff) -> None:
    before, after = map(shortened, changes.names)
    grades = list(map(str, changes.grades))
    matrix(panel, changes.grade_table, grades, f"grade by {before}", f"by {after}")
    panel.set_title(f"from {before} to {after}", fontsize=10)


def _shares(changes: Diff) -> list[Bar]:
    bars = [Bar("moved up", *changes.up), Bar("moved down", *changes.down)]
    if changes.noise is not None:
        bars.append(Bar("moved either way", *changes.noise.moved))
        bars.append(Bar("would move if asked twice", *changes.noise.by_chance))
    return bars


def _differences(changes: Diff) -> dict[str, list[Bar]]:
    """The differences of agreement with people, the later set's less the earlier one's."""
    if changes.agreeing is None or not changes.agreeing.after.differences:
        return {}
    bars = [_difference(change) for change in changes.agreeing.after.differences]
    human = shortened(short(changes.agreeing.human))
    before, after = map(shortened, changes.names)
    label = f"agreement with {human}, {after} less {before}; after each name: {before} → {after}"
    return {label: bars}


def _difference(change: Difference) -> Bar:
    """A row of a statistic's change, with both sets' values behind its name."""
    both = (change.second, change.first)
    values = " → ".join("–" if value is None else f"{value:.2f}" for value in both)
    return Bar(change.statistic.name, change.value, change.low, change.high, after=f"  {values}")
