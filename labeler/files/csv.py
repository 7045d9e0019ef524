"""Read the cells of tables of text: CSV in its usual dialects, and TSV.

Lines come in one after another, so that no more than a row is held.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from labeler.errors import BadInput, TooLarge
from labeler.files.read import (
    LONGEST_LINE,
    decoded_line,
    in_megabytes,
    numbered_bytes,
    refuse_other_encodings,
)

NumberedCells = tuple[int, list[str]]
"""The cells of a row, with the line where it ends, or its number."""


def table_lines(path: Path) -> Iterator[str]:
    """The lines of a table in a file, plain or gzip, without their newlines.

    Raises `BadInput` where they are no text, or where there is none.
    """
    blank = True
    for number, raw in numbered_bytes(path):
        if b"\0" in raw:
            refuse_other_encodings(path, raw)
        line = decoded_line(path, number, raw, windows=True)
        blank = blank and not line.strip()
        yield line
    if blank:
        raise BadInput(f"{path}: empty")


def read_cells(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[NumberedCells]:
    """The cells of all rows, that of the columns' names too, with the lines where they end.

    A quote is a letter like others where tabs or white space, " ", stand between the columns.
    """
    if delimiter not in "\t ":
        yield from _quoted_cells(path, lines, delimiter)
        return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, line.removesuffix("\r").split(None if delimiter == " " else "\t")


def _quoted_cells(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[NumberedCells]:
    csv.field_size_limit(2 * LONGEST_LINE)  # rows have their bound; the default is 128 KiB
    size = 0

    def ended() -> Iterator[str]:
        """The lines with newlines, of which no more may make one row than one line may hold."""
        nonlocal size
        for number, line in enumerate(lines, start=1):
            size += len(line) + 1
            if size > LONGEST_LINE:
                raise TooLarge.at(
                    path,
                    number,
                    f"a row of more than {in_megabytes(LONGEST_LINE)}; is a quote left open?",
                )
            yield line + "\n"

    reader = csv.reader(ended(), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
            size = 0
    except csv.Error as error:
        raise BadInput.at(path, reader.line_num, f"not CSV: {error}") from error
