"""Tables of text in blocks: a fast reader where a block is clean, an exact one where it is not."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.errors import BadInput
from labeler.exchange.tables import first_cells
from labeler.files.read import byte_blocks
from labeler.monitoring.log.columns import CodedColumn, RawBlock

BLOCK = 1 << 22
"""Bytes that are read at a time: 4 MB."""
LONGEST_ROW = 100
"""Lines that a quoted cell may run over; a quote left open is found after so many."""


def header_of(path: Path, delimiter: str) -> tuple[str, ...]:
    """The names of the columns in the first row."""
    for block in byte_blocks(path, BLOCK):
        line = next((line for line in block.split(b"\n") if line.strip()), b"")
        text = line.decode("utf-8-sig", "replace").rstrip("\r")
        names = tuple(name.strip() for name in first_cells(text).get(delimiter, ()))
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise BadInput.at(path, 1, f"two columns have the name {twice!r:.60}")
        return names
    raise BadInput(f"{path}: empty")


@dataclass
class TextBlocks:
    """The rows of a table of text below its header, block by block; `columns` by part.

    `number` counts the lines above the block, and `rest` is what the block before left unread.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...]
    columns: Mapping[str, str]
    size: int = BLOCK
    number: int = 0
    rest: bytes = field(default=b"", repr=False)

    def blocks(self) -> Iterator[RawBlock]:
        """All rows, and the lines that are none."""
        above = True
        for read in byte_blocks(self.path, self.size):
            block = self.rest + (self._below_header(read) if above else read)
            above = False
            yield self._fast(block) or self._exact(block)
        if self.rest:
            yield self._exact(self.rest, is_last=True)

    def _below_header(self, block: bytes) -> bytes:
        """A first block without the lines up to the header."""
        start = 0
        while start < len(block):
            end = block.index(b"\n", start) + 1
            self.number += 1
            is_blank, start = not block[start:end].strip(b"\xef\xbb\xbf \t\r\n"), end
            if not is_blank:
                break
        return block[start:]

    def _fast(self, block: bytes) -> RawBlock | None:
        """The block as pyarrow reads it, where each line is a row; None where that is not so."""
        lines = block.count(b"\n")
        if not block or block.count(b'"') % 2 or b"\0" in block:
            return None
        table = _arrow_table(block, self.delimiter, self.names, set(self.columns.values()))
        if table is None or table.num_rows != lines:
            return None
        numbers = np.arange(self.number + 1, self.number + 1 + lines)
        columns = {part: _coded(table[name]) for part, name in self.columns.items()}
        self.number += lines
        self.rest = b""
        return RawBlock(numbers, columns)

    def _exact(self, block: bytes, is_last: bool = False) -> RawBlock:
        """The block line by line: a row that is none is one bad line, and no others with it."""
        lines = block.split(b"\n")[:-1]
        numbers: list[int] = []
        rows: list[list[str]] = []
        bad: list[tuple[int, str]] = []
        at = 0
        while at < len(lines):
            cells, used = self._row(lines, at)
            if used > len(lines) - at and not is_last:
                break  # the next block goes on with this row
            if cells is None:
                used = 1
                bad.append((self.number + at + 1, self._problem(lines[at])))
            elif cells:
                numbers.append(self.number + at + 1)
                rows.append(cells)
            at += used
        self.number += at
        self.rest = b"".join(line + b"\n" for line in lines[at:])
        by_name = dict(zip(self.names, zip(*rows, strict=True), strict=True)) if rows else {}
        columns = {part: CodedColumn.of(by_name.get(n, ())) for part, n in self.columns.items()}
        return RawBlock(np.array(numbers, dtype=np.int64), columns, bad)

    def _row(self, lines: Sequence[bytes], at: int) -> tuple[list[str] | None, int]:
        """The cells of the row that begins at a line, and how many lines it runs over.

        None where it is no row, and no cells where it is blank. One line more than there are means
        that the row may go on.
        """
        if not lines[at].strip():
            return [], 1
        if self.delimiter == "\t" or lines[at].count(b'"') % 2 == 0:
            return self._cells(lines[at]), 1
        raw = lines[at]
        for count, more in enumerate(lines[at + 1 : at + LONGEST_ROW], start=2):
            raw += b"\n" + more
            if more.count(b'"') % 2:
                cells = self._cells(raw)
                return cells, count
        goes_on = len(lines) - at < LONGEST_ROW
        return None, len(lines) - at + 1 if goes_on else 1

    def _cells(self, raw: bytes) -> list[str] | None:
        try:
            text = raw.decode("utf-8").removesuffix("\r")
            if self.delimiter == "\t":
                cells = text.split("\t")
            else:
                source = io.StringIO(text, newline="")
                rows = list(csv.reader(source, delimiter=self.delimiter, strict=True))
                cells = rows[0] if len(rows) == 1 else []
        except (UnicodeDecodeError, csv.Error):
            return None
        return cells if len(cells) == len(self.names) else None

    def _problem(self, raw: bytes) -> str:
        """What is wrong with a line that is no row."""
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return "not UTF-8"
        if self.delimiter != "\t" and raw.count(b'"') % 2:
            return "a quote left open"
        return "more or fewer columns than the first row"


def _arrow_table(block: bytes, delimiter: str, names: Sequence[str], needed: set[str]) -> Any:
    """The columns that are needed of a block, as texts; None where it is not clean."""
    try:
        import pyarrow as arrow
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    kind = arrow.dictionary(arrow.int32(), arrow.string())
    try:
        return arrow_csv.read_csv(
            io.BytesIO(block),
            read_options=arrow_csv.ReadOptions(
                column_names=list(names), block_size=len(block) + 1, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, quote_char=False if delimiter == "\t" else '"'
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=sorted(needed), column_types=dict.fromkeys(needed, kind)
            ),
        )
    except arrow.ArrowException:
        return None


def _coded(column: Any) -> CodedColumn:
    """A column of pyarrow's dictionaries, of which there is one."""
    chunk = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    codes = np.asarray(chunk.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    return CodedColumn(chunk.dictionary.to_pylist(), codes)
