"""Tables as aligned text, which fits a terminal where its width is known.

Words give way first: columns of words, those flush left, are cut with an ellipsis, but for the
first one, which names the row. Where that is not enough, the columns of each row stand one below
another. A number is never cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from labeler.report.printable import cut, printable, width_of
from labeler.report.table import Column, Table

GAP = "  "
FEWEST = 16
"""A column of words is not cut to less than this; nor to less than its title."""


def text_table(table: Table, width: int | None = None) -> str:
    """The table as lines of at most `width` terminal columns; of any width where that is `None`."""
    columns, titles = table.shown, table.titles
    rows = [_cut_words(columns, row) for row in table.texts()]
    widths = [max(map(width_of, cells)) for cells in zip(titles, *rows, strict=True)]
    if width is not None:
        widths = _narrowed(columns, titles, widths, width)
    if width is not None and _total(widths) > width:
        return _around(table, _stacked(columns, titles, rows, width))
    lines = [_line(columns, row, widths) for row in [titles, *rows]]
    return _around(table, "".join(f"{line}\n" for line in lines))


def _around(table: Table, body: str) -> str:
    above = f"{printable(table.title)}\n" if table.title else ""
    below = f"{printable(table.note)}\n" if table.note else ""
    return f"{above}{body}{below}"


def _cut_words(columns: Sequence[Column], row: Sequence[str]) -> list[str]:
    return [
        cut(text, column.widest) if column.widest else text
        for column, text in zip(columns, row, strict=True)
    ]


def _narrowed(
    columns: Sequence[Column], titles: Sequence[str], widths: Sequence[int], width: int
) -> list[int]:
    """Widths that fit, where columns of words can give so much way; else the same widths."""
    least = [
        min(own, max(FEWEST, width_of(title))) if index and _may_be_cut(column) else own
        for index, (column, title, own) in enumerate(zip(columns, titles, widths, strict=True))
    ]
    narrowed = list(widths)
    if _total(least) > width:
        return narrowed
    while _total(narrowed) > width:
        spare = [own - fewest for own, fewest in zip(narrowed, least, strict=True)]
        widest = max((own, index) for index, own in enumerate(narrowed) if spare[index])[1]
        narrowed[widest] -= 1
    return narrowed


def _may_be_cut(column: Column) -> bool:
    return column.align == "left" and column.widest is not None


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _line(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        text = cut(cell, width)
        blank = " " * (width - width_of(text))
        padded.append(text + blank if column.align == "left" else blank + text)
    return GAP.join(padded).rstrip()


def _stacked(
    columns: Sequence[Column], titles: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> str:
    """A paragraph for each row, with a line for each column."""
    longest = max(map(width_of, titles))
    labels = [title + " " * (longest - width_of(title)) + GAP for title in titles]
    room = max(FEWEST, width - longest - len(GAP))
    blocks = []
    for row in rows:
        cells = zip(columns, labels, row, strict=True)
        lines = (label + (cut(x, room) if _may_be_cut(c) else x) for c, label, x in cells)
        blocks.append("".join(f"{line.rstrip()}\n" for line in lines))
    return "\n".join(blocks)
