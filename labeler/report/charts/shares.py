"""Shares of a whole as stacked bars, a row each: grades of assessors, kinds of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labeler.report.charts.drawing import Axis, Canvas, Drawing, counted, drawing, percent
from labeler.report.charts.rows import ChartRow, Frame, RowSpace, frame, row_space
from labeler.report.charts.svg import fitted, length, rectangle, words
from labeler.report.table import Cell, Column, Table

_LEVELS = 6
"""Shades of ordered parts; parts without order have four colors of their own, then repeat."""
_COLORS = 4


@dataclass(frozen=True)
class NamedCounts:
    """A row's name and its count of each part."""

    name: str
    counts: Sequence[float]


def shares(
    title: str,
    rows: Sequence[NamedCounts],
    parts: Sequence[str],
    message: str = "",
    *,
    ordered: bool = True,
) -> Drawing:
    """Each row's parts as shares of the row; ordered parts, such as grades, get ever darker."""
    kinds = _kinds(len(parts), ordered=ordered)
    axis = Axis("share of the row", ".0%", 0.0, 1.0)
    named = [ChartRow(row.name, f"n = {sum(row.counts):,.0f}") for row in rows]

    def draw(width: int) -> Canvas:
        space = row_space(named, width, 22)
        made = frame(named, space, axis, [])
        legend, height = _legend(parts, kinds, space)
        marks = [
            mark
            for row, y in zip(rows, made.middles, strict=True)
            for mark in _stack(row, y, made, (parts, kinds))
        ]
        moved = f'<g transform="translate(0 {height:.0f})">{made.parts}{"".join(marks)}</g>'
        return Canvas(made.height + height, legend + moved)

    table = _table(title, rows, parts)
    return drawing(title, message or _message(rows, parts), table, draw)


def _kinds(number: int, *, ordered: bool) -> list[str]:
    """The classes of the parts: shades from the lightest to the darkest, or colors."""
    if not ordered:
        return [f"color{i % _COLORS}" for i in range(number)]
    last = max(number - 1, 1)
    return [f"level{round(i * (_LEVELS - 1) / last)}" for i in range(number)]


def _stack(
    row: NamedCounts, y: float, made: Frame, legend: tuple[Sequence[str], Sequence[str]]
) -> Iterator[str]:
    total, before = sum(row.counts), 0.0
    for part, kind, count in zip(*legend, row.counts, strict=True):
        if not count:
            continue
        left, right = made.scale(before / total), made.scale((before + count) / total)
        before += count
        share = percent(count, total)
        tip = f"{row.name}, {part}: {count:,.0f} ({share})"
        yield rectangle(f"part {kind}", (left, y - 10), (right - left, 20), tip)
        if length(share) + 4 <= right - left:
            yield words(f"on {kind} middle", ((left + right) / 2, y + 4), share)


def _legend(parts: Sequence[str], kinds: Sequence[str], space: RowSpace) -> tuple[str, float]:
    """A square and the name of each part, on as many lines as they need, and their height."""
    start = space.ends[0] if space.beside else 0.0
    room, shown, x, y = space.width - start, [], start, 14.0
    for part, kind in zip(parts, kinds, strict=True):
        name = fitted(part, room - 18)
        if x > start and x + length(name) + 18 > space.width:
            x, y = start, y + 20
        shown.append(rectangle(f"part {kind}", (x, y - 10), (12, 12), ""))
        shown.append(words("name", (x + 17, y), name, part))
        x += length(name) + 34
    return "".join(shown), y + 6


def _table(title: str, rows: Sequence[NamedCounts], parts: Sequence[str]) -> Table:
    columns = [
        Column("name", title=" ", align="left"),
        *(Column(part, format=".0f") for part in parts),
    ]
    columns += [Column(f"{part} share", format=".0%") for part in parts]
    cells: list[list[Cell]] = []
    for row in rows:
        total = sum(row.counts)
        cells.append([row.name, *row.counts, *(c / total if total else None for c in row.counts)])
    return Table(title, columns, cells)


def _message(rows: Sequence[NamedCounts], parts: Sequence[str]) -> str:
    """Each row's largest part, or, of many rows, that of all together."""
    if len(rows) > 4:
        totals = [sum(counts) for counts in zip(*(row.counts for row in rows), strict=True)]
        rows = [NamedCounts(f"All {counted(len(rows), 'row')}", totals)]
    return " ".join(_largest(row, parts) for row in rows) or "There are no rows."


def _largest(row: NamedCounts, parts: Sequence[str]) -> str:
    total = sum(row.counts)
    if not total:
        return f"{row.name}: none."
    most = max(range(len(parts)), key=lambda i: row.counts[i])
    return (
        f"{row.name}: most often {parts[most]}, {percent(row.counts[most], total)} of {total:,.0f}."
    )
