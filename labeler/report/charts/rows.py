"""Charts of rows on one axis: values with their intervals, bars, shares of a whole, many values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import quantiles

from labeler.messages import count_of
from labeler.report.charts.axes import (
    WIDTH,
    Axis,
    Drawing,
    Scale,
    across,
    is_number,
    label_across,
    legend,
    percent,
    scale,
)
from labeler.report.charts.svg import length, line, mark, path, rectangle, words
from labeler.report.table import Cell, Column, Estimated, Interval, Row, Table

_MARGIN, _GROUP = 24.0, 28.0
_MANY = 18
"""Charts of more rows have the numbers of their axis above them, too."""
_LEVELS = 6
"""Shades of the parts of a row."""
_STACK, _DOT = 64.0, 6.0
"""Pixels of the highest stack of dots, and of a dot."""
_MOST_NAMED = 600
"""Of more values in a row none is named under a pointer: the page would become too long."""


@dataclass(frozen=True)
class NamedValue:
    """A value with its name and the ends of its interval; an infinite end reaches to the chart's.

    `group` is the heading under which it stands, `other` a second value beside it.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    group: str = ""
    other: float | None = None

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


@dataclass(frozen=True)
class NamedCounts:
    """A row's name and its count of each part."""

    name: str
    counts: Sequence[float]


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

    @property
    def quartiles(self) -> tuple[float | None, float | None, float | None]:
        """A quarter, a half and three quarters of the values are no higher than these."""
        values = [value for _, value in self.defined]
        if len(values) < 2:
            only = values[0] if values else None
            return only, only, only
        low, middle, high = quantiles(values, n=4, method="inclusive")
        return low, middle, high


@dataclass(frozen=True)
class _Rows:
    """The rows of a chart: name, figures and heading of each, on an axis that holds `values`.

    A row's mark is `height` high; `entries` are the legend's.
    """

    rows: Sequence[tuple[str, str, str]]
    axis: Axis
    values: Sequence[float | None]
    entries: Sequence[tuple[str, str]] = ()
    height: float = 18

    def draw(self, marks: Callable[[int, Scale, float], Iterator[str]]) -> tuple[float, str]:
        """The height of the chart and its elements; `marks` draws a row around its middle."""
        names = min(max((length(row[0]) for row in self.rows), default=0), 0.34 * WIDTH) + 2
        figures = min(max((length(row[1]) for row in self.rows), default=0), 0.36 * WIDTH) + 2
        start, end = max(names + 14, _MARGIN), WIDTH - max(figures + 14, _MARGIN)
        made = scale(self.axis, self.values, start, end)
        head, top = legend(self.entries, start, 8)
        is_long = len(self.rows) > _MANY
        y = top = top + (20 if is_long else 0)
        texts: list[str] = []
        drawn: list[str] = []
        heading = ""
        for number, (name, shown, group) in enumerate(self.rows):
            if group != heading:
                heading, y = group, y + _GROUP
                texts.append(words("group", (0, y - 8), group, WIDTH))
            middle = y + self.height / 2 + 2
            drawn += marks(number, made, middle)
            texts.append(words("name", (0, middle + 4), name, names))
            texts.append(words("figures end", (WIDTH, middle + 4), shown, figures))
            y += self.height + 4
        grid = [line("grid", (made(tick), top), (made(tick), y)) for tick in made.ticks]
        if self.axis.reference is not None:
            x = made(self.axis.reference)
            grid.append(line("reference", (x, top), (x, y)))
        numbers = [*across(made, y + 16), *(across(made, top - 8) if is_long else ())]
        below = label_across(self.axis.label, made, y + 34)
        return y + 42, "".join([head, *grid, *drawn, *texts, *numbers, below])


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
    entries = [] if second is None else [("dot", second[0]), ("other", second[1])]
    if any(is_unclear(row, axis) for row in rows):
        entries.append(("dot unclear", f"the interval holds {axis.text(axis.reference)}"))
    reach = [value for row in rows for value in (row.value, row.low, row.high, row.other)]
    figures = [
        column.text(row.interval)
        if row.other is None
        else f"{axis.text(row.value)} → {axis.text(row.other)}"
        for row in rows
    ]

    def marks(number: int, made: Scale, y: float) -> Iterator[str]:
        row, tip = rows[number], f"{rows[number].name}: {figures[number]}"
        if row.value is None or not is_number(row.value):
            return
        if row.low is not None and row.high is not None and not math.isnan(row.low + row.high):
            yield line("whisker", (made(row.low), y), (made(row.high), y))
        if row.other is not None and is_number(row.other):
            yield mark("other", (made(row.other), y), tip)
        yield mark("dot unclear" if is_unclear(row, axis) else "dot", (made(row.value), y), tip)

    named = [(row.name, text, row.group) for row, text in zip(rows, figures, strict=True)]
    drawn = _Rows(named, axis, reach, entries).draw(marks)
    return Drawing(
        title, message or _of_values(rows, axis), _table(title, rows, axis, second), *drawn
    )


