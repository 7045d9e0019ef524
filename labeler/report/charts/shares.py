"""Shares of a whole as stacked bars, a row each: grades of assessors, kinds of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labeler.report.charts.drawing import Axis, Drawing, counted, drawing, percent
from labeler.report.charts.legend import Entry
from labeler.report.charts.rows import ChartRow, Frame, RowChart
from labeler.report.charts.svg import length, rectangle, words
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
    chart = RowChart(named, axis, [], _entries(parts, kinds), height=22)

    def marks(frame: Frame) -> Iterator[str]:
        for row, y in zip(rows, frame.middles, strict=True):
            yield from _stack(row, y, frame, (parts, kinds))

    in_words, table = message or _message(rows, parts), _table(title, rows, parts)
    return drawing(title, in_words, table, lambda width: chart.draw(width, marks))


def _entries(parts: Sequence[str], kinds: Sequence[str]) -> list[Entry]:
    return [(f"part {kind}", part) for part, kind in zip(parts, kinds, strict=True)]


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
