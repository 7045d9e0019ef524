"""A matrix of counts: who gave which grade where another gave which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from labeler.messages import count_of
from labeler.report.charts.axes import WIDTH, Drawing, percent
from labeler.report.charts.svg import Spot, length, rectangle, words
from labeler.report.table import Column, Table

_LEVELS, _LINE = 6, 17.0
Counts = Sequence[Sequence[float]]


def matrix(title: str, counts: Counts, names: Sequence[str], raters: tuple[str, str]) -> Drawing:
    """Counts in squares, shaded by their shares of their rows; those on the diagonal are framed.

    `raters` are who gave the grades of the rows, and who those of the columns.
    """
    head = Column("name", title=" \\ ".join(raters), align="left")
    columns = [head, *(Column(name, format=".0f") for name in (*names, "all"))]
    rows = [[name, *row, sum(row)] for name, row in zip(names, counts, strict=True)]
    drawn = _draw(counts, names, raters)
    return Drawing(title, _message(counts, names, raters), Table(title, columns, rows), *drawn)


def _draw(counts: Counts, names: Sequence[str], raters: tuple[str, str]) -> tuple[float, str]:
    """The rows' rater stands above the rows' names, the columns' rater above the columns'."""
    longest = max(map(length, [*names, f"{raters[0]} ↓", "n = 1,000"]))
    left = min(longest + 12, 0.32 * WIDTH)
    side, height = min((WIDTH - left) / max(len(names), 1), 120), 2 * _LINE + 12
    parts = [
        words("axis", (left, 12), f"{raters[1]} →", WIDTH - left),
        words("axis", (0, 39), f"{raters[0]} ↓", left - 6),
    ]
    for j, name in enumerate(names):
        parts.append(words("name middle", (left + (j + 0.5) * side, 39), name, side - 8))
    y = 47.0
    for i, name in enumerate(names):
        parts.append(words("name", (0, y + height / 2 - 4), name, left - 10))
        total = f"n = {sum(counts[i]):,.0f}"
        parts.append(words("tick small", (0, y + height / 2 + 13), total, left - 6))
        for j, other in enumerate(names):
            corner, size = (left + j * side + 1, y + 1), (side - 2, height - 2)
            cell = _Cell(counts[i][j], sum(counts[i]), f"{name}, {other}", i == j)
            parts += _square(corner, size, cell)
        y += height
    note = f"percent of the row; n = {sum(map(sum, counts)):,.0f}"
    parts.append(words("tick", (left, y + 18), note, WIDTH - left))
    return y + 26, "".join(parts)


class _Cell(NamedTuple):
    """A count, the total of its row, and its two grades in words."""

    value: float
    total: float
    grades: str
    is_framed: bool


def _square(corner: Spot, size: Spot, cell: _Cell) -> Iterator[str]:
    """A cell in its shade."""
    (x, y), (width, height), count, total = corner, size, cell.value, cell.total
    share = percent(count, total)
    kind = f"level{round((_LEVELS - 1) * count / total) if total else 0}"
    tip = f"{cell.grades}: {count:,.0f} ({share} of the row)"
    yield rectangle(f"part {kind}", corner, size, tip)
    if cell.is_framed:
        yield rectangle("agreed", (x + 1, y + 1), (width - 2, height - 2), tip)
    lines = [text for text in (share, f"{count:,.0f}") if length(text) <= width - 4]
    for number, text in enumerate(lines):
        base = y + height / 2 + 4 + _LINE * (number - (len(lines) - 1) / 2)
        yield words(f"on {kind} middle{' small' if number else ''}", (x + width / 2, base), text)


def _message(counts: Counts, names: Sequence[str], raters: tuple[str, str]) -> str:
    """How many agree, and which disagreement is the most frequent, in words."""
    total, equal = sum(map(sum, counts)), sum(row[i] for i, row in enumerate(counts))
    if not total:
        return "There is nothing to compare."
    first, second = raters
    of = f"{equal:,.0f} of {count_of(round(total), 'pair')} ({percent(equal, total)})"
    message = f"{first} and {second} agree on {of}."
    off = {
        (row, column): counts[i][j]
        for i, row in enumerate(names)
        for j, column in enumerate(names)
        if i != j
    }
    row, column = max(off, key=lambda cell: off[cell], default=("", ""))
    if most := off.get((row, column)):
        message += f" They differ most often where {first} gave {row} and {second} {column}: "
        message += f"{count_of(round(most), 'pair')}."
    return message
