"""Read tables of text: CSV in its usual dialects, and TSV; the first row names the columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from labeler.errors import BadInput, refuse

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 2**31 - 1
_NO_NAME = re.compile(r"-?\d+(\.\d+)?|\w+://.*")


def read_table(
    path: Path, text: str, bad: Callable[[BadInput], None] = refuse
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table after its first, by column, with the line numbers where they end.

    What separates the columns is what the first row holds most of: a comma, a semicolon, a tab or a
    bar; a tab in a `.tsv` file. Blank rows are skipped. Raises `BadInput` at a row with more or
    fewer columns than the first, or tells `bad` of it and goes on.
    """
    yield from _by_column(path, _rows(path, text), bad)


def read_tsv(
    path: Path, text: str, bad: Callable[[BadInput], None] = refuse
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file with a tab between its columns, in which a quote is a letter like others.

    Two columns without a row of names above them are an id and a text, as MS MARCO has them.
    """
    lines = enumerate(text.split("\n"), start=1)
    rows = ((n, line.removesuffix("\r").split("\t")) for n, line in lines if line.strip())
    first = next(rows, (1, []))
    unnamed = len(first[1]) == 2 and _are_values(first[1])
    above = [(0, ["id", "text"]), first] if unnamed else [first]
    yield from _by_column(path, chain(above, rows), bad)


def _are_values(cells: Sequence[str]) -> bool:
    """Whether a first row holds values, not names: names hold no digits and are short."""
    return any(map(str.isdigit, cells[0])) or len(cells[1].split()) > 3 or len(cells[1]) > 100


def _by_column(
    path: Path, rows: Iterator[tuple[int, list[str]]], bad: Callable[[BadInput], None]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows after the first, by the names of columns in that one."""
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    if not any(names):
        raise BadInput.at(path, 1, "expected the names of the columns in the first row")
    value = next((name for name in names if _NO_NAME.fullmatch(name) or len(name) > 100), None)
    if value is not None:
        problem = f"expected the names of the columns, as id and text; found {value[:40]!r}"
        raise BadInput.at(path, 1, f"{problem}; write such a row above it")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput.at(path, 1, f"two columns have the name {twice!r}")
    for number, row in rows:
        if len(row) != len(names):
            problem = f"expected {len(names)} columns as in the first row, found {len(row)}"
            bad(BadInput.at(path, number, problem))
        else:
            yield number, dict(zip(names, row, strict=True))


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    first, *_ = text.split("\n", 1)
    is_tsv = path.name.removesuffix(".gz").endswith(".tsv")
    delimiter = "\t" if is_tsv else max(_DELIMITERS, key=first.count)
    csv.field_size_limit(_LONGEST_FIELD)  # the module's default refuses fields of 128 KiB
    lines = (line + "\n" for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise BadInput.at(path, reader.line_num, f"not CSV: {error}") from error
