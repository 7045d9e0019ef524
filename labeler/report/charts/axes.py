"""What every chart has: an axis with round ticks, a legend, a message, and its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from labeler.report.charts.svg import length, svg, words
from labeler.report.table import Column, Table, number_text

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

    def text(self, value: float | None) -> str:
        """A value in the axis's format."""
        return self.column().text(value)

    def column(self, *, with_ends: bool = False) -> Column:
        """The column of a table that holds what is measured."""
        ends = self.format if with_ends else ""
        return Column(self.label, format=self.format, ends=ends, undefined="undefined")


@dataclass(frozen=True)
class Drawing:
    """A chart: its title, its message in a sentence or two, its numbers, and its SVG element."""

    title: str
    message: str
    table: Table
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


def is_number(value: float | None) -> bool:
    """Whether a value can be drawn: neither `None` nor nan nor infinite."""
    return value is not None and math.isfinite(value)


def scale(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """The scale on which all values can be drawn, and the reference of the axis."""
    named = (*values, axis.reference)
    reached = [value for value in named if value is not None and math.isfinite(value)]
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


def label_across(label: str, made: Scale, y: float) -> str:
    """What the axis measures, below its middle, within the chart."""
    middle = (made.start + made.end) / 2
    return words("axis middle", (middle, y), label, 2 * min(middle, WIDTH - middle))
