"""A matrix of counts: who gave which grade where another gave which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from labeler.report.charts.drawing import WIDE, Canvas, Drawing, counted, drawing, percent
from labeler.report.charts.svg import fitted, length, rectangle, words
from labeler.report.table import Cell, Column, Table

_LEVELS = 6


def matrix(
    title: str,
    counts: Sequence[Sequence[float]],
    names: Sequence[str],
    raters: tuple[str, str],
    message: str = "",
) -> Drawing:
    """Counts in squares, shaded by their shares of their rows; those on the diagonal are framed.

    `raters` are who gave the grades of the rows, and who those of the columns.
    """
    columns = [Column("name", title=f"{raters[0]} \\ {raters[1]}", align="left")]
    columns += [Column(name, format=".0f") for name in names]
    cells: list[list[Cell]] = [[name, *row] for name, row in zip(names, counts, strict=True)]
    table = Table(title, [*columns, Column("all", format=".0f")], [[*c, sum(c[1:])] for c in cells])  # type: ignore[arg-type]
    draw = partial(_draw, counts, names, raters)
    return drawing(title, message or matrix_message(counts, names, raters), table, draw)


def _draw(
    counts: Sequence[Sequence[float]], names: Sequence[str], raters: tuple[str, str], width: int
) -> Canvas:
    wide = width == WIDE
    left = min(max(map(length, names), default=0) + 10, 0.3 * width)
    side = min((width - left) / max(len(names), 1), 96 if wide else 72)
    height = min(side, 52.0)
    top, right = 44.0, left + side * len(names)
    parts = [
        words("axis", (left, 14), fitted(f"{raters[1]} →", width - left), raters[1]),
        words("axis", (0, top - 8), fitted(f"{raters[0]} ↓", left + side / 4), raters[0]),
    ]
    for j, name in enumerate(names):
        parts.append(
            words("tick middle", (left + (j + 0.5) * side, top - 8), fitted(name, side), name)
        )
    for i, (name, row) in enumerate(zip(names, counts, strict=True)):
        y = top + i * height
        parts.append(words("name", (0, y + height / 2 + 4), fitted(name, left - 8), name))
        for j in range(len(names)):
            parts += _square((left + j * side, y), (side, height), (row, i, j), names)
    bottom = top + height * len(names)
    note = f"percent of the row; n = {sum(map(sum, counts)):,.0f}"
    parts.append(words("tick", (left, bottom + 18), fitted(note, max(right, width) - left)))
    return Canvas(bottom + 28, "".join(parts))


def _square(
    corner: tuple[float, float],
    size: tuple[float, float],
    cell: tuple[Sequence[float], int, int],
    names: Sequence[str],
) -> Iterator[str]:
    (x, y), (width, height), (row, i, j) = corner, size, cell
    total = sum(row)
    share = percent(row[j], total)
    kind = f"level{round((_LEVELS - 1) * row[j] / total) if total else 0}"
    tip = f"{names[i]}, {names[j]}: {row[j]:,.0f} ({share} of the row)"
    yield rectangle(f"part {kind}", (x + 1, y + 1), (width - 2, height - 2), tip)
    if i == j:
        yield rectangle("agreed", (x + 2, y + 2), (width - 4, height - 4), tip)
    lines = [text for text in (share, f"{row[j]:,.0f}") if length(text) <= width - 4]
    if height < 34:
        lines = lines[:1]
    for number, text in enumerate(lines):
        base = y + height / 2 + 4 + 15 * (number - (len(lines) - 1) / 2)
        yield words(f"on {kind} middle{' small' if number else ''}", (x + width / 2, base), text)


def matrix_message(
    counts: Sequence[Sequence[float]], names: Sequence[str], raters: tuple[str, str]
) -> str:
    """How many agree, and which disagreement is the most frequent, in words."""
    total, equal = sum(map(sum, counts)), sum(row[i] for i, row in enumerate(counts))
    if not total:
        return "There is nothing to compare."
    pairs = counted(round(total), "pair")
    words = (
        f"{raters[0]} and {raters[1]} agree on {equal:,.0f} of {pairs} ({percent(equal, total)})."
    )
    size = range(len(names))
    count, i, j = max(
        ((counts[i][j], -i, -j) for i in size for j in size if i != j), default=(0, 0, 0)
    )
    if count:
        words += f" They differ most often where {raters[0]} gave {names[-i]} and {raters[1]} "
        words += f"{names[-j]}: {counted(round(count), 'pair')}."
    return words
