"""Amounts as bars from zero, a row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from labeler.report.charts.drawing import (
    Axis,
    Drawing,
    NamedValue,
    all_equal,
    drawing,
    is_number,
    undefined_text,
)
from labeler.report.charts.rows import ChartRow, Frame, RowChart
from labeler.report.charts.svg import rectangle
from labeler.report.table import Column, Table


def bars(title: str, rows: Sequence[NamedValue], axis: Axis, message: str = "") -> Drawing:
    """Amounts as bars that begin at zero, in the order given."""
    axis = replace(axis, reference=0.0)
    named = [ChartRow(row.name, axis.text(row.value), row.group) for row in rows]
    chart = RowChart(named, axis, [row.value for row in rows])

    def marks(frame: Frame) -> Iterator[str]:
        zero = frame.scale(0)
        for row, y in zip(rows, frame.middles, strict=True):
            if row.value is not None and is_number(row.value):
                x, tip = frame.scale(row.value), f"{row.name}: {axis.text(row.value)}"
                yield rectangle("bar", (min(x, zero), y - 6), (abs(x - zero), 12), tip)

    columns = [Column("name", title=" ", align="left"), axis.column()]
    table = Table(title, columns, [(row.name, row.value) for row in rows])
    return drawing(
        title, message or _message(rows, axis), table, lambda width: chart.draw(width, marks)
    )


def _message(rows: Sequence[NamedValue], axis: Axis) -> str:
    defined = [row for row in rows if is_number(row.value)]
    if not defined:
        return f"{axis.label}: no value is defined."
    ordered = sorted(defined, key=lambda row: -(row.value or 0.0))
    first, last = (f"{row.name}, {axis.text(row.value)}" for row in (ordered[0], ordered[-1]))
    words = f"{axis.label} of {first}."
    if equal := all_equal(defined, axis):
        words = equal
    elif len(defined) > 1:
        words = f"Most {axis.label}: {first}; least: {last}; {len(defined):,} in all."
    return words + undefined_text(len(rows) - len(defined))
