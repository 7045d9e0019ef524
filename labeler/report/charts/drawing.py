"""What a chart is: one drawing for wide and one for narrow pages, its message, and its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labeler.report.charts.svg import svg
from labeler.report.table import Column, Table, number_text

WIDE, NARROW = 720, 340
"""Widths in pixels: of a page's column on a screen or on paper, and of a telephone."""


@dataclass(frozen=True)
class Axis:
    """What is measured along an axis: its label, how its numbers are written, and its ends.

    An end that is `None` follows from what is drawn. `reference` is a value to compare with, such
    as 0 for differences, which is drawn as a line.
    """

    label: str
    format: str = ".3f"
    least: float | None = None
    most: float | None = None
    reference: float | None = None

    def text(self, value: float | None) -> str:
        """A value in the axis's format."""
        return self.column().text(value)

    def column(self, *, with_ends: bool = False) -> Column:
        """The column of a table that holds what is measured."""
        ends = self.format if with_ends else ""
        return Column(self.label, format=self.format, ends=ends, undefined="undefined")


@dataclass(frozen=True)
class NamedValue:
    """A value with its name and the ends of its interval; an infinite end is open.

    `group` is the heading under which it stands, `other` a second value beside it.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    group: str = ""
    other: float | None = None


@dataclass(frozen=True)
class Drawing:
    """A chart: its title, its message in a sentence or two, its numbers, and the drawings.

    `wide` and `narrow` are the same as SVG elements for pages of either width.
    """

    title: str
    message: str
    table: Table
    wide: str
    narrow: str


@dataclass(frozen=True)
class Canvas:
    """What is drawn in a width, and the height that it takes."""

    height: float
    parts: str


def drawing(title: str, message: str, table: Table, draw: Callable[[int], Canvas]) -> Drawing:
    """The chart that `draw` draws in a given width, in both widths."""
    elements = []
    for width in (WIDE, NARROW):
        canvas = draw(width)
        elements.append(svg(width, canvas.height, canvas.parts, (title, message)))
    return Drawing(title, message, table, elements[0], elements[1])


def is_number(value: float | None) -> bool:
    """Whether a value can be drawn: neither `None` nor nan nor infinite."""
    return value is not None and math.isfinite(value)


def counted(number: int, thing: str, things: str = "") -> str:
    """A number and what it counts, in the singular or the plural.

    >>> counted(1, "query", "queries"), counted(1200, "system")
    ('1 query', '1,200 systems')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def undefined_text(number: int) -> str:
    """The last sentence of a message, where values are undefined."""
    return f" {counted(number, 'value')} undefined." if number else ""


def all_equal(rows: Sequence[NamedValue], axis: Axis) -> str:
    """The message of several rows that all have one value, else nothing."""
    texts = {axis.text(row.value) for row in rows}
    if len(rows) < 2 or len(texts) > 1:
        return ""
    return f"{axis.label} is {texts.pop()} in all {len(rows):,} rows."


def percent(part: float, whole: float) -> str:
    """A share in whole percent; what is neither none nor all never rounds to 0% or 100%.

    >>> percent(1, 1000), percent(1, 3), percent(0, 0)
    ('<1%', '33%', '-')
    """
    if not whole:
        return "-"
    if 0 < part / whole < 0.005:
        return "<1%"
    if 0.995 < part / whole < 1:
        return ">99%"
    return f"{number_text(100 * part / whole, '.0f')}%"
