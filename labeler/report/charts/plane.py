"""Charts of two axes: points by two values, and lines."""

from __future__ import annotations

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
from labeler.report.charts.svg import SIZE, length, line, mark, path, words
from labeler.report.table import Column, Interval, Row, Table

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
