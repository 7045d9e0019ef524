"""The picture of an assessor's bias: its score of each system against people's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from labeler.metrics import parse
from labeler.report.picture import INK, MUTED, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labeler.arrays import Floats
    from labeler.evaluation.boards.board import Leaderboard
    from labeler.evaluation.boards.two_sided import System

MOST_NAMED = 20
"""Of more systems only kin, and those farthest from the line, are named."""
FARTHEST = 6
BAND, FAINT = "#ececec", "#b0b0b0"


def draw_bias(panel: Axes, board: Leaderboard, names: tuple[str, str]) -> None:
    """Each system by both qrels, the line of equal scores, and that of unrelated systems.

    In the band lie 95 of 100 unrelated systems; kin are filled squares.
    """
    first, second = map(shortened, names)
    kin = {favour.kin.run for favour in board.bias.favors}
    drawn = [value for s in board.systems for value in (s.first, s.second, *_change(s))]
    low, high = min(drawn), max(drawn)
    margin = 0.03 * (high - low) or 0.05
    ends = (low - margin, high + margin)
    panel.plot(ends, ends, color=MUTED, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    _line(panel, board, ends)
    for system in board.systems:
        marker, fill = ("s", INK) if system.run in kin else ("o", "white")
        change = _change(system)
        panel.plot([system.first] * len(change), change, color=FAINT, linewidth=0.8, zorder=2)
        panel.plot([system.first], [system.second], marker, mfc=fill, mec=INK, ms=5, zorder=3)
    panel.set_xlim(*ends)
    panel.set_ylim(*ends)
    panel.set_box_aspect(1)
    _name(panel, _named(board, kin), ends, kin)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.set_xlabel(f"{board.measure} by {first}")
    panel.set_ylabel(f"{board.measure} by {second}")
    panel.set_title(_title(board, kin), fontsize=8, loc="left")


def _change(system: System) -> list[float]:
    """The ends of the interval of the change, from people's score."""
    return [system.first + end for end in (system.low, system.high) if end is not None]


def _line(panel: Axes, board: Leaderboard, ends: tuple[float, float]) -> None:
    """The line of the unrelated systems, and the band in which 95 of 100 such lie."""
    line = board.bias.line
    if line is None:
        return
    sign = -1.0 if parse(board.measure).definition.lower_is_better else 1.0
    x: Floats = np.linspace(*ends, 60)
    turned = sign * x
    middle = np.array([t + line.at(float(t)) for t in turned])
    reach = np.array([line.reach(float(t)) for t in turned])
    panel.fill_between(x, sign * (middle - reach), sign * (middle + reach), color=BAND, zorder=0)
    panel.plot(x, sign * middle, color=INK, linewidth=1.4, zorder=1)


def _title(board: Leaderboard, kin: set[str]) -> str:
    lines = ["dashed: equal scores; vertical lines: 95 % interval of the change, over queries"]
    if board.bias.line is not None:
        of = f"{board.bias.line.points} unrelated systems" if kin else "the systems"
        lines.append(f"solid: line of {of}; grey: where 95 of 100 such systems lie")
    if kin:
        lines.append("filled squares: kin of the assessor")
    return "\n".join(lines)


def _named(board: Leaderboard, kin: set[str]) -> list[System]:
    """All of few systems; of many the kin, and those farthest from the line."""
    if len(board.systems) <= MOST_NAMED:
        return list(board.systems)
    away = {run: abs(residual) for run, residual in board.bias.residuals.items()}
    others = [s for s in board.systems if s.run not in kin]
    farthest = sorted(others, key=lambda s: -away.get(s.run, 0.0))[:FARTHEST]
    return [*(s for s in board.systems if s.run in kin), *farthest]


def _name(panel: Axes, systems: Sequence[System], ends: tuple[float, float], kin: set[str]) -> None:
    """Names at the right, in the points' order from the top, each with a line to its point."""
    ordered = sorted(systems, key=lambda s: -s.second)
    wished = [(s.second - ends[0]) / (ends[1] - ends[0]) for s in ordered]
    line = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.4, "shrinkB": 3, "relpos": (0, 0.5)}
    for height, system in zip(_apart(wished), ordered, strict=True):
        panel.annotate(
            shortened(system.run),
            (system.first, system.second),
            (1.03, height),
            textcoords="axes fraction",
            fontsize=7,
            fontweight="bold" if system.run in kin else "normal",
            va="center",
            color=INK,
            arrowprops=line,
        )


def _apart(wished: Sequence[float], least: float = 0.047) -> list[float]:
    """Descending heights near those wished, `least` or more apart, none below 0."""
    heights: list[float] = []
    for height in wished:
        heights.append(min(height, heights[-1] - least) if heights else min(height, 1.0))
    floor = 0.0
    for i in reversed(range(len(heights))):
        heights[i] = max(heights[i], floor)
        floor = heights[i] + least
    return heights