def is_unclear(row: NamedValue, axis: Axis) -> bool:
    """Whether the interval holds the reference."""
    if axis.reference is None or row.low is None or row.high is None:
        return False
    return row.low <= axis.reference <= row.high


def _table(
    title: str, rows: Sequence[NamedValue], axis: Axis, second: tuple[str, str] | None = None
) -> Table:
    first, other = second or (axis.label, "")
    ends = axis.format if any(row.low is not None for row in rows) else ""
    columns: dict[Column, list[Cell]] = {
        Column("group", align="left"): [row.group for row in rows],
        Column("name", title=" ", align="left"): [row.name for row in rows],
        replace(axis.column(), name=first, ends=ends): [row.interval for row in rows],
        replace(axis.column(), name=other): [row.other for row in rows],
    }
    used = {c: cells for c, cells in columns.items() if c.name not in {"", "group"} or any(cells)}
    return Table(title, list(used), list(zip(*used.values(), strict=True)))


def _of_values(rows: Sequence[NamedValue], axis: Axis) -> str:
    """What the chart shows, in words: the highest and the lowest, and what is clear."""
    defined = [row for row in rows if is_number(row.value)]
    if not defined:
        return f"{axis.label}: no value is defined."
    column = axis.column(with_ends=True)
    ordered = sorted(defined, key=lambda row: -(row.value or 0.0))
    ends = ordered[0], ordered[-1]
    first, last = (f"{row.name}, {column.text(row.interval)}" for row in ends)
    message = f"Highest {axis.label}: {first}; lowest: {last}; {len(defined):,} in all."
    if len(defined) == 1:
        message = f"{axis.label} of {first}."
    elif axis.text(ends[0].value) == axis.text(ends[1].value):
        message = f"{axis.label} is {axis.text(ends[0].value)} in all {len(rows):,} rows."
    if axis.reference is not None and any(row.low is not None for row in defined):
        clear = sum(not is_unclear(row, axis) for row in defined if row.low is not None)
        verb = "excludes" if clear == 1 else "exclude"
        of = count_of(len(defined), "interval")
        message += f" {clear:,} of {of} {verb} {axis.text(axis.reference)}."
    undefined = len(rows) - len(defined)
    return message + (f" {count_of(undefined, 'value')} undefined." if undefined else "")


def shares(title: str, rows: Sequence[NamedCounts], parts: Sequence[str]) -> Drawing:
    """Each row's parts as shares of the row; parts have an order, as grades, and get darker."""
    last = max(len(parts) - 1, 1)
    kinds = [f"level{round(i * (_LEVELS - 1) / last)}" for i in range(len(parts))]

    def marks(number: int, made: Scale, y: float) -> Iterator[str]:
        row, before = rows[number], 0.0
        for part, kind, count in zip(parts, kinds, row.counts, strict=True):
            if not count:
                continue
            share = percent(count, sum(row.counts))
            left, right = (made(x / sum(row.counts)) for x in (before, before + count))
            before += count
            tip = f"{row.name}, {part}: {count:,.0f} ({share})"
            yield rectangle(f"part {kind}", (left, y - 10), (right - left, 20), tip)
            if length(share) + 4 <= right - left:
                yield words(f"on {kind} middle", ((left + right) / 2, y + 4), share)

    named = [(row.name, f"n = {sum(row.counts):,.0f}", "") for row in rows]
    entries = [(f"part {kind}", part) for part, kind in zip(parts, kinds, strict=True)]
    axis = Axis("share of the row", ".0%", 0.0, 1.0)
    drawn = _Rows(named, axis, [], entries, 22).draw(marks)
    columns = [Column("name", title=" ", align="left"), *(Column(p, format=".0f") for p in parts)]
    columns += [Column(f"{part} share", format=".0%") for part in parts]
    cells: list[Row] = [
        [row.name, *row.counts, *(c / (sum(row.counts) or math.nan) for c in row.counts)]
        for row in rows
    ]
    return Drawing(title, _of_shares(rows, parts), Table(title, columns, cells), *drawn)


