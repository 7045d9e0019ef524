"""Charts of two axes: points by two values, and lines, among them a value over time with limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

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
    scale,
)
from labeler.report.charts.svg import SIZE, fitted, length, line, mark, path, words
from labeler.report.table import Column, Ends, Interval, Row, Table

Box = tuple[float, float, float, float]


class Point(NamedTuple):
    """Two values, the ends of the interval of the second, and a name."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    name: str = ""


@dataclass(frozen=True)
class Series:
    """Points of one kind: the classes of their marks and of the line that joins them, or none.

    Intervals are upright lines. The names of points stand beside them where there is room, if they
    are `named`; a class of these words may be said.
    """

    name: str
    points: Sequence[Point]
    mark: str = "dot"
    line: str = ""
    named: str = ""


def plane(
    title: str,
    series: Sequence[Series],
    axes: Sequence[Axis],
    message: str = "",
    *,
    diagonal: bool = False,
) -> Drawing:
    """Points and lines by two values, of which the first axis goes along and the second upward.

    With `diagonal` both have one scale, and a line stands where the two are equal.
    """
    marked = [(each.name, point) for each in series if each.mark for point in each.points]
    xs = [point.x for _, point in marked]
    ys = [y for _, point in marked for y in (point.y, point.low, point.high)]
    if diagonal:
        both = scale(axes[0], [*xs, *ys], 0, 300)
        axes = tuple(replace(axis, least=both.least, most=both.most) for axis in axes)
    rightward, upward = axes
    side = 420.0 if diagonal else 300.0

    def along(left: float) -> Scale:
        return scale(rightward, xs, left, left + side if diagonal else WIDTH - 150)

    drawn = _Plane(series, upward, ys, along, side, rightward.label, diagonal).draw()
    points = f"{count_of(len(marked), 'point')} by {rightward.label} and {upward.label}."
    columns = [
        *(Column(name, title=" ", align="left") for name in ("of", "name")),
        rightward.column(),
        upward.column(with_ends=any(point.low is not None for _, point in marked)),
    ]
    rows: list[Row] = [(of, p.name, p.x, Interval(p.y, p.low, p.high)) for of, p in marked]
    return Drawing(title, message or points, Table(title, columns, rows), *drawn)


@dataclass(frozen=True)
class _Plane:
    """What is drawn: its upward axis and all values on that, the scale along, height and label."""

    series: Sequence[Series]
    axis: Axis
    values: Sequence[float | None]
    along: Callable[[float], Scale]
    side: float
    label: str = ""
    diagonal: bool = False

    def draw(self) -> tuple[float, str]:
        """The height of the chart and its elements."""
        axis = self.axis
        entries = [(each.mark or each.line, each.name) for each in self.series if each.name]
        if axis.reference is not None:
            entries.append(("reference", axis.text(axis.reference)))
        head, top = legend(entries if len(entries) > 1 else [], 0, 22)
        bottom = top + 10 + self.side
        up = scale(axis, self.values, bottom, top + 10)
        left = max(map(length, up.labels)) + 10
        along = self.along(left + 12)
        right = along.end + 12
        parts = [words("axis", (0, 13), axis.label, WIDTH), head]
        for tick, text in zip(up.ticks, up.labels, strict=True):
            parts.append(line("grid", (left, up(tick)), (right, up(tick))))
            parts.append(words("tick end", (left - 6, up(tick) + 4), text))
        parts += [line("grid", (along(x), up.start), (along(x), up.end)) for x in along.ticks]
        if axis.reference is not None:
            y = up(axis.reference)
            parts.append(line("reference", (left, y), (right, y)))
        if self.diagonal:
            parts.append(line("reference", (along.start, up.start), (along.end, up.end)))
        for each in self.series:
            parts += _series(each, along, up)
        parts += [*_names(self.series, along, up), *across(along, bottom + 20)]
        if self.label:
            parts.append(label_across(self.label, along, bottom + 38))
        return bottom + (46 if self.label else 28), "".join(parts)


def _series(each: Series, along: Scale, up: Scale) -> Iterator[str]:
    """The lines and marks of one kind of points, and their intervals."""
    for p in each.points:
        if p.low is not None and p.high is not None and is_number(p.low) and is_number(p.high):
            yield line("whisker faint", (along(p.x), up(p.low)), (along(p.x), up(p.high)))
    for is_defined, run in groupby(each.points, lambda p: is_number(p.y)):
        spots = [(along(p.x), up(p.y or 0.0)) for p in run] if is_defined and each.line else []
        if len(spots) == 1 and each.line == "limit":
            x, y = spots[0]
            spots = [(x - 12, y), (x + 12, y)]
        yield path(each.line, spots)
    radius = 4.0 if len(each.points) <= 60 else 2.0
    for p in each.points if each.mark else ():
        if p.y is not None and is_number(p.y):
            yield mark(each.mark, (along(p.x), up(p.y)), f"{p.name}: {p.y:.4g}", radius)


