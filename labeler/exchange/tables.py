"""Rows with named columns, whatever holds them: CSV, TSV, JSON Lines, a JSON array, Parquet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.columns import RowPart, checked
from labeler.files.atomic import replacing
from labeler.files.csv import read_cells, table_lines
from labeler.files.jsonl import read_rows
from labeler.trec.write import RankedPart

Row = tuple[int, dict[str, Any]]
Select = Callable[[Sequence[str]], Iterator[tuple[int, tuple[Any, ...]]]]
"""Reads some columns alone, where a format can."""

DELIMITERS = {"\t": "TSV", ",": "CSV", ";": "CSV with semicolons", "|": "CSV with bars"}


@dataclass(frozen=True)
class Rows:
    """The rows of a file, each with its line or its number, and what holds them.

    `columns` are the names of all columns, or of the first row's.
    """

    form: str
    columns: tuple[str, ...]
    rows: Iterable[Row]
    selected: Select | None = None

    def select(self, names: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The cells of some columns, row by row; None where a row lacks one."""
        if self.selected is not None:
            return self.selected(names)
        return ((number, tuple(map(row.get, names))) for number, row in self.rows)

    def cells(self, path: Path, parts: Sequence[RowPart]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The cells of the columns of some parts, row by row; None where a row lacks one.

        `BadInput` at a row where another column that means the same holds another value.
        """
        columns = [part.column for part in parts]
        names = [*columns, *(name for part in parts for name in part.alike(self.columns))]
        if names == columns:
            return self.select(columns)
        selected = self.select(names)
        rows = ((number, dict(zip(names, cells, strict=True))) for number, cells in selected)
        return (
            (number, tuple(map(row.get, columns))) for number, row in checked(path, rows, parts)
        )

    def kind(self, what: str, columns: Iterable[str | None]) -> str:
        """What the file was taken for: `qrels from CSV (columns query_id, doc_id, grade)`."""
        return f"{what} from {self.form} (columns {', '.join(filter(None, columns))})"


def rows_of_text(path: Path, delimiter: str) -> Rows:
    """The rows of a table of text, whose first row names the columns."""
    cells = read_cells(path, table_lines(path), delimiter)
    _, names = next(cells, (1, []))
    header = tuple(name.strip() for name in names)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise BadInput.at(path, 1, f"two columns have the name {twice!r}")
    if delimiter == "\t":
        cells = ((number, list(map(_unquoted, row))) for number, row in cells)
    return Rows(DELIMITERS.get(delimiter, "columns"), header, _by_name(path, header, cells))


def _unquoted(cell: str) -> str:
    """A cell of TSV less the quotes that a writer of CSV, as BEIR's is, puts around a quote.

    Other quotes are letters like others.
    """
    inner = cell[1:-1]
    is_quoted = cell[:1] == cell[-1:] == '"' and '""' in inner
    doubled = is_quoted and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if doubled else cell


def _by_name(
    path: Path, names: Sequence[str], cells: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    for number, row in cells:
        if len(row) != len(names):
            problem = f"expected {len(names)} columns as in the first row, found {len(row)}"
            raise BadInput.at(path, number, problem)
        yield number, dict(zip(names, row, strict=True))


def rows_of_json_lines(path: Path) -> Rows:
    """The objects of a file of JSON Lines."""
    return _with_columns("JSON Lines", iter(read_rows(path)))


def rows_of_array(path: Path, array: Sequence[Any]) -> Rows:
    """The objects of a JSON array, numbered from 1."""
    return _with_columns("a JSON array", _objects(path, array))


def _objects(path: Path, array: Sequence[Any]) -> Iterator[Row]:
    for number, row in enumerate(array, start=1):
        if not isinstance(row, dict):
            problem = f"row {number}: expected an object, found {row!r:.40}"
            raise BadInput(f"{path}: {problem}")
        yield number, row


def _with_columns(form: str, rows: Iterator[Row]) -> Rows:
    first = next(rows, None)
    if first is None:
        return Rows(form, (), ())
    return Rows(form, tuple(first[1]), chain([first], rows))


def first_cells(line: str) -> dict[str, list[str]]:
    """The cells of a first line by each delimiter that stands in it, and by white space."""
    cells: dict[str, list[str]] = {}
    for delimiter in DELIMITERS:
        if delimiter in line:
            try:
                cells[delimiter] = next(csv.reader([line], delimiter=delimiter, strict=True))
            except (csv.Error, StopIteration):
                continue
    return {**cells, " ": line.split()}


def first_line(head: bytes) -> str:
    """The first line with something on it, of the first bytes of a file."""
    line = next((line for line in head.split(b"\n") if line.strip()), b"")
    return line.decode("utf-8", "replace").rstrip("\r")


def frame_rows(value: Any) -> list[dict[str, Any]] | None:
    """The rows of a data frame that pandas wrote by column, `{column: {row: value}}`.

    `None` where the value is something else.
    """
    if not isinstance(value, dict) or len(value) < 2:
        return None
    columns = list(value.values())
    if not all(
        isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns
    ):
        return None
    return [{name: column[row] for name, column in value.items()} for row in columns[0]]


def write_csv_run(path: Path, parts: Iterable[RankedPart], _tag: str) -> int:
    """Write a run's queries, documents, ranks and scores as CSV, a row each; how many there are."""
    count = 0
    with replacing(path) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("query_id", "doc_id", "rank", "score"))
        for part in parts:
            for query_id, scores in part.by_query():
                ranked = enumerate(scores.items(), start=1)
                writer.writerows((query_id, doc, rank, score) for rank, (doc, score) in ranked)
            count += len(part.query)
    return count
