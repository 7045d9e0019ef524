"""Charts of rows on one axis: values with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from labeler.report.charts.axes import (
    WIDTH,
    Axis,
    Drawing,
    Scale,
    across,
    is_number,
    label_across,
    scale,
)
from labeler.report.charts.svg import length, line, mark, words
from labeler.report.table import Column, Estimated, Interval, Table

_MARGIN, _HEIGHT = 24.0, 18.0


@dataclass(frozen=True)
class NamedValue:
    """A value with its name and the ends of its interval; infinite ones reach to the chart's."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, name: str, estimate: Estimated | None) -> NamedValue:
        """An estimate with a name; of none the name alone."""
        if estimate is None:
            return cls(name, None)
        return cls(name, estimate.value, estimate.low, estimate.high)

    @property
    def interval(self) -> Interval:
        """The value with its ends."""
        return Interval(self.value, self.low, self.high)


def intervals(
    title: str,
    rows: Sequence[NamedValue],
    axis: Axis,
) -> Drawing:
    """Values with their intervals, in the order given.

    Where the axis has a reference, a value whose interval holds it has a hollow dot: it cannot be
    told from the reference.
    """
    height, parts = _draw(rows, axis)
    return Drawing(title, _of_values(rows, axis), _table(title, rows, axis), height, parts)


def _draw(rows: Sequence[NamedValue], axis: Axis) -> tuple[float, str]:
    """The height of the chart and its elements; a legend says what hollow dots are."""
    column = axis.column(with_ends=True)
    figures = [column.text(row.interval) for row in rows]
    names = min(max((length(row.name) for row in rows), default=0), 0.34 * WIDTH) + 2
    numbers = min(max(map(length, figures), default=0), 0.36 * WIDTH) + 2
    reach = [value for row in rows for value in (row.value, row.low, row.high)]
    start, end = max(names + 14, _MARGIN), WIDTH - max(numbers + 14, _MARGIN)
    made = scale(axis, reach, start, end)
    y = top = 8.0
    drawn: list[str] = []
    if any(is_unclear(row, axis) for row in rows):
        y = top = 32.0
        unclear = f"the interval holds {axis.text(axis.reference)}"
        drawn.append(mark("dot unclear", (start + 8, 16.0)))
        drawn.append(words("name", (start + 22, 20.0), unclear, WIDTH - start - 22))
    for row, figure in zip(rows, figures, strict=True):
        middle = y + _HEIGHT / 2 + 2
        kind = "dot unclear" if is_unclear(row, axis) else "dot"
        drawn += _marks(row, f"{row.name}: {figure}", made, middle, kind)
        drawn.append(words("name", (0, middle + 4), row.name, names))
        drawn.append(words("figures end", (WIDTH, middle + 4), figure, numbers))
        y += _HEIGHT + 4
    grid = [line("grid", (made(tick), top), (made(tick), y)) for tick in made.ticks]
    if axis.reference is not None:
        grid.append(line("reference", (made(axis.reference), top), (made(axis.reference), y)))
    below = label_across(axis.label, made, y + 34)
    return y + 42, "".join([*grid, *drawn, *across(made, y + 16), below])


def _marks(row: NamedValue, tip: str, made: Scale, y: float, kind: str) -> Iterator[str]:
    if row.value is None or not is_number(row.value):
        return
    if row.low is not None and row.high is not None and not math.isnan(row.low + row.high):
        yield line("whisker", (made(row.low), y), (made(row.high), y))
    yield mark(kind, (made(row.value), y), tip)


def is_unclear(row: NamedValue, axis: Axis) -> bool:
    """Whether the interval holds the reference."""
    if axis.reference is None or row.low is None or row.high is None:
        return False
    return row.low <= axis.reference <= row.high


def _table(title: str, rows: Sequence[NamedValue], axis: Axis) -> Table:
    ends = axis.format if any(row.low is not None for row in rows) else ""
    columns = [Column("name", title=" ", align="left"), replace(axis.column(), ends=ends)]
    return Table(title, columns, [(row.name, row.interval) for row in rows])


def _of_values(rows: Sequence[NamedValue], axis: Axis) -> str:
    """What the chart shows, in words: the highest and the lowest."""
    defined = [row for row in rows if is_number(row.value)]
    if not defined:
        return f"{axis.label}: no value is defined."
    column = axis.column(with_ends=True)
    ordered = sorted(defined, key=lambda row: -(row.value or 0.0))
    first, last = (f"{row.name}, {column.text(row.interval)}" for row in (ordered[0], ordered[-1]))
    if len(defined) == 1:
        return f"{axis.label} of {first}."
    return f"Highest {axis.label}: {first}; lowest: {last}; {len(defined):,} in all."