def _names(series: Sequence[Series], along: Scale, up: Scale) -> Iterator[str]:
    """The names that fit beside their points and over no other point or name."""
    spots = [
        (each, p.name, (along(p.x), up(p.y)))
        for each in series
        if each.mark
        for p in each.points
        if p.y is not None and is_number(p.y)
    ]
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for _, _, (x, y) in spots]
    for each, text, (x, y) in spots:
        wide = min(length(text), 170)
        corners = (
            (x + 8, y - 6),
            (x - 8 - wide, y - 6),
            *((x - wide / 2, y + far) for far in (-19, 7, -27, 15)),
        )
        for left, top in corners if each.named else ():
            box = (left, top, left + wide, top + SIZE)
            if _is_free(box, taken, (along.start - 12, up.end - 8, WIDTH, up.start)):
                taken.append(box)
                yield words(each.named, (left, top + SIZE - 2), text, wide)
                break


def _is_free(box: Box, taken: Sequence[Box], inside: Box) -> bool:
    left, top, right, bottom = box
    if left < inside[0] or top < inside[1] or right > inside[2] or bottom > inside[3]:
        return False
    return all(right < a or left > c or bottom < b or top > d for a, b, c, d in taken)


@dataclass(frozen=True)
class Moment:
    """A value at a time, and the limits that hold for it.

    `smoothed` is what is compared with the limits where that is not the value itself, such as an
    exponentially weighted mean.
    """

    label: str
    value: float | None
    limits: Ends = Ends(None, None)  # noqa: RUF009 - a tuple, which nobody can change
    smoothed: float | None = None

    @property
    def compared(self) -> float | None:
        """What is held against the limits."""
        return self.value if self.smoothed is None else self.smoothed

    @property
    def is_out(self) -> bool:
        """Whether it lies outside its limits."""
        value, (low, high) = self.compared, self.limits
        if value is None or math.isnan(value):
            return False
        return (low is not None and value < low) or (high is not None and value > high)


def control(title: str, moments: Sequence[Moment], axis: Axis, message: str = "") -> Drawing:
    """A line through the values, in their order, and dashed lines for the limits.

    The axis's reference is the center line. What lies outside its limits is a triangle with its
    label.
    """

    def series(name: str, values: Sequence[float | None], kind: str, line_of: str) -> Series:
        labels = (moment.label for moment in moments)
        named = [Point(x, v, name=n) for x, (v, n) in enumerate(zip(values, labels, strict=True))]
        return Series(name, named, kind, line_of)

    is_smoothed = any(moment.smoothed is not None for moment in moments)
    inside = [None if m.is_out else m.compared for m in moments]
    outside = [m.compared if m.is_out else None for m in moments]
    parts = [
        series("limit", [m.limits.low for m in moments], "", "limit"),
        series("", [m.limits.high for m in moments], "", "limit"),
        series("value", [m.value for m in moments], "", "line faint" if is_smoothed else "line"),
        series("smoothed", [m.smoothed for m in moments], "", "line"),
        series("", inside, "dot", ""),
        replace(series("outside", outside, "out", ""), named="alarm"),
    ]
    used = [s for s in parts if any(p.y is not None for p in s.points)]
    reach = [v for m in moments for v in (m.value, m.smoothed, *m.limits)]

    def along(left: float) -> Scale:
        return _times([moment.label for moment in moments], left)

    drawn = _Plane(used, axis, reach, along, 230.0).draw()
    columns = [
        Column("when", align="left"),
        axis.column(),
        Column("smoothed", format=axis.format, only="" if is_smoothed else "programs"),
        Column("limits", format="", ends=axis.format),
        Column("outside", align="left", undefined=""),
    ]
    rows: list[Row] = [
        (m.label, m.value, m.smoothed, m.limits, "outside" * m.is_out) for m in moments
    ]
    return Drawing(
        title, message or _of_moments(moments, axis), Table(title, columns, rows), *drawn
    )


def _times(labels: Sequence[str], left: float) -> Scale:
    """A scale of moments, with the labels of as many as have room, the last one first."""
    made = Scale(-1, max(len(labels), 1), left, WIDTH - 14, (), ())
    ticks, shown, taken = [], [], math.inf
    for at, label in reversed(list(enumerate(labels))):
        text = fitted(label, WIDTH / 2)
        half = length(text) / 2
        middle = min(made(at), WIDTH - half)
        if middle + half + 12 <= taken and middle - half >= 0:
            taken = middle - half
            ticks.append(float(at))
            shown.append(text)
    return replace(made, ticks=tuple(ticks), labels=tuple(shown))


def _of_moments(moments: Sequence[Moment], axis: Axis) -> str:
    """The last value, and what lies outside its limits, in words."""
    defined = [moment for moment in moments if is_number(moment.compared)]
    if not defined:
        return f"{axis.label}: no value is defined."
    last, out = defined[-1], [moment for moment in defined if moment.is_out]
    times = count_of(len(defined), "time")
    words_of = f"{axis.label} at {times}, last {axis.text(last.compared)} ({last.label})."
    if all(moment.limits == Ends(None, None) for moment in defined):
        return words_of
    if not out:
        return f"{words_of} All lie within their limits."
    names = ", ".join(moment.label for moment in out[-3:])
    among = "" if len(out) <= 3 else "among them "
    return f"{words_of} {len(out)} of {len(defined)} outside their limits: {among}{names}."
