"""The forms in which a table is shown: some for people, some for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from labeler.errors import Misconfigured, Misuse, check_known
from labeler.files.archives import write_workbook
from labeler.messages import missing_extra
from labeler.report.neutral import (
    cut,
    html_text,
    json_text,
    latex_text,
    markdown_prose,
    markdown_text,
    printable,
    spreadsheet_cell,
    width_of,
)
from labeler.report.table import Column, FormName, Scalar, Table

# Tables as aligned text, which fits a terminal where its width is known.
#
# Words give way first: columns of words, those flush left, are cut with an ellipsis, but for the
# first one, which names the row. Then intervals stand below their values and titles are broken.
# Where that is not enough, the columns stand in several tables that all begin with the first
# columns, as many as tell the rows apart. A number is never cut; where it does not fit, its line
# is longer.

GAP = "  "
FEWEST = 16
"""A column of words is not cut to less than this; nor to less than its title."""
MOST_NAMING = 3
"""Rows are told apart by so many columns at most, so that there is room for others beside them."""
_PIECES = re.compile(r"\[[^\]]*\]|\S+")


def text_table(table: Table, width: int | None = None) -> str:
    """The table as lines of at most `width` terminal columns; of any width where that is `None`."""
    columns, titles = table.shown, table.titles
    rows = [
        [cut(text, c.widest) if c.widest else text for c, text in zip(columns, row, strict=True)]
        for row in table.texts()
    ]
    cells = list(zip(titles, *rows, strict=True))
    natural = [max(map(width_of, column)) for column in cells]
    room = _total(natural) if width is None else width
    least = [
        _least(columns[i], column, own) if i else own
        for i, (own, column) in enumerate(zip(natural, cells, strict=True))
    ]
    blocks = []
    for group in _groups(least, room, _naming(table.texts())):
        own = [columns[i] for i in group]
        widths = _narrowed(own, [natural[i] for i in group], [least[i] for i in group], room)
        lines = ([row[i] for i in group] for row in [titles, *rows])
        blocks.append("".join(_folded(own, line, widths) for line in lines))
    around = (wrapped(printable(text), width) for text in (table.title, table.note))
    above, below = (f"{text}\n" if text else "" for text in around)
    return "".join([above, "\n".join(blocks), below])


def _least(column: Column, cells: Sequence[str], natural: int) -> int:
    """How narrow a column may be: words are cut, and titles and intervals broken between words."""
    if column.align == "right":
        return max(width_of(piece) for text in cells for piece in _PIECES.findall(text) or [""])
    return min(natural, max(FEWEST, width_of(cells[0]))) if _may_be_cut(column) else natural


def wrapped(text: str, width: int | None, indent: str = "") -> str:
    """Text whose lines are broken between words to fit a terminal; a longer word stays whole."""
    if width is None:
        return text
    return "\n".join(
        f"\n{indent}".join(fold(line.split(" "), width - len(indent))) for line in text.split("\n")
    )


def _naming(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first columns it takes to tell the rows apart; one where that is too many."""
    for count in range(1, MOST_NAMING + 1):
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            return count
    return 1


def _groups(least: Sequence[int], width: int, naming: int) -> list[list[int]]:
    """Columns that fit beside one another, those that name the rows first in every group."""
    names = list(range(naming))
    groups = [[*names]]
    for index in range(naming, len(least)):
        if len(groups[-1]) > naming and _total([least[i] for i in [*groups[-1], index]]) > width:
            groups.append([*names])
        groups[-1].append(index)
    return groups


def _narrowed(
    columns: Sequence[Column], natural: Sequence[int], least: Sequence[int], width: int
) -> list[int]:
    """The least widths, and wider ones where there is room: of numbers, then of words.

    Words that end the line take what is left of it.
    """
    narrowed = list(least)
    for index in sorted(range(len(columns)), key=lambda i: _may_be_cut(columns[i])):
        if natural[index] - narrowed[index] <= width - _total(narrowed):
            narrowed[index] = natural[index]
    if _may_be_cut(columns[-1]):
        narrowed[-1] = min(natural[-1], narrowed[-1] + width - _total(narrowed))
    return narrowed


