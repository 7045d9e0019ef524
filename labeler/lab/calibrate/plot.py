"""The picture of a calibration: reliability at each cut, before and after, and learning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labeler.agreement.calibration import Calibration
from labeler.agreement.overview import short
from labeler.collection.user_files import Output
from labeler.errors import Misuse
from labeler.evaluation.plot import write_picture
from labeler.lab.calibrate.calibrate import CalibrateResult, CutReliability
from labeler.report.picture import INK, MUTED, check_ending, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 3.4
"""Inches."""


def plot_calibration(result: CalibrateResult, output: Output | Path) -> list[str]:
    """Draw what was said against what came true, and the log loss by how much was graded.

    Returns what a reader of the picture should know.
    """
    picture = Output.of(output)
    check_ending(picture.path)
    if not result.cuts:
        raise Misuse("a saved fit that was applied has nothing to draw", parameter="picture")
    return write_picture(lambda figure: _draw(result, figure), picture)


def _draw(result: CalibrateResult, figure: Figure) -> None:
    columns = len(result.cuts) + 1
    figure.set_size_inches(PANEL * columns, PANEL + 0.6)
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for panel, cut in zip(panels, result.cuts, strict=False):
        _reliability(panel, cut)
    panels[0].set_ylabel("share that people graded so high")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    _curve(panels[-1], result)
    origin = result.saved.origin
    names = shortened(short(origin.assessor)), shortened(short(origin.people))
    figure.suptitle(f"{names[0]} by {names[1]}: queries not fitted to", fontsize=10)


def _reliability(panel: Axes, cut: CutReliability) -> None:
    panel.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, zorder=0)
    for side, label, marker in ((cut.before, "before", "s"), (cut.after, "after", "o")):
        _bins(panel, side, label, marker)
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(-0.03, 1.03)
    panel.set_aspect("equal")
    panel.set_xlabel("probability; larger marks, more pairs")
    panel.set_title(f"grade {cut.after.cut} or more", fontsize=10)


def _bins(panel: Axes, side: Calibration, label: str, marker: str) -> None:
    is_after = label == "after"
    x, y = [b.probability for b in side.bins], [b.true for b in side.bins]
    color = INK if is_after else MUTED
    most = max(b.pairs for b in side.bins)
    sizes = [8 + 70 * b.pairs / most for b in side.bins]
    face = color if is_after else "white"
    panel.scatter(
        x, y, s=sizes, marker=marker, facecolor=face, edgecolor=color, label=label, zorder=3
    )


def _curve(panel: Axes, result: CalibrateResult) -> None:
    x = [point.pairs for point in result.curve]
    y = [point.log_loss for point in result.curve]
    ends = [2 * (point.error or 0.0) for point in result.curve]
    panel.errorbar(x, y, ends, fmt="o-", color=INK, capsize=2)
    alone = result.log_loss["shares alone"].value
    panel.axhline(alone, color=MUTED, linestyle="--", linewidth=1)
    panel.annotate(
        "people's shares alone",
        (max(x), alone),
        (0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=MUTED,
    )
    panel.set_xlabel("pairs graded (±2 standard errors)")
    panel.margins(y=0.12)
    panel.set_title("log loss, other queries", fontsize=10)