def _of_shares(rows: Sequence[NamedCounts], parts: Sequence[str]) -> str:
    """Each row's largest part, or, of many rows, that of all together."""
    if len(rows) > 4:
        totals = [sum(counts) for counts in zip(*(row.counts for row in rows), strict=True)]
        rows = [NamedCounts(f"All {count_of(len(rows), 'row')}", totals)]
    return " ".join(_largest(row, parts) for row in rows) or "There are no rows."


def _largest(row: NamedCounts, parts: Sequence[str]) -> str:
    total = sum(row.counts)
    if not total:
        return f"{row.name}: none."
    count, part = max(zip(row.counts, parts, strict=True), key=lambda pair: pair[0])
    return f"{row.name}: most often {part}, {percent(count, total)} of {total:,.0f}."


def strip(title: str, rows: Sequence[NamedValues], axis: Axis) -> Drawing:
    """Every value as a dot, stacked where values are close, with a line at each row's median.

    Dots of a stack that would be higher than the row lie over one another. Of very many values a
    stack is one upright line.
    """

    def marks(number: int, made: Scale, y: float) -> Iterator[str]:
        row, base = rows[number], y + _STACK / 2
        yield line("base", (made.start, base), (made.end, base))
        stacks: dict[int, list[tuple[str, float]]] = {}
        for pair in row.defined:
            stacks.setdefault(round((made(pair[1]) - made.start) / _DOT), []).append(pair)
        pitch = min(_DOT, _STACK / max(map(len, stacks.values()), default=1))
        for column, stack in stacks.items():
            x, low = made.start + column * _DOT, base - _DOT / 2
            if len(row.defined) > _MOST_NAMED:
                yield path("dots", [(x, low), (x, low - (len(stack) - 1) * pitch)])
                continue
            for level, (name, value) in enumerate(stack):
                tip = f"{name}: {axis.text(value)}"
                yield mark("dot", (x, low - level * pitch), tip, _DOT / 2 - 0.4)
        if row.quartiles[1] is not None:
            x = made(row.quartiles[1])
            yield line("median", (x, base - _STACK), (x, base + 4))

    named = [(row.name, f"median {axis.text(row.quartiles[1])}", "") for row in rows]
    reach = [value for row in rows for _, value in row.defined]
    drawn = _Rows(named, axis, reach, [("median", "median")], _STACK + 8).draw(marks)
    names = ("values", "undefined", "least", "first quartile", "median", "third quartile", "most")
    columns = [
        Column("name", title=" ", align="left"),
        *(Column(name, format=axis.format) for name in names),
    ]
    cells = [_summary(row) for row in rows]
    return Drawing(title, _of_many(rows, axis), Table(title, columns, cells), *drawn)


def _summary(row: NamedValues) -> Row:
    values: list[float | None] = [value for _, value in row.defined] or [None]
    defined = len(row.defined)
    return [row.name, defined, len(row.values) - defined, values[0], *row.quartiles, values[-1]]


def _of_many(rows: Sequence[NamedValues], axis: Axis) -> str:
    """The number of values, the median and the middle half of the first rows."""
    parts = []
    for row in rows[:3]:
        low, median, high = map(axis.text, row.quartiles)
        of = f"{count_of(len(row.defined), 'value')} of {axis.label}"
        half = f"median {median}, half of them between {low} and {high}"
        parts.append(f"{row.name}: {of}, {half}." if row.defined else f"{row.name}: no value.")
    if len(rows) > 3:
        parts.append(f"{count_of(len(rows) - 3, 'more row')}.")
    return " ".join(parts) or "There are no rows."
