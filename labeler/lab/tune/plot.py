"""The picture of tuning: agreement with people against cost, and what no other assessor beats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labeler.collection.user_files import Output
from labeler.evaluation.plot import write_picture
from labeler.lab.tune.standing import TuneResult
from labeler.report.picture import INK, MUTED, check_ending, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.0, 5.2
"""Inches."""


def plot_tuning(result: TuneResult, output: Output | Path) -> list[str]:
    """Draw every candidate's agreement against its cost, with intervals; the efficient are joined.

    Returns what a reader of the picture should know.
    """
    picture = Output.of(output)
    check_ending(picture.path)
    return write_picture(lambda figure: _draw(result, figure), picture)


def _draw(result: TuneResult, figure: Figure) -> None:
    figure.set_size_inches(WIDTH, HEIGHT)
    panel = figure.subplots()
    for number, standing in enumerate(result.standings, start=1):
        quality = result.quality(standing)
        if quality.value is None:
            continue
        is_efficient = standing.name in result.efficient
        color = INK if is_efficient else MUTED
        cost = result.cost(standing)
        if quality.low is not None and quality.high is not None:
            panel.plot([cost, cost], [quality.low, quality.high], color=color, linewidth=1)
        name = f"{number}  {shortened(standing.name)}"
        (point,) = panel.plot([cost], [quality.value], "o", label=name, color=color)
        point.set_markerfacecolor(color if is_efficient else "white")
        point_at = (cost, quality.value)
        panel.annotate(
            f"{number}", point_at, (6, 4), textcoords="offset points", color=color, fontsize=9
        )
    _join_efficient(panel, result)
    unit = "dollars for 1,000 pairs" if result.has_costs else "tokens of a pair, prompt and reply"
    panel.set_xlabel(f"{unit}\nfilled: no other is as good for less")
    panel.set_ylabel(f"{result.statistic} with {shortened(result.human)}")
    title = f"on {result.standings[0].queries} queries that the best was chosen by"
    panel.set_title(
        f"{title}\nlines: 95 % intervals; from 2 on, of the difference from 1", fontsize=9
    )
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)


def _join_efficient(panel: Axes, result: TuneResult) -> None:
    points = sorted(
        (result.cost(standing), quality)
        for standing in result.standings
        if standing.name in result.efficient
        and (quality := result.quality(standing).value) is not None
    )
    if len(points) > 1:
        costs, values = zip(*points, strict=True)
        panel.plot(costs, values, color=INK, linewidth=0.6, linestyle="--", zorder=0)
