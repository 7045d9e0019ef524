"""A value over time with its limits: a control chart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from itertools import groupby

from labeler.report.charts.drawing import (
    WIDE,
    Axis,
    Canvas,
    Drawing,
    counted,
    drawing,
    is_number,
)
from labeler.report.charts.legend import Entry, legend, triangle
from labeler.report.charts.svg import dot, fitted, length, line, path, words
from labeler.report.charts.ticks import Scale, scale
from labeler.report.table import Column, Ends, Interval, Row, Table


@dataclass(frozen=True)
class Moment:
    """A value at a time, with its interval, and the limits that hold for it.

    `at` places it along the axis: a date, a time or a number, of one kind in all moments; without
    it the moments stand at equal distances. `smoothed` is what is compared with the limits where
    that is not the value itself, such as an exponentially weighted mean.
    """

    label: str
    value: float | None
    interval: Ends = Ends(None, None)  # noqa: RUF009 - a tuple, which nobody can change
    limits: Ends = Ends(None, None)  # noqa: RUF009 - the same
    smoothed: float | None = None
    at: date | float | None = None

    @property
    def compared(self) -> float | None:
        """What is held against the limits."""
        return self.value if self.smoothed is None else self.smoothed

    @property
    def is_out(self) -> bool:
        """Whether it lies outside its limits."""
        value = self.compared
        if value is None or math.isnan(value):
            return False
        low, high = self.limits
        return (low is not None and value < low) or (high is not None and value > high)


def control(title: str, moments: Sequence[Moment], axis: Axis, message: str = "") -> Drawing:
    """A line through the values, a band of their intervals, and dashed lines for the limits.

    The axis's reference is the center line. What lies outside its limits is a triangle with its
    label.
    """
    words_of = message or control_message(moments, axis)
    draw = partial(_draw, moments, axis)
    return drawing(title, words_of, _table(title, moments, axis), draw)


@dataclass(frozen=True)
class _Plane:
    moments: Sequence[Moment]
    across: tuple[float, ...]
    up: Scale

    def points(self, values: Sequence[float | None]) -> Iterator[list[tuple[float, float]]]:
        """The points of a line, in pieces without a gap."""
        pairs = list(zip(self.across, values, strict=True))
        for defined, piece in groupby(pairs, key=lambda pair: is_number(pair[1])):
            if defined:
                yield [(x, self.up(value)) for x, value in piece if value is not None]


def _draw(moments: Sequence[Moment], axis: Axis, width: int) -> Canvas:
    label = words("axis", (0, 13), fitted(axis.label, width), axis.label)
    head, top = legend(_entries(moments, axis), 0, width, 22)
    bottom = top + (230.0 if width == WIDE else 190.0)
    reach = [v for m in moments for v in (m.value, m.smoothed, *m.interval, *m.limits)]
    up = scale(axis, reach, bottom, top + 10)
    left = max(map(length, up.labels)) + 10
    plane = _Plane(moments, _across(moments, left + 12, width - 14), up)
    parts = [label, head, *_band(plane)]
    for tick, text in zip(up.ticks, up.labels, strict=True):
        parts.append(line("grid", (left, up(tick)), (width, up(tick))))
        parts.append(words("tick end", (left - 6, up(tick) + 4), text))
    if axis.reference is not None:
        parts.append(line("reference", (left, up(axis.reference)), (width, up(axis.reference))))
    parts += [*_lines(plane), *_dots(plane, axis), *_times(plane, bottom, width)]
    return Canvas(bottom + 28, "".join(parts))


def _entries(moments: Sequence[Moment], axis: Axis) -> list[Entry]:
    """A legend of what is drawn, where that is more than one line."""
    entries = [("line faint", "value"), ("line", "smoothed")] if _is_smoothed(moments) else []
    if any(is_number(moment.interval.low) for moment in moments):
        entries.append(("band", "interval"))
    if any(is_number(end) for moment in moments for end in moment.limits):
        entries.append(("limit", "limit"))
    if any(moment.is_out for moment in moments):
        entries.append(("out", "outside"))
    return entries + [("reference", axis.text(axis.reference))] * (axis.reference is not None)


def _is_smoothed(moments: Sequence[Moment]) -> bool:
    return any(moment.smoothed is not None for moment in moments)


def _across(moments: Sequence[Moment], start: float, end: float) -> tuple[float, ...]:
    """The pixel of each moment along the axis of time."""
    places = [_number(moment.at) for moment in moments]
    numbers = (
        [float(i) for i in range(len(moments))] if None in places else [p or 0.0 for p in places]
    )
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    if high == low:
        return tuple((start + end) / 2 for _ in numbers)
    return tuple(start + (number - low) / (high - low) * (end - start) for number in numbers)


def _number(at: date | float | None) -> float | None:
    if isinstance(at, datetime):
        return at.timestamp()
    return float(at.toordinal() * 86400) if isinstance(at, date) else at


def _band(plane: _Plane) -> Iterator[str]:
    """The area of the intervals, where they are defined."""
    low = [moment.interval.low for moment in plane.moments]
    high = [moment.interval.high for moment in plane.moments]
    both = [is_number(a) and is_number(b) for a, b in zip(low, high, strict=True)]
    lows = plane.points([value if ok else None for value, ok in zip(low, both, strict=True)])
    highs = plane.points([value if ok else None for value, ok in zip(high, both, strict=True)])
    for below, above in zip(lows, highs, strict=True):
        if len(below) == 1:
            yield line("whisker", below[0], above[0])
        else:
            yield path("band", [*above, *reversed(below)])


def _lines(plane: _Plane) -> Iterator[str]:
    for ends in ([m.limits.low for m in plane.moments], [m.limits.high for m in plane.moments]):
        for piece in plane.points(ends):
            yield path("limit", piece if len(piece) > 1 else _widened(piece[0]))
    for piece in plane.points([moment.value for moment in plane.moments]):
        yield path("line faint" if _is_smoothed(plane.moments) else "line", piece)
    for piece in plane.points([moment.smoothed for moment in plane.moments]):
        yield path("line", piece)


def _widened(point: tuple[float, float]) -> list[tuple[float, float]]:
    return [(point[0] - 12, point[1]), (point[0] + 12, point[1])]


def _dots(plane: _Plane, axis: Axis) -> Iterator[str]:
    """A dot for each moment; a triangle for one outside, with its label if there is room."""
    radius = 3.5 if len(plane.moments) <= 60 else 2.0
    free = -math.inf
    for moment, x in zip(plane.moments, plane.across, strict=True):
        value = moment.compared
        if value is None or not is_number(value):
            continue
        y, tip = plane.up(value), f"{moment.label}: {axis.text(value)}"
        if not moment.is_out:
            yield dot("dot", (x, y), radius, tip)
            continue
        yield triangle((x, y), tip)
        half = length(moment.label) / 2
        middle = min(max(x, plane.across[0] + half - 12), plane.across[-1] - half + 12)
        if middle - half > free:
            free = middle + half + 6
            below = moment.limits.low is not None and value < moment.limits.low
            base = y + 22 if below and y + 26 < plane.up.start else y - 11
            yield words("alarm middle", (middle, base), moment.label)


def _times(plane: _Plane, bottom: float, width: float) -> Iterator[str]:
    """The labels of as many moments as have room, the last one first among them."""
    taken = math.inf
    for moment, x in reversed(list(zip(plane.moments, plane.across, strict=True))):
        text = fitted(moment.label, width / 2)
        half = length(text) / 2
        middle = min(x, width - half)
        if middle + half + 12 > taken or middle - half < 0:
            continue
        taken = middle - half
        yield line("tickmark", (x, bottom), (x, bottom + 5))
        yield words("tick middle", (middle, bottom + 20), text)


def _table(title: str, moments: Sequence[Moment], axis: Axis) -> Table:
    spec = axis.format
    columns = [Column("when", align="left"), Column(axis.label, format=spec, ends=spec)]
    rows: list[Row] = [(m.label, Interval(m.value, *m.interval)) for m in moments]
    if _is_smoothed(moments):
        columns.append(Column("smoothed", format=spec))
        rows = [(*row, m.smoothed) for row, m in zip(rows, moments, strict=True)]
    columns += [
        Column("limits", format="", ends=spec),
        Column("outside", align="left", undefined=""),
    ]
    rows = [
        (*row, m.limits, "outside" if m.is_out else "")
        for row, m in zip(rows, moments, strict=True)
    ]
    return Table(title, columns, rows)


def control_message(moments: Sequence[Moment], axis: Axis) -> str:
    """The last value, and what lies outside its limits, in words."""
    defined = [moment for moment in moments if is_number(moment.compared)]
    if not defined:
        return f"{axis.label}: no value is defined."
    last, out = defined[-1], [moment for moment in defined if moment.is_out]
    times = counted(len(defined), "time")
    words_of = f"{axis.label} at {times}, last {axis.text(last.compared)} ({last.label})."
    if all(moment.limits == Ends(None, None) for moment in defined):
        return words_of
    if not out:
        return f"{words_of} All lie within their limits."
    names = ", ".join(moment.label for moment in out[-3:])
    shown = "" if len(out) <= 3 else "among them "
    return f"{words_of} {len(out)} of {len(defined)} outside their limits: {shown}{names}."
