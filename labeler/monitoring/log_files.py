"""The files of a log in blocks of rows, column by column: CSV, TSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Integers
from labeler.errors import BadInput
from labeler.exchange.fields import EventFields, action_of, has_field, value_at
from labeler.exchange.logs import EVENT_PARTS
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, XML, head_of, shape_of
from labeler.exchange.tables import (
    DELIMITERS,
    batches_of_parquet,
    first_cells,
    first_line,
    in_words,
    json_value,
    parquet_columns,
    part_of,
    rows_of_parquet,
)
from labeler.files.jsonl import row_of_line
from labeler.files.read import byte_blocks, numbered_bytes

BLOCK = 1 << 22
"""Bytes of a table of text that are read at a time: 4 MB."""
ROWS = 1 << 15
"""Rows of JSON that are held at a time; those of the first block say which columns there are."""
LONGEST_ROW = 100
"""Lines that a quoted cell may run over; a quote left open is noticed after so many."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column: its different values, and for each row which of them it holds."""

    values: Sequence[Any]
    codes: Integers

    @classmethod
    def of(cls, cells: Iterable[Any]) -> CodedColumn:
        """The column of these cells; lists and objects are no values, and become None."""
        numbers: dict[Any, int] = {}
        codes = [
            numbers.setdefault(None if isinstance(cell, list | dict) else cell, len(numbers))
            for cell in cells
        ]
        return cls(list(numbers), np.array(codes, dtype=np.int64))

    @classmethod
    def of_arrow(cls, column: Any) -> CodedColumn:
        """A column of pyarrow's, in one piece."""
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        texts = (
            value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            for value in encoded.dictionary.to_pylist()
        )
        return cls([*texts, None], np.asarray(codes, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some rows of a log: their lines, their columns by part, and the lines that are no rows."""

    lines: Integers
    columns: Mapping[str, CodedColumn]
    bad: Sequence[tuple[int, str]] = ()

    def mapped(
        self, part: str, value_of: Callable[[Any], Any], dtype: Any, missing: Any = 0
    ) -> Any:
        """What a function makes of each row's part, called once a value; `missing` without it."""
        column = self.columns.get(part)
        if column is None:
            return np.full(len(self.lines), missing, dtype=dtype)
        return np.array([value_of(value) for value in column.values], dtype=dtype)[column.codes]


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log as it is read: what kind of file, which column holds each part, and its blocks.

    `others` are columns that could have held a part, too, by part.
    """

    kind: str
    columns: Mapping[str, str]
    others: Mapping[str, Sequence[str]]
    blocks: Iterator[RawBlock]


def source_of(path: Path, fields: EventFields) -> LogSource:
    """The log in a file, of whatever kind its content tells."""
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        return _parquet_source(path, fields)
    if shape == JSON_LINES or (shape == JSON and head.lstrip()[:1] == b"{" and b"\n{" in head):
        return _source_of_rows(path, JSON_LINES, _json_lines(path), fields)
    if shape == JSON:
        return _source_of_rows(path, JSON, _json_array(path), fields)
    line = first_line(head)
    delimiter = max(DELIMITERS, key=line.count)
    if shape == XML or delimiter not in line:
        usual = "time, session, query, and for clicks doc_id, rank and clicked"
        raise BadInput(f"{path}: expected a log whose first row names its columns: {usual}")
    names = tuple(name.strip() for name in first_cells(line.removeprefix("\ufeff"))[delimiter])
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise BadInput.at(path, 1, f"two columns have the name {twice!r:.60}")
    columns, others = columns_of(path, names, fields)
    blocks = TextBlocks(path, delimiter, names, columns).blocks()
    return LogSource(DELIMITERS[delimiter], columns, others, blocks)


def columns_of(
    path: Path, names: Sequence[str], fields: EventFields
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The column of each part that these columns hold, and the others that could have held it."""
    columns, others = {}, {}
    for what, (setting, alike) in EVENT_PARTS.items():
        own = getattr(fields, setting)
        if own and not has_field(names, own):
            problem = f"no column {own!r:.60} among {in_words(names[:40])}"
            raise BadInput(f"{path}: {problem}", parameter=setting)
        usual = part_of(names, alike, what, setting)
        if own:
            columns[what] = own
        elif usual:
            columns[what] = usual.column
            others[what] = usual.alike(names)
    if "query" not in columns:
        problem = f"no column of queries among {in_words(names[:40])}; name it"
        raise BadInput(f"{path}: {problem}", parameter="query_field")
    return columns, others


def _parquet_source(path: Path, fields: EventFields) -> LogSource:
    """The log in a file of Parquet; rows are numbered from 1."""
    names, _ = parquet_columns(path)
    columns, others = columns_of(path, names, fields)
    if not set(columns.values()) <= set(names):  # a field inside a column
        return _source_of_rows(path, "Parquet", rows_of_parquet(path).rows, fields)

    def blocks() -> Iterator[RawBlock]:
        above = 0
        for batch in batches_of_parquet(path, sorted(set(columns.values())), is_shared=False):
            lines = np.arange(above + 1, above + 1 + len(batch))
            coded = {n: CodedColumn.of_arrow(batch.column(name)) for n, name in columns.items()}
            yield RawBlock(lines, coded)
            above += len(batch)

    return LogSource("Parquet", columns, others, blocks())


# Rows of JSON.

_AnyRow = tuple[int, dict[str, Any] | str]
"""The number of a row, and the row, or what is wrong with it."""


def _source_of_rows(
    path: Path, kind: str, rows: Iterable[_AnyRow], fields: EventFields
) -> LogSource:
    """The log that objects make, each with its line, or what is wrong with that line."""
    rows = iter(rows)
    first = list(islice(rows, ROWS))
    names = tuple(dict.fromkeys(chain.from_iterable(r for _, r in first if isinstance(r, dict))))
    if not names:
        raise BadInput(f"{path}: no row in it")
    columns, others = columns_of(path, names, fields)
    blocks = chain([first], iter(lambda: list(islice(rows, ROWS)), []))
    return LogSource(kind, columns, others, (_block(block, columns) for block in blocks))


def _block(rows: Sequence[_AnyRow], columns: Mapping[str, str]) -> RawBlock:
    good = [(number, row) for number, row in rows if isinstance(row, dict)]
    bad = [(number, row) for number, row in rows if isinstance(row, str)]
    coded = {
        part: CodedColumn.of(value_at(row, name) for _, row in good)
        for part, name in columns.items()
    }
    return RawBlock(np.array([number for number, _ in good], dtype=np.int64), coded, bad)


def _json_lines(path: Path) -> Iterator[_AnyRow]:
    """The objects of a file of JSON Lines without a bulk file's actions; or what is wrong."""
    for number, raw in numbered_bytes(path):
        try:
            row = row_of_line(path, number, raw)
        except BadInput:
            yield number, "not a JSON object"
            continue
        if row is not None and action_of(row) is None:
            yield number, row


def _json_array(path: Path) -> Iterator[_AnyRow]:
    """The objects of a JSON array, or the one object that a file is."""
    value = json_value(path)
    rows = [value] if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise BadInput(f"{path}: expected an array of objects, or a table")
    for number, row in enumerate(rows, start=1):
        yield number, row if isinstance(row, dict) else "not a JSON object"


# Tables of text: a fast reader where a block is clean, an exact one where it is not.


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
        for read in self._below_header():
            block = self.rest + read
            yield self._fast(block) or self._exact(block)
        if self.rest:
            yield self._exact(self.rest, is_last=True)

    def _below_header(self) -> Iterator[bytes]:
        """The blocks of the file without the lines up to the header."""
        is_above = True
        for block in byte_blocks(self.path, self.size):
            while is_above and block:
                line, _, block = block.partition(b"\n")  # noqa: PLW2901  what is left of it
                is_above = not line.strip(b"\xef\xbb\xbf \t\r\n")
                self.number += 1
            if block:
                yield block

    def _fast(self, block: bytes) -> RawBlock | None:
        """The block as pyarrow reads it, where each line is a row; None where that is not so."""
        lines = block.count(b"\n")
        if block.count(b'"') % 2 or b"\0" in block:
            return None
        table = _arrow_table(block, self.delimiter, self.names, set(self.columns.values()))
        if table is None or table.num_rows != lines:
            return None
        numbers = np.arange(self.number + 1, self.number + 1 + lines)
        self.number += lines
        self.rest = b""
        chunks = {part: table[name].combine_chunks() for part, name in self.columns.items()}
        coded = {
            part: CodedColumn.of_arrow(c.chunk(0) if hasattr(c, "chunk") else c)
            for part, c in chunks.items()
        }
        return RawBlock(numbers, coded)

    def _exact(self, block: bytes, is_last: bool = False) -> RawBlock:
        """The block line by line: a row that is none is one bad line, and no others with it."""
        lines = block.split(b"\n")[:-1]
        rows: list[tuple[int, list[str]]] = []
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
                rows.append((self.number + at + 1, cells))
            at += used
        self.number += at
        self.rest = b"".join(line + b"\n" for line in lines[at:])
        cell = {name: number for number, name in enumerate(self.names)}
        coded = {
            part: CodedColumn.of(cells[cell[name]] for _, cells in rows)
            for part, name in self.columns.items()
        }
        return RawBlock(np.array([number for number, _ in rows], dtype=np.int64), coded, bad)

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
                return self._cells(raw), count
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
