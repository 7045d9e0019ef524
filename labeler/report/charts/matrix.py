"""A matrix of counts: who gave which grade where another gave which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labeler.report.charts.drawing import WIDE, Canvas, Drawing, counted, drawing, percent
from labeler.report.charts.svg import SIZE, fitted, length, rectangle, words
from labeler.report.table import Cell, Column, Table

_LEVELS = 6
_LINE = 17.0


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
    grades = _Grades(counts, names, raters)
    in_words = message or matrix_message(counts, names, raters)
    return drawing(title, in_words, _table(title, grades), lambda width: _draw(grades, width))


@dataclass(frozen=True)
class _Grades:
    counts: Sequence[Sequence[float]]
    names: Sequence[str]
    raters: tuple[str, str]


def _table(title: str, grades: _Grades) -> Table:
    head = Column("name", title=" \\ ".join(grades.raters), align="left")
    columns = [head, *(Column(name, format=".0f") for name in (*grades.names, "all"))]
    rows: list[list[Cell]] = [
        [name, *row, sum(row)] for name, row in zip(grades.names, grades.counts, strict=True)
    ]
    return Table(title, columns, rows)


def _draw(grades: _Grades, width: int) -> Canvas:
    """The rows' rater stands above the rows' names, the columns' rater above the columns'."""
    rows, columns = f"{grades.raters[0]} ↓", f"{grades.raters[1]} →"
    longest = max(map(length, [*grades.names, rows, "n = 1,000"]))
    left = min(longest + 12, 0.32 * width)
    side = min((width - left) / max(len(grades.names), 1), 120 if width == WIDE else 80)
    heads = [_lines(name, side - 8) for name in grades.names]
    top = 20 + _LINE * max(map(len, heads), default=1) + 10
    parts = [
        words("axis", (left, 12), fitted(columns, width - left), grades.raters[1]),
        words("axis", (0, top - 8), fitted(rows, left - 6), grades.raters[0]),
    ]
    for j, lines in enumerate(heads):
        for number, text in enumerate(reversed(lines)):
            at = (left + (j + 0.5) * side, top - 8 - _LINE * number)
            parts.append(words("name middle", at, text, grades.names[j]))
    y = top
    for i, name in enumerate(grades.names):
        height = max(min(side, 46.0), _LINE * (len(_lines(name, left - 10)) + 1) + 6)
        parts += _row(grades, i, (left, y), (side, height))
        y += height
    note = f"percent of the row; n = {sum(map(sum, grades.counts)):,.0f}"
    parts.append(words("tick", (left, y + 18), fitted(note, width - left)))
    return Canvas(y + 26, "".join(parts))


def _lines(name: str, room: float) -> list[str]:
    """A name on one line, or broken between words on two, each within the room."""
    if length(name) <= room or " " not in name:
        return [fitted(name, room)]
    breaks = [i for i, character in enumerate(name) if character == " "]
    middle = min(breaks, key=lambda i: max(length(name[:i]), length(name[i + 1 :])))
    return [fitted(name[:middle], room), fitted(name[middle + 1 :], room)]


def _row(
    grades: _Grades, i: int, corner: tuple[float, float], size: tuple[float, float]
) -> Iterator[str]:
    """A row's name with its number of pairs, and its squares."""
    (left, y), (side, height) = corner, size
    lines = _lines(grades.names[i], left - 10)
    base = y + height / 2 + 4 - _LINE * len(lines) / 2
    for number, text in enumerate(lines):
        yield words("name", (0, base + _LINE * number), text, grades.names[i])
    total = f"n = {sum(grades.counts[i]):,.0f}"
    yield words("tick small", (0, base + _LINE * len(lines)), fitted(total, left - 6))
    for j in range(len(grades.names)):
        yield from _square((left + j * side, y), size, grades, (i, j))


def _square(
    corner: tuple[float, float], size: tuple[float, float], grades: _Grades, at: tuple[int, int]
) -> Iterator[str]:
    (x, y), (width, height), (i, j) = corner, size, at
    count, total = grades.counts[i][j], sum(grades.counts[i])
    share = percent(count, total)
    kind = f"level{round((_LEVELS - 1) * count / total) if total else 0}"
    tip = f"{grades.names[i]}, {grades.names[j]}: {count:,.0f} ({share} of the row)"
    yield rectangle(f"part {kind}", (x + 1, y + 1), (width - 2, height - 2), tip)
    if i == j:
        yield rectangle("agreed", (x + 2, y + 2), (width - 4, height - 4), tip)
    lines = [text for text in (share, f"{count:,.0f}") if length(text) <= width - 4]
    for number, text in enumerate(lines[: int(height // (SIZE + 5))]):
        base = y + height / 2 + 4 + _LINE * (number - (len(lines) - 1) / 2)
        yield words(f"on {kind} middle{' small' if number else ''}", (x + width / 2, base), text)


def matrix_message(
    counts: Sequence[Sequence[float]], names: Sequence[str], raters: tuple[str, str]
) -> str:
    """How many agree, and which disagreement is the most frequent, in words."""
    total, equal = sum(map(sum, counts)), sum(row[i] for i, row in enumerate(counts))
    if not total:
        return "There is nothing to compare."
    first, second = raters
    pairs = counted(round(total), "pair")
    message = f"{first} and {second} agree on {equal:,.0f} of {pairs} ({percent(equal, total)})."
    off = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j and counts[i][j]]
    if off:
        i, j = max(off, key=lambda cell: counts[cell[0]][cell[1]])
        message += f" They differ most often where {first} gave {names[i]} and {second} "
        message += f"{names[j]}: {counted(round(counts[i][j]), 'pair')}."
    return message
