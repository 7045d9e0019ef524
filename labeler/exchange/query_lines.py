"""Queries in lines of text: a table of ids and texts, or a query a line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.errors import BadInput
from labeler.exchange.columns import has_column, in_words
from labeler.exchange.ratings import NUMBER
from labeler.exchange.tables import (
    DELIMITERS,
    Row,
    Rows,
    first_cells,
    first_line,
    rows_of_text,
)
from labeler.files.csv import read_cells, table_lines
from labeler.files.read import numbered_lines
from labeler.trec.names import key_of

_LOOKED_AT = 50


@dataclass(frozen=True)
class Lines:
    """A query a line, or an id and a query, and what the file was taken for."""

    form: str
    rows: Iterable[Row]


def lines_or_table(
    path: Path, head: bytes, names: tuple[Sequence[str], Sequence[str]], query_field: str
) -> Lines | Rows:
    """A table where the first row names columns, or the lines look like one; else plain lines.

    `names` are the usual names of ids and of texts. Raises `BadInput` where the lines look like a
    table of other columns.
    """
    ids, texts = names
    line = first_line(head)
    for delimiter, cells in first_cells(line).items():
        header = query_field in map(str.strip, cells) or (
            has_column(cells, texts) and (has_column(cells, ids) or _are_short(cells, delimiter))
        )
        if delimiter != " " and header:
            return rows_of_text(path, delimiter)
    if key_of(line) in texts and len(line.split()) <= 2 and head.count(b"\n") > 1:
        return Rows("one column", (line.strip(),), _one_column(path))
    parting = _delimiter(path, head)
    if parting is None:
        _refuse_columns(path, head)
        return Lines("lines, a query each", _lines(path))
    cells = first_cells(line).get(parting, [line])
    if _holds_ids(path, head, parting):
        return Lines(f"{DELIMITERS[parting]} (ids and texts, no header)", _pairs(path, parting))
    problem = f"a table with the first row {in_words(cells)}; which column holds the query's text?"
    raise BadInput(f"{path}: {problem}", parameter="query_field")


def _refuse_columns(path: Path, head: bytes) -> None:
    """`BadInput` of lines that are all of qrels or of a run in TREC's columns."""
    text = head.decode("utf-8", "replace")
    rows = [line.split() for line in text.split("\n")[:_LOOKED_AT] if line.strip()]
    for width, numbers, what in ((4, (3,), "these are qrels"), (6, (3, 4), "this is a run")):
        same = bool(rows) and all(len(row) == width for row in rows)
        if same and all(NUMBER.fullmatch(row[number]) for row in rows for number in numbers):
            raise BadInput.at(path, 1, f"{what} in TREC's columns; expected queries")


def _are_short(cells: Sequence[str], delimiter: str) -> bool:
    """Whether these may all be names of columns: a word or three each, two columns or more."""
    return delimiter != " " and len(cells) > 1 and all(0 < len(c.split()) <= 3 for c in cells)


def _one_column(path: Path) -> Iterator[Row]:
    for position, (number, line) in enumerate(_written(path)):
        if position == 0:
            name = line.strip()
        else:
            cells = next(csv.reader([line]), [line]) if line.lstrip().startswith('"') else [line]
            yield number, {name: cells[0]}


def _written(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in numbered_lines(path) if line.strip())


def _delimiter(path: Path, head: bytes) -> str | None:
    """What separates the cells of a table; `None` of lines that are none.

    All of the first lines have as many cells. Commas with a space behind them stand in sentences,
    unless ids stand before them.
    """
    for delimiter in DELIMITERS:
        rows = _first_rows(path, head, delimiter)
        widths = {len(cells) for cells in rows}
        if len(widths) != 1 or widths == {1}:
            if delimiter == "\t" and widths - {1}:
                number = next(n for n, cells in enumerate(rows, start=1) if len(cells) != 2)
                width = len(rows[number - 1])
                raise BadInput.at(path, number, f"expected 2 columns (id, text), found {width}")
            continue
        is_prose = any(cell.startswith(" ") for cells in rows for cell in cells[1:])
        if delimiter == "\t" or _are_ids(rows) or (len(rows) > 1 and not is_prose):
            return delimiter
    return None


def _first_rows(path: Path, head: bytes, delimiter: str) -> list[list[str]]:
    text = head.decode("utf-8", "replace")
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()][:_LOOKED_AT]
    try:
        return [cells for _, cells in read_cells(path, lines, delimiter)]
    except BadInput:
        return []


def _are_ids(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first cells are ids: no white space, digits in each, none twice."""
    first = [cells[0].strip() for cells in rows]
    plain = all(len(id_.split()) == 1 and any(map(str.isdigit, id_)) for id_ in first)
    return plain and len(set(first)) == len(first)


def _holds_ids(path: Path, head: bytes, delimiter: str) -> bool:
    rows = _first_rows(path, head, delimiter)
    two = all(len(cells) == 2 for cells in rows)
    return two and (delimiter == "\t" or _are_ids(rows))


def _pairs(path: Path, delimiter: str) -> Iterator[Row]:
    for number, cells in read_cells(path, table_lines(path), delimiter):
        if len(cells) != 2:
            problem = f"expected 2 columns (id, text), found {len(cells)}"
            raise BadInput.at(path, number, problem)
        yield number, {"_id": cells[0].strip(), "text": cells[1]}


def _lines(path: Path) -> Iterator[Row]:
    for number, line in _written(path):
        if "\t" in line.strip():
            raise BadInput.at(path, number, "a tab in a line, and not in all others")
        yield number, {"text": line}
