"""Read tables of text: CSV in its usual dialects, and TSV; the first row names the columns.

Lines come in one after another, so that no more than a row is held.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from labeler.errors import BadInput, TooLarge, refuse
from labeler.files.read import (
    LONGEST_LINE,
    decoded_line,
    in_megabytes,
    numbered_bytes,
    refuse_other_encodings,
)

_DELIMITERS = ",;\t|"
_NO_NAME = re.compile(r"-?\d+(\.\d+)?|\w+://.*")


def table_lines(path: Path) -> Iterator[str]:
    """The lines of a table in a file, plain or gzip, without their newlines.

    Raises `BadInput` where they are no text, or where there is none.
    """
    blank = True
    for number, raw in numbered_bytes(path):
        if b"\0" in raw:
            refuse_other_encodings(path, raw)
        line = decoded_line(path, number, raw)
        blank = blank and not line.strip()
        yield line
    if blank:
        raise BadInput(f"{path}: empty")


def read_table(
    path: Path, lines: Iterable[str], bad: Callable[[BadInput], None] = refuse
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table after its first, by column, with the line numbers where they end.

    What separates the columns is what the first row holds most of: a comma, a semicolon, a tab or a
    bar; a tab in a `.tsv` file. Blank rows are skipped. Raises `BadInput` at a row with more or
    fewer columns than the first, or tells `bad` of it and goes on.
    """
    yield from _by_column(path, _rows(path, iter(lines)), bad)


def read_tsv(
    path: Path, lines: Iterable[str], bad: Callable[[BadInput], None] = refuse
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file with a tab between its columns, in which a quote is a letter like others.

    Without a row of names, the columns are those of MS MARCO's passages or documents.
    """
    numbered = enumerate(lines, start=1)
    rows = ((n, line.removesuffix("\r").split("\t")) for n, line in numbered if line.strip())
    first = next(rows, (1, []))
    above = [(0, _names_of(first[1])), first] if _names_of(first[1]) else [first]
    yield from _by_column(path, chain(above, rows), bad)


def _names_of(cells: list[str]) -> list[str]:
    """The names that MS MARCO's columns have where no row names them; else none.

    Passages have an id and a text, documents an id, an address, a title and a text.
    """
    if len(cells) == 2 and _are_values(cells):
        return ["id", "text"]
    is_page = len(cells) == 4 and cells[1].startswith(("http://", "https://"))
    return ["id", "url", "title", "text"] if is_page else []


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
    times = Counter(names)
    twice = next((name for name in names if times[name] > 1), None)
    if twice is not None:
        raise BadInput.at(path, 1, f"two columns have the name {twice!r}")
    for number, row in rows:
        if len(row) != len(names):
            problem = f"expected {len(names)} columns as in the first row, found {len(row)}"
            bad(BadInput.at(path, number, problem))
        else:
            yield number, dict(zip(names, row, strict=True))


def _rows(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    first = next(lines, "")
    is_tsv = path.name.removesuffix(".gz").endswith(".tsv")
    delimiter = "\t" if is_tsv else max(_DELIMITERS, key=first.count)
    yield from _quoted_cells(path, first, lines, delimiter)


def read_cells(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of all rows, that of the columns' names too, with the lines where they end.

    A quote is a letter like others where tabs or white space, " ", stand between the columns.
    """
    if delimiter == "\t":
        split: Callable[[str], list[str]] = _at_tabs
    elif delimiter == " ":
        split = str.split
    else:
        yield from _quoted_cells(path, "", iter(lines), delimiter)
        return
    yield from ((n, split(line)) for n, line in enumerate(lines, start=1) if line.strip())


def _at_tabs(line: str) -> list[str]:
    return line.removesuffix("\r").split("\t")


def _quoted_cells(
    path: Path, first: str, lines: Iterator[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(2 * LONGEST_LINE)  # rows have their bound; the default is 128 KiB
    source = _Lines(path, chain([first] if first else [], lines))
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
            source.size = 0
    except csv.Error as error:
        raise BadInput.at(path, reader.line_num, f"not CSV: {error}") from error


class _Lines:
    """Lines with their newlines, of which no more may make one row than one line may hold."""

    def __init__(self, path: Path, lines: Iterator[str]) -> None:
        self.path, self.lines = path, lines
        self.number = self.size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.number += 1
        self.size += len(line) + 1
        if self.size > LONGEST_LINE:
            problem = f"a row of more than {in_megabytes(LONGEST_LINE)}; is a quote left open?"
            raise TooLarge.at(self.path, self.number, problem)
        return line + "\n"
