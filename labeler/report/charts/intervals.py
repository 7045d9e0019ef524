"""Values with their intervals, a row each: a dot, and a line from one end to the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from labeler.report.charts.drawing import (
    Axis,
    Drawing,
    NamedValue,
    all_equal,
    counted,
    drawing,
    is_number,
    undefined_text,
)
from labeler.report.charts.legend import Entry
from labeler.report.charts.rows import ChartRow, Frame, RowChart
from labeler.report.charts.svg import dot, line, path, rectangle
from labeler.report.table import Column, Interval, Row, Table


def intervals(
    title: str,
    rows: Sequence[NamedValue],
    axis: Axis,
    message: str = "",
    second: tuple[str, str] | None = None,
) -> Drawing:
    """Values with their intervals, in the order given.

    Where the axis has a reference, a value whose interval holds it has a hollow dot: it cannot be
    told from the reference. `second` are the names of the values and of the other values, where
    there are others: those are drawn as hollow squares.
    """
    column = axis.column(with_ends=True)
    named = [ChartRow(row.name, _figures(row, column, axis), row.group) for row in rows]
    reach = [value for row in rows for value in (row.value, row.low, row.high, row.other)]
    chart = RowChart(named, axis, reach, _entries(rows, axis, second))

    def marks(frame: Frame) -> Iterator[str]:
        for row, y in zip(rows, frame.middles, strict=True):
            yield from _mark(row, y, frame, axis)

    table = _table(title, rows, column, second)
    in_words = message or intervals_message(rows, axis)
    return drawing(title, in_words, table, lambda width: chart.draw(width, marks))


def _entries(rows: Sequence[NamedValue], axis: Axis, second: tuple[str, str] | None) -> list[Entry]:
    """What stands in need of a legend: a second value, and hollow dots."""
    entries = [] if second is None else [("dot", second[0]), ("other", second[1])]
    if any(is_unclear(row, axis) for row in rows):
        entries.append(("dot unclear", f"the interval holds {axis.text(axis.reference)}"))
    return entries


def _figures(row: NamedValue, column: Column, axis: Axis) -> str:
    shown = column.text(Interval(row.value, row.low, row.high))
    return shown if row.other is None else f"{axis.text(row.value)} → {axis.text(row.other)}"


def _mark(row: NamedValue, y: float, frame: Frame, axis: Axis) -> Iterator[str]:
    if row.value is None or not is_number(row.value):
        return
    x, tip = (
        frame.scale(row.value),
        f"{row.name}: {_figures(row, axis.column(with_ends=True), axis)}",
    )
    if row.low is not None and row.high is not None and not math.isnan(row.low + row.high):
        yield from _whisker((row.low, row.high), y, frame)
    if row.other is not None and is_number(row.other):
        yield rectangle("other", (frame.scale(row.other) - 4, y - 4), (8, 8), tip)
    yield dot("dot unclear" if is_unclear(row, axis) else "dot", (x, y), 4.5, tip)


def _whisker(ends: tuple[float, float], y: float, frame: Frame) -> Iterator[str]:
    """The interval's line, with an arrow at an open end."""
    low, high = (frame.scale(end) for end in ends)
    yield line("whisker", (low, y), (high, y))
    for end, x, inward in ((ends[0], low, 6), (ends[1], high, -6)):
        if math.isinf(end):
            yield path("arrow", [(x + inward, y - 5), (x, y), (x + inward, y + 5)])


def is_unclear(row: NamedValue, axis: Axis) -> bool:
    """Whether the interval holds the reference."""
    if axis.reference is None or row.low is None or row.high is None:
        return False
    return row.low <= axis.reference <= row.high


def _table(
    title: str, rows: Sequence[NamedValue], column: Column, second: tuple[str, str] | None
) -> Table:
    first, other = second or (column.name, "")
    columns = [
        Column("name", title=" ", align="left"),
        Column(first, column.title, column.format, column.ends),
    ]
    cells: list[Row] = [(row.name, Interval(row.value, row.low, row.high)) for row in rows]
    if other:
        columns.append(Column(other, format=column.format))
        cells = [(*cell, row.other) for cell, row in zip(cells, rows, strict=True)]
    if any(row.group for row in rows):
        columns.insert(0, Column("group", align="left"))
        cells = [(row.group, *cell) for cell, row in zip(cells, rows, strict=True)]
    return Table(title, columns, cells)


def intervals_message(rows: Sequence[NamedValue], axis: Axis) -> str:
    """What the chart shows, in words: the highest and the lowest, and what is clear."""
    defined = [row for row in rows if is_number(row.value)]
    if not defined:
        return f"{axis.label}: no value is defined."
    column = axis.column(with_ends=True)
    ordered = sorted(defined, key=lambda row: -(row.value or 0.0))
    first, last = (
        f"{row.name}, {column.text(Interval(row.value, row.low, row.high))}"
        for row in (ordered[0], ordered[-1])
    )
    words = f"{axis.label} of {first}."
    if equal := all_equal(defined, axis):
        words = equal
    elif len(defined) > 1:
        words = f"Highest {axis.label}: {first}; lowest: {last}; {len(defined):,} in all."
    return words + _clear(defined, axis) + undefined_text(len(rows) - len(defined))


def _clear(rows: Sequence[NamedValue], axis: Axis) -> str:
    """How many intervals tell their value from the reference."""
    if axis.reference is None:
        return ""
    clear = sum(not is_unclear(row, axis) for row in rows if row.low is not None)
    verb = "excludes" if clear == 1 else "exclude"
    return f" {clear:,} of {counted(len(rows), 'interval')} {verb} {axis.text(axis.reference)}."
