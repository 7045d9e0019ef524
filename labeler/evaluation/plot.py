"""Pictures of scores: systems with their intervals, and systems by two qrels."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.collection.user_files import Output
from labeler.evaluation.boards.bias_plot import draw_bias
from labeler.evaluation.groups import groups_in_order
from labeler.files.atomic import replacing_bytes
from labeler.report.picture import (
    MOST_ROWS,
    Bar,
    check_ending,
    forest,
    height_of,
    most_rows,
    picture_bytes,
    shortened,
)
from labeler.report.table import is_undefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labeler.evaluation.boards.board import Leaderboard
    from labeler.evaluation.groups import ByGroup, GroupScore
    from labeler.evaluation.score_report import Report
    from labeler.evaluation.scores import RunScores

MOST_PANELS = 3
ROWS_WIDTH, GAP, SQUARE, NAMES_WIDTH = 7.4, 0.9, 5.0, 2.4
"""Inches of a leaderboard's picture."""


def plot_scores(report: Report, output: Output | Path) -> list[str]:
    """Draw every run's scores with their intervals, the best first; a panel for each measure.

    Of the first three measures; returns what a reader of the picture should know. Where the runs
    are scored by groups of queries, it shows those of the first field instead, a panel for a run.
    """
    if report.by:
        return _plot_groups(report, report.by[0], output)

    def draw(figure: Figure) -> None:
        runs, measures = report.ranked, report.measures[:MOST_PANELS]
        shown, left_out = most_rows([Bar(run.name, None) for run in runs])
        figure.set_size_inches(3.2 + 4.0 * len(measures), height_of(len(shown)))
        panels = figure.subplots(1, len(measures), squeeze=False)[0]
        for number, (panel, measure) in enumerate(zip(panels, measures, strict=True)):
            bars = [_bar(run, measure) for run in runs[: len(shown)]]
            label = f"{measure}\ndot and number: mean; line: 95 % interval over queries"
            notes = f"; {left_out}" if left_out and not number else ""
            forest(panel, bars, label + notes, named=not number)

    left = report.measures[MOST_PANELS:]
    notes = [f"a picture holds {MOST_PANELS} measures; left out: {', '.join(left)}"] if left else []
    return [*notes, *write_picture(draw, output)]


def _plot_groups(report: Report, grouped: ByGroup, output: Output | Path) -> list[str]:
    """Draw the groups' scores by the first measure, the best run's lowest first, and all queries'.

    Of the first three runs.
    """
    runs, measure = report.ranked[:MOST_PANELS], report.measures[0]

    def draw(figure: Figure) -> None:
        order = groups_in_order(grouped, runs[0].name, measure)
        rows = {(s.run, s.group): s for s in grouped.scores if s.measure == measure}
        figure.set_size_inches(3.2 + 4.0 * len(runs), height_of(min(len(order) + 1, MOST_ROWS)))
        panels = figure.subplots(1, len(runs), squeeze=False, sharex=True)[0]
        for number, (panel, run) in enumerate(zip(panels, runs, strict=True)):
            bars = [_group_bar(rows[run.name, group]) for group in order]
            shown, left_out = most_rows([*bars, replace(_bar(run, measure), name="all queries")])
            label = f"{measure} of {shortened(run.name)}\nby {grouped.by}, with 95 % intervals"
            forest(panel, shown, label + (f"; {left_out}" if left_out else ""), named=not number)

    notes = [
        f"a picture holds {MOST_PANELS} runs; left out: {len(report.runs) - MOST_PANELS}",
    ][: len(report.runs) > MOST_PANELS]
    if report.measures[1:]:
        notes.append(f"a picture of groups holds one measure, {measure}")
    if report.by[1:]:
        notes.append(f"a picture holds one field, {grouped.by}")
    return [*notes, *write_picture(draw, output)]


def _group_bar(score: GroupScore) -> Bar:
    """A group's mean and its interval, with how many queries it has behind its name."""
    value, low, high = (None if math.isnan(x) else x for x in (score.value, score.low, score.high))
    return Bar(score.group, value, low, high, after=f" ({score.queries})")


def plot_leaderboard(board: Leaderboard, output: Output | Path) -> list[str]:
    """Draw every run's score by both qrels, and beside it the second's bias as a line.

    On the left a row for each run, with the interval of the change between the two; on the right
    the scores by one against those by the other.
    """

    def draw(figure: Figure) -> None:
        height = height_of(min(len(board.systems), MOST_ROWS)) + 0.2
        figure.set_size_inches(ROWS_WIDTH + GAP + SQUARE + NAMES_WIDTH, max(height, SQUARE))
        # rows, a gap for numbers, the square, and room for names beside it
        grid = figure.add_gridspec(
            2,
            4,
            width_ratios=(ROWS_WIDTH, GAP, SQUARE, NAMES_WIDTH),
            height_ratios=(SQUARE, max(height - SQUARE, 0.01)),
        )
        draw_systems(figure.add_subplot(grid[:, 0]), board, board.names)
        draw_bias(figure.add_subplot(grid[0, 2]), board, board.names)

    return write_picture(draw, output)


def draw_systems(panel: Axes, board: Leaderboard, names: tuple[str, str]) -> None:
    """A row for each system: its score by both qrels, and the interval of the change.

    `names` are those of the qrels.
    """
    bars = [
        Bar(
            s.run,
            s.first,
            None if s.low is None else s.first + s.low,
            None if s.high is None else s.first + s.high,
            s.second,
            f"  {s.first_rank} → {s.second_rank}",
        )
        for s in board.ranked
    ]
    shown, left_out = most_rows(bars)
    first, second = map(shortened, names)
    label = f"{board.measure}   ● by {first}   □ by {second}\n"
    label += "line: 95 % interval of the change from ● to □; after each name: its ranks"
    forest(panel, shown, label + (f"; {left_out}" if left_out else ""))


def check_picture(path: Path) -> None:
    """Refuse what could not be drawn: another ending, or no matplotlib."""
    check_ending(path)


def _bar(run: RunScores, measure: str) -> Bar:
    """A run's mean and its interval, None for nan."""
    mean = run.means()[measure]
    return Bar(run.name, *(None if is_undefined(each) else each for each in mean))


def write_picture(draw: Callable[[Figure], None], output: Output | Path) -> list[str]:
    """Draw a picture into a file; returns what a reader of it should know."""
    picture = Output.of(output)
    check_picture(picture.path)
    content, lacking = picture_bytes(draw, picture.path.suffix)
    with picture.writing(), replacing_bytes(picture.path) as out:
        out.write(content)
    return lacking
