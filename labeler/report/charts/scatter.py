"""Points by two values, with names where there is room for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from labeler.report.charts.drawing import (
    WIDE,
    Axis,
    Canvas,
    Drawing,
    counted,
    drawing,
    is_number,
)
from labeler.report.charts.rows import label_across, numbers_across
from labeler.report.charts.svg import SIZE, dot, fitted, length, line, words
from labeler.report.charts.ticks import Scale, scale
from labeler.report.table import Column, Table

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Spot:
    """A name and its two values."""

    name: str
    x: float | None
    y: float | None

    @property
    def is_drawn(self) -> bool:
        """Whether both values are numbers."""
        return is_number(self.x) and is_number(self.y)


def scatter(
    title: str,
    spots: Sequence[Spot],
    axes: tuple[Axis, Axis],
    message: str = "",
    *,
    diagonal: bool = False,
) -> Drawing:
    """Points by two values; with `diagonal` both axes have one scale, and a line where x is y."""
    if diagonal:
        axes = _of_one_scale(spots, axes)
    columns = [Column("name", title=" ", align="left"), *(axis.column() for axis in axes)]
    table = Table(title, columns, [(spot.name, spot.x, spot.y) for spot in spots])
    in_words = message or _message(spots, axes, diagonal=diagonal)
    draw = partial(_draw, [spot for spot in spots if spot.is_drawn], axes, diagonal)
    return drawing(title, in_words, table, draw)


def _of_one_scale(spots: Sequence[Spot], axes: tuple[Axis, Axis]) -> tuple[Axis, Axis]:
    """The axes with the same ends, which hold both values of every point."""
    drawn = [spot for spot in spots if spot.is_drawn]
    reach = [v for spot in drawn for v in (spot.x, spot.y) if v is not None]
    ends = [v for axis in axes for v in (axis.least, axis.most) if v is not None]
    made = scale(Axis("", axes[0].format), [*reach, *ends], 0, 300)
    x, y = (Axis(axis.label, axis.format, made.least, made.most) for axis in axes)
    return x, y


def _draw(
    spots: Sequence[Spot],
    axes: tuple[Axis, Axis],
    diagonal: bool,
    width: int,
) -> Canvas:
    side = 420.0 if width == WIDE else 270.0
    top, bottom = 30.0, 30.0 + side
    up = scale(axes[1], [spot.y for spot in spots], bottom, top)
    left = max(map(length, up.labels)) + 10
    right = left + side + (120 if width == WIDE and not diagonal else 0)
    along = scale(axes[0], [spot.x for spot in spots], left, min(right, width - 20))
    parts = [words("axis", (0, 13), fitted(axes[1].label, width), axes[1].label)]
    parts += _grid(along, up)
    parts += numbers_across(along, bottom + 22, width)
    parts.append(label_across(axes[0].label, along, bottom + 40, width))
    if diagonal:
        low, high = max(along.least, up.least), min(along.most, up.most)
        parts.append(line("reference", (along(low), up(low)), (along(high), up(high))))
    points = [(along(spot.x or 0.0), up(spot.y or 0.0)) for spot in spots]
    for spot, point in zip(spots, points, strict=True):
        parts.append(
            dot("dot", point, 4, f"{spot.name}: {axes[0].text(spot.x)}, {axes[1].text(spot.y)}")
        )
    parts += _names(spots, points, (left, top, width, bottom))
    return Canvas(bottom + 49, "".join(parts))


def _grid(along: Scale, up: Scale) -> Iterator[str]:
    for tick in along.ticks:
        yield line("grid", (along(tick), up.start), (along(tick), up.end))
    for tick, label in zip(up.ticks, up.labels, strict=True):
        yield line("grid", (along.start, up(tick)), (along.end, up(tick)))
        yield words("tick end", (along.start - 6, up(tick) + 4), label)


def _names(
    spots: Sequence[Spot], points: Sequence[tuple[float, float]], inside: Box
) -> Iterator[str]:
    """The names that fit beside their points and over no other point or name."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    for spot, (x, y) in zip(spots, points, strict=True):
        name = fitted(spot.name, 170)
        wide = length(name)
        for corner in (
            (x + 8, y - 6),
            (x - 8 - wide, y - 6),
            (x - wide / 2, y - 19),
            (x - wide / 2, y + 7),
        ):
            box = (corner[0], corner[1], corner[0] + wide, corner[1] + SIZE)
            if _is_free(box, taken, inside):
                taken.append(box)
                yield words("name", (corner[0], corner[1] + SIZE - 2), name, spot.name)
                break


def _is_free(box: Box, taken: Sequence[Box], inside: Box) -> bool:
    left, top, right, bottom = box
    if left < inside[0] or top < inside[1] or right > inside[2] or bottom > inside[3]:
        return False
    return all(right < a or left > c or bottom < b or top > d for a, b, c, d in taken)


def _message(spots: Sequence[Spot], axes: tuple[Axis, Axis], *, diagonal: bool) -> str:
    drawn = [spot for spot in spots if spot.is_drawn]
    words_of = f"{counted(len(drawn), 'point')} by {axes[0].label} and {axes[1].label}."
    if diagonal and drawn:
        above = sum((spot.y or 0.0) > (spot.x or 0.0) for spot in drawn)
        below = sum((spot.y or 0.0) < (spot.x or 0.0) for spot in drawn)
        words_of += (
            f" {above:,} have the higher {axes[1].label}, {below:,} the higher {axes[0].label}."
        )
    undefined = len(spots) - len(drawn)
    return words_of + (f" {counted(undefined, 'point')} undefined." if undefined else "")
