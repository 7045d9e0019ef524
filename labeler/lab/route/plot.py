"""The picture of a routing: the agreement to expect, by how many pairs people grade."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.agreement.compare import Estimate
from labeler.agreement.overview import short
from labeler.collection.user_files import Output
from labeler.errors import Misuse
from labeler.evaluation.plot import write_picture
from labeler.lab.route.route import RouteResult
from labeler.report.picture import INK, MUTED, check_ending, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_route(result: RouteResult, output: Output | Path) -> list[str]:
    """Draw what is expected of routed pairs, and of as many drawn by chance.

    Returns what a reader of the picture should know.
    """
    picture = Output.of(output)
    check_ending(picture.path)
    if not result.expected:
        problem = "nothing is expected without people's grades of pairs drawn by chance"
        raise Misuse(problem, parameter="people")
    return write_picture(lambda figure: _draw(result, figure), picture)


def _draw(result: RouteResult, figure: Figure) -> None:
    figure.set_size_inches(6.4, 4.4)
    panel = figure.subplots()
    shares = [point.share for point in result.expected]
    routed = [point.routed for point in result.expected]
    ends = [(e.low, e.high) for e in routed]
    if all(low is not None and high is not None for low, high in ends):
        low, high = zip(*ends, strict=True)
        panel.fill_between(shares, low, high, color="#dddddd", linewidth=0)
    by_chance = [point.at_random for point in result.expected]
    panel.plot(shares, _values(routed), "o-", color=INK, label=f"routed by {result.by}", ms=4)
    panel.plot(shares, _values(by_chance), "s--", color=MUTED, label="drawn by chance", ms=4)
    if point := result.point:
        panel.axvline(point.share, color=INK, linewidth=0.6, linestyle=":")
        panel.annotate(
            f"{point.pairs:,} pairs", (point.share, 0.02), (4, 0), textcoords="offset points",
            xycoords=("data", "axes fraction"), fontsize=8,
        )  # fmt: skip
    panel.legend(frameon=False, fontsize=9, loc="upper left")
    panel.set_xlabel(f"share of {result.candidates:,} pairs that people grade")
    panel.set_ylabel(f"{result.statistic} to expect; band: 95 % interval over queries")
    panel.set_title(shortened(short(result.names[0])), fontsize=10)


def _values(estimates: Sequence[Estimate]) -> list[float]:
    return [float("nan") if e.value is None else e.value for e in estimates]