def _may_be_cut(column: Column) -> bool:
    return column.align == "left" and column.widest is not None


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _folded(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    """The lines of one row, whose cells are broken between their pieces where they are too wide."""
    parts = [
        [text]
        if width_of(text) <= width
        else [cut(text, width)]
        if _may_be_cut(column) and index
        else fold(_PIECES.findall(text), width)
        for index, (column, text, width) in enumerate(zip(columns, cells, widths, strict=True))
    ]
    lines = ""
    for cells_of_line in zip_longest(*parts, fillvalue=""):
        padded = []
        for column, cell, width in zip(columns, cells_of_line, widths, strict=True):
            blank = " " * (width - width_of(cell))
            padded.append(cell + blank if column.align == "left" else blank + cell)
        lines += f"{GAP.join(padded).rstrip()}\n"
    return lines


def fold(
    pieces: Sequence[str], width: float, measured: Callable[[str], float] = width_of
) -> list[str]:
    """Pieces on lines of at most a width, one longer than that alone on its line."""
    lines = [pieces[0]] if pieces else [""]
    for piece in pieces[1:]:
        if measured(longer := f"{lines[-1]} {piece}") <= width:
            lines[-1] = longer
        else:
            lines.append(piece)
    return lines


@dataclass(frozen=True)
class Form:
    """A form of tables.

    `for_people`: an interval shares a cell with its value, and several tables may follow one
    another. `of_prose`: sentences may stand around tables. `in_bytes` makes a file that is no text.
    """

    of_table: Callable[[Table], str]
    for_people: bool = False
    of_prose: Callable[[str], str] | None = None
    in_bytes: Callable[[Table], bytes] | None = None


def _csv(table: Table) -> str:
    out = io.StringIO()
    rows = [_csv_row(table.keys), *map(_csv_row, table.values())]
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _csv_row(row: Sequence[Scalar]) -> list[Scalar]:
    return [spreadsheet_cell(value) if isinstance(value, str) else value for value in row]


def _json(table: Table) -> str:
    return "[" + ",\n ".join(map(json_text, table.as_json())) + "]\n"


def _json_lines(table: Table) -> str:
    return "".join(f"{json_text(record)}\n" for record in table.as_json())


def markdown_table(table: Table) -> str:
    """The table as GitHub and most others read it, its title and note as paragraphs."""
    rule = ["---" if column.align == "left" else "---:" for column in table.shown]
    head, *rows = ([markdown_text(cell) for cell in row] for row in [table.titles, *table.texts()])
    body = "".join(f"| {' | '.join(row)} |\n" for row in [head, rule, *rows])
    above = f"{markdown_prose(table.title)}\n\n" if table.title else ""
    below = f"\n{markdown_prose(table.note)}\n" if table.note else ""
    return f"{above}{body}{below}"


def latex_table(table: Table) -> str:
    """A `tabular` with the rules of the booktabs package; its title and note are comments."""
    columns = "".join(column.align[0] for column in table.shown)
    head, *rows = (
        " & ".join(map(latex_text, row)) + r" \\" for row in [table.titles, *table.texts()]
    )
    body = "\n".join([head, r"\midrule", *rows])
    tabular = (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )
    return _comment(table.title) + tabular + _comment(table.note)


def _workbook(table: Table) -> bytes:
    out = io.BytesIO()
    write_workbook(out, [table.keys, *table.values()])
    return out.getvalue()


def _parquet(table: Table) -> bytes:
    try:
        return bytes(table.frame().to_parquet(index=False))
    except ImportError as error:
        raise Misconfigured(missing_extra("parquet", "parquet files need")) from error


def _no_text(table: Table) -> str:
    raise Misuse(
        f"{table.name}: a workbook or Parquet is no text; write it to a file", parameter="output"
    )


def _comment(text: str) -> str:
    return "".join(f"% {line}\n" for line in printable(text).splitlines())


FORMS: dict[FormName, Form] = {
    "table": Form(text_table, for_people=True, of_prose=printable),
    "csv": Form(_csv),
    "json": Form(_json),
    "jsonl": Form(_json_lines),
    "latex": Form(latex_table, for_people=True),
    "markdown": Form(markdown_table, for_people=True, of_prose=markdown_prose),
    "html": Form(Table.as_html, for_people=True, of_prose=lambda text: f"<p>{html_text(text)}</p>"),
    "xlsx": Form(_no_text, in_bytes=_workbook),
    "parquet": Form(_no_text, in_bytes=_parquet),
}
"""Every form by its name."""


def rendered_all(
    parts: Iterable[Table | str],
    form: FormName = "table",
    width: int | None = None,
) -> str:
    """Tables and paragraphs in one of `FORMS`, a blank line apart, with a newline at the end.

    A form without prose shows the tables only. The text form fits a terminal of `width` columns;
    without a width it is as wide as it needs. `Misuse` of another form lists those there are.
    """
    check_known("format", form, FORMS, "form")
    of_table, of_prose = FORMS[form].of_table, FORMS[form].of_prose
    blocks = []
    for part in parts:
        if isinstance(part, Table):
            blocks.append(text_table(part, width) if form == "table" else of_table(part))
        elif of_prose:
            prose = of_prose(part)
            blocks.append(f"{wrapped(prose, width) if form == 'table' else prose}\n")
    return "\n".join(blocks)
