"""Distributions, a row each: a dot for every value, stacked where values are close."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from labeler.report.charts.drawing import WIDE, Axis, Drawing, counted, drawing, is_number
from labeler.report.charts.rows import ChartRow, Frame, RowChart
from labeler.report.charts.svg import dot, dots, line, rectangle
from labeler.report.table import Column, Table

_HEIGHT = 64.0
"""Pixels of the highest stack."""
_LEAST_DOT, _MOST_DOT = 3.0, 9.0
_MOST_NAMED = 600
"""Of more values in a row none is named under a pointer: the page would become too long."""


@dataclass(frozen=True)
class NamedValues:
    """A row's name and its values, each with a name of its own, such as a query's id."""

    name: str
    values: Mapping[str, float]

    @property
    def defined(self) -> list[tuple[str, float]]:
        """The values that can be drawn, from the least to the most."""
        pairs = [(name, value) for name, value in self.values.items() if is_number(value)]
        return sorted(pairs, key=lambda pair: pair[1])


def strip(title: str, rows: Sequence[NamedValues], axis: Axis, message: str = "") -> Drawing:
    """Every value as a dot, with a line at each row's median.

    Dots become smaller the more there are; where even small ones would not fit, a stack is a bar.
    """
    named = [ChartRow(row.name, _figures(row, axis)) for row in rows]
    reach = [value for row in rows for _, value in row.defined]
    chart = RowChart(named, axis, reach, [("median", "median")], height=_HEIGHT + 8)

    def marks(frame: Frame) -> Iterator[str]:
        size = _dot_size(rows, frame)
        for row, y in zip(rows, frame.middles, strict=True):
            yield from _row(row, y + _HEIGHT / 2, frame, (axis, size))

    in_words, table = message or _message(rows, axis), _table(title, rows, axis)
    return drawing(title, in_words, table, lambda width: chart.draw(width, marks))


def _figures(row: NamedValues, axis: Axis) -> str:
    return f"median {axis.text(_quartiles(row)[1])}"


def _quartiles(row: NamedValues) -> tuple[float | None, float | None, float | None]:
    values = [value for _, value in row.defined]
    if not values:
        return None, None, None
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


Stacks = dict[int, list[tuple[str, float]]]


def _stacks(row: NamedValues, made: Frame, size: float) -> Stacks:
    """The values that share a column of dots of a size, by the column's number."""
    stacks: Stacks = {}
    for name, value in row.defined:
        number = round((made.scale(value) - made.scale.start) / size)
        stacks.setdefault(number, []).append((name, value))
    return stacks


def _dot_size(rows: Sequence[NamedValues], made: Frame) -> float:
    """The largest size of dots of which the highest stack fits its row."""
    size = _MOST_DOT
    while size > _LEAST_DOT:
        highest = max(
            (len(s) for row in rows for s in _stacks(row, made, size).values()), default=0
        )
        if highest * size <= _HEIGHT:
            break
        size -= 0.5
    return size


def _row(row: NamedValues, base: float, made: Frame, how: tuple[Axis, float]) -> Iterator[str]:
    axis, size = how
    yield line("base", (made.scale.start, base), (made.scale.end, base))
    stacks = _stacks(row, made, size)
    if max(map(len, stacks.values()), default=0) * size > _HEIGHT:
        yield from _columns(stacks, base, made, how)
    elif made.width < WIDE or len(row.values) > _MOST_NAMED:
        centers = (center for _, center in _centers(stacks, base, made, size))
        yield dots("dots", centers, size - 0.8)
    else:
        for (name, value), center in _centers(stacks, base, made, size):
            yield dot("dot", center, size / 2 - 0.4, f"{name}: {axis.text(value)}")
    median = _quartiles(row)[1]
    if median is not None:
        yield line("median", (made.scale(median), base - _HEIGHT), (made.scale(median), base + 4))


def _centers(
    stacks: Stacks, base: float, made: Frame, size: float
) -> Iterator[tuple[tuple[str, float], tuple[float, float]]]:
    """Each value with the center of its dot."""
    for number, stack in stacks.items():
        x = made.scale.start + number * size
        for level, pair in enumerate(stack):
            yield pair, (x, base - (level + 0.5) * size)


def _columns(stacks: Stacks, base: float, made: Frame, how: tuple[Axis, float]) -> Iterator[str]:
    """A bar for each stack, of which the highest fills the row."""
    axis, size = how
    highest = max(map(len, stacks.values()))
    for number, stack in stacks.items():
        height = _HEIGHT * len(stack) / highest
        ends = axis.text(stack[0][1]), axis.text(stack[-1][1])
        tip = f"{len(stack):,} from {ends[0]} to {ends[1]}"
        corner = (made.scale.start + (number - 0.5) * size, base - height)
        yield rectangle("bar", corner, (size - 0.5, height), tip)


def _table(title: str, rows: Sequence[NamedValues], axis: Axis) -> Table:
    names = ("values", "undefined", "least", "first quartile", "median", "third quartile", "most")
    columns = [
        Column("name", title=" ", align="left"),
        *(Column(n, format=axis.format) for n in names),
    ]
    return Table(title, columns, [_summary(row) for row in rows])


def _summary(row: NamedValues) -> list[str | int | float | None]:
    values = [value for _, value in row.defined]
    least, most = (values[0], values[-1]) if values else (None, None)
    undefined = len(row.values) - len(values)
    return [row.name, len(values), undefined, least, *_quartiles(row), most]


def _message(rows: Sequence[NamedValues], axis: Axis) -> str:
    """The number of values, the median and the middle half of the first rows."""
    parts = []
    for row in rows[:3]:
        low, median, high = map(axis.text, _quartiles(row))
        number = len(row.defined)
        if not number:
            parts.append(f"{row.name}: no value.")
            continue
        words = f"{row.name}: {counted(number, 'value')} of {axis.label}, median {median}"
        parts.append(f"{words}, half of them between {low} and {high}.")
    if len(rows) > 3:
        parts.append(f"{counted(len(rows) - 3, 'more row')}.")
    return " ".join(parts) or "There are no rows."
