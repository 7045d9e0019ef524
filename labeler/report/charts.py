"""Charts as SVG, made of plain numbers, with their message in words.

A function takes a title, what is drawn and the `Axis` that it is drawn on, and returns a `Drawing`:
the chart, and what it says to who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from labeler.report.svg import length, line, mark, svg, words
from labeler.report.table import interval_text, number_text

WIDTH = 720
"""Pixels of a chart, which fill a page's column; a narrower screen scrolls it."""
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """What is measured along an axis: its label, and how its numbers are written.

    `reference` is a value to compare with, such as 0 for differences, which is drawn as a line.
    """

    label: str
    format: str = ".3f"
    reference: float | None = None

    def text(self, row: NamedValue) -> str:
        """A value with its interval in the axis's format."""
        return interval_text(row, self.format)


@dataclass(frozen=True)
class Drawing:
    """A chart: its title, its message in a sentence or two, and its SVG element."""

    title: str
    message: str
    height: float
    parts: str

    @property
    def svg(self) -> str:
        """The chart as an element of a page."""
        return svg(WIDTH, self.height, self.parts, (self.title, self.message))


@dataclass(frozen=True)
class Scale:
    """Values from `least` to `most` on pixels from `start` to `end`, with ticks between."""

    least: float
    most: float
    start: float
    end: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def __call__(self, value: float) -> float:
        """The pixel of a value; one beyond the scale lies at its end."""
        share = (min(max(value, self.least), self.most) - self.least) / (self.most - self.least)
        return self.start + share * (self.end - self.start)


def scale(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """The scale on which all values can be drawn, and the reference of the axis."""
    every = (*values, axis.reference)
    reached = [value for value in every if value is not None and math.isfinite(value)]
    low, high = min(reached, default=0.0), max(reached, default=1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):  # some room on both sides
        margin = abs(low) / 10 or 1.0
        low, high = low - margin, low + margin
    step = round_step((high - low) / (7 if end - start > 400 else 4))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    labels = tuple(tick_text(tick, step) for tick in ticks)
    return Scale(ticks[0], ticks[-1], start, end, ticks, labels)


def round_step(least: float) -> float:
    """The least of 1, 2, 2.5, 5 times a power of ten that is no less.

    >>> round_step(0.13), round_step(3), round_step(0.22)
    (0.2, 5.0, 0.25)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in _ROUND if factor * power >= least * (1 - 1e-9))


def tick_text(value: float, step: float) -> str:
    """A tick's number with the decimals that its step needs; a long one as a power of ten."""
    if not 1e-9 < step < 1e9:
        return format(value, ".3g")
    decimals = next(n for n in range(12) if abs(round(step, n) - step) <= 1e-6 * step)
    return number_text(value, f",.{decimals}f")


def across(made: Scale, y: float) -> Iterator[str]:
    """The numbers of the ticks along the axis, none beyond the chart's width."""
    for tick, label in zip(made.ticks, made.labels, strict=True):
        half = length(label) / 2
        yield words("tick middle", (min(max(made(tick), half), WIDTH - half), y), label)


# Rows on one axis: values with their intervals.

_MARGIN, _HEIGHT = 24.0, 18.0


class NamedValue(NamedTuple):
    """A value with its name and the ends of its interval; infinite ones reach to the chart's."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def intervals(
    title: str,
    rows: Sequence[NamedValue],
    axis: Axis,
) -> Drawing:
    """Values with their intervals, in the order given.

    A line marks the axis's reference, if it has one.
    """
    return Drawing(title, _of_values(rows, axis), *_draw(rows, axis))


def _draw(rows: Sequence[NamedValue], axis: Axis) -> tuple[float, str]:
    """The height of the chart and its elements."""
    figures = [*map(axis.text, rows)]
    names = min(max((length(row.name) for row in rows), default=0), 0.34 * WIDTH) + 2
    numbers = min(max(map(length, figures), default=0), 0.36 * WIDTH) + 2
    reach = [value for row in rows for value in row[1:]]
    start, end = max(names + 14, _MARGIN), WIDTH - max(numbers + 14, _MARGIN)
    made = scale(axis, reach, start, end)
    y = top = 8.0
    drawn = list[str]()
    for row, figure in zip(rows, figures, strict=True):
        middle = y + _HEIGHT / 2 + 2
        drawn += _marks(row, f"{row.name}: {figure}", made, middle)
        drawn.append(words("name", (0, middle + 4), row.name, names))
        drawn.append(words("figures end", (WIDTH, middle + 4), figure, numbers))
        y += _HEIGHT + 4
    grid = [line("grid", (made(tick), top), (made(tick), y)) for tick in made.ticks]
    if axis.reference is not None:
        grid.append(line("reference", (made(axis.reference), top), (made(axis.reference), y)))
    middle = (made.start + made.end) / 2
    below = words("axis middle", (middle, y + 34), axis.label, 2 * min(middle, WIDTH - middle))
    return y + 42, "".join([*grid, *drawn, *across(made, y + 16), below])


def _marks(row: NamedValue, tip: str, made: Scale, y: float) -> Iterator[str]:
    if row.value is None or not math.isfinite(row.value):
        return
    if row.low is not None and row.high is not None and not math.isnan(row.low + row.high):
        yield line("whisker", (made(row.low), y), (made(row.high), y))
    yield mark("dot", (made(row.value), y), tip)


def _of_values(rows: Sequence[NamedValue], axis: Axis) -> str:
    """What the chart shows, in words: the highest and the lowest."""
    defined = [row for row in rows if row.value is not None and math.isfinite(row.value)]
    if not defined:
        return f"{axis.label}: no value is defined."
    ordered = sorted(defined, key=lambda row: -(row.value or 0.0))
    first, last = (f"{row.name}, {axis.text(row)}" for row in (ordered[0], ordered[-1]))
    if len(defined) == 1:
        return f"{axis.label}: {first}."
    return f"Highest {axis.label}: {first}; lowest: {last}; {len(defined):,} in all."
