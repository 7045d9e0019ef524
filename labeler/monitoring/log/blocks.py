"""Rows of JSON and of Parquet in blocks, nested ones too."""

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
from labeler.exchange.columns import in_words, part_of
from labeler.exchange.fields import EventFields, action_of, has_field, value_at
from labeler.exchange.logs import EVENT_PARTS
from labeler.exchange.tables import first_cells, json_value
from labeler.files.jsonl import row_of_line
from labeler.files.read import byte_blocks, numbered_bytes

# Blocks of rows as a log has them, column by column, each value held once.


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column: its different values, and for each row which of them it holds."""

    values: Sequence[Any]
    codes: Integers

    @classmethod
    def of(cls, cells: Sequence[Any]) -> CodedColumn:
        """The column of these cells; lists and objects are no values, and become None."""
        numbers: dict[Any, int] = {}
        codes = [
            numbers.setdefault(None if isinstance(cell, list | dict) else cell, len(numbers))
            for cell in cells
        ]
        return cls(list(numbers), np.array(codes, dtype=np.int64))

    def mapped(self, value_of: Callable[[Any], Any], dtype: Any) -> Any:
        """An array of what a function makes of each row's value, called once a value."""
        return np.array([value_of(value) for value in self.values], dtype=dtype)[self.codes]


@dataclass(frozen=True, eq=False)
class RawBlock:
    """Some rows of a log: their lines, their columns by part, and the lines that are no rows.

    `hits` are the documents that a row returned, by the row's place in the block.
    """

    lines: Integers
    columns: Mapping[str, CodedColumn]
    bad: Sequence[tuple[int, str]] = ()
    hits: Mapping[int, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log as it is read: what kind of file, which column holds each part, and its blocks.

    `others` are columns that could have held a part, too, by part.
    """

    kind: str
    columns: Mapping[str, str]
    blocks: Iterator[RawBlock]
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)


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
        if own or usual:
            columns[what] = own or usual.column if usual else own
        if usual and not own and usual.alike(names):
            others[what] = usual.alike(names)
    if "query" not in columns:
        problem = f"no column of queries among {in_words(names[:40])}; name it"
        raise BadInput(f"{path}: {problem}", parameter="query_field")
    return columns, others


# OpenSearch's User Behavior Insights: queries and events as they are exported.

KIND = "User Behavior Insights"
HITS = "hits"
"""The documents that a query returned, in the order of their ranks."""

_FIELDS: dict[str, tuple[str, ...]] = {
    "query": ("user_query",),
    "document": ("event_attributes.object.object_id",),
    "rank": ("event_attributes.position.ordinal",),
    "session": ("session_id", "event_attributes.session_id"),
    "time": ("timestamp",),
    "user": ("client_id",),
    "search": ("query_id",),
    "action": ("action_name",),
    "dwell": ("event_attributes.dwell_time",),
    "application": ("application",),
    "agent": ("event_attributes.browser", "event_attributes.user_agent"),
    HITS: ("query_response_hit_ids",),
}
"""Where each part of a row stands, as OpenSearch's specification of them says."""

PARTS = tuple(_FIELDS)


def is_ubi(columns: Iterable[str]) -> bool:
    """Whether rows with these columns are queries or events of User Behavior Insights."""
    names = set(columns)
    is_event = {"action_name", "timestamp"} <= names and bool(
        names & {"event_attributes", "message_type", "client_id"}
    )
    return is_event or {"user_query", "query_id", "timestamp"} <= names


def parts_of_ubi(row: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a row; `own` are the fields that the user named."""
    parts = {name: _first(row, fields) for name, fields in _FIELDS.items()}
    parts |= {name: value_at(row, column) for name, column in own.items()}
    if not parts["query"] and row.get("message_type") == "QUERY":
        parts["query"] = row.get("message")  # there, the specification says, it is what was typed
    return parts


def _first(row: Mapping[str, Any], fields: Sequence[str]) -> Any:
    values = (value_at(row, name) for name in fields)
    return next((value for value in values if value not in (None, "")), None)


def named_fields(fields: EventFields, settings: Mapping[str, str]) -> dict[str, str]:
    """The columns that the user named, by the part of a row that they hold."""
    named = {part: getattr(fields, setting) for part, setting in settings.items()}
    return {part: column for part, column in named.items() if column}


# Tables of text in blocks: a fast reader where a block is clean, an exact one where it is not.

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


ROWS = 1 << 15
"""Rows that are held at a time; those of the first block say which columns there are."""

AnyRow = tuple[int, dict[str, Any] | str]
"""The number of a row, and the row, or what is wrong with it."""


def source_of_rows(path: Path, kind: str, rows: Iterable[AnyRow], fields: EventFields) -> LogSource:
    """The log that objects make, each with its line, or what is wrong with that line."""
    rows = iter(rows)
    first = list(islice(rows, ROWS))
    objects = [row for _, row in first if isinstance(row, dict)]
    names = tuple(dict.fromkeys(chain.from_iterable(objects)))
    if not names:
        raise BadInput(f"{path}: no row in it")
    blocks = chain([first], iter(lambda: list(islice(rows, ROWS)), []))
    if any(is_ubi(row) for row in objects):
        settings = {part: setting for part, (setting, _) in EVENT_PARTS.items()}
        own = named_fields(fields, settings)
        parts = dict.fromkeys([*PARTS, *own])
        columns = {part: part for part in parts}
        flat = (_flattened(block, own) for block in blocks)
        return LogSource(KIND, columns, (_block(rows, columns) for rows in flat))
    columns, others = columns_of(path, names, fields)
    return LogSource(kind, columns, (_block(rows, columns) for rows in blocks), others)


def _flattened(rows: Sequence[AnyRow], own: Mapping[str, str]) -> list[AnyRow]:
    return [(n, parts_of_ubi(r, own) if isinstance(r, dict) else r) for n, r in rows]


def _block(rows: Sequence[AnyRow], columns: Mapping[str, str]) -> RawBlock:
    good = [(number, row) for number, row in rows if isinstance(row, dict)]
    bad = [(number, row) for number, row in rows if isinstance(row, str)]
    coded = {
        part: CodedColumn.of([value_at(row, name) for _, row in good])
        for part, name in columns.items()
        if part != HITS
    }
    hits: dict[int, Sequence[Any]] = {}
    if HITS in columns:
        held = ((at, row[HITS]) for at, (_, row) in enumerate(good))
        hits = {at: value for at, value in held if isinstance(value, list)}
    return RawBlock(np.array([number for number, _ in good], dtype=np.int64), coded, bad, hits)


def json_lines(path: Path) -> Iterator[AnyRow]:
    """The objects of a file of JSON Lines without a bulk file's actions; or what is wrong."""
    for number, raw in numbered_bytes(path):
        try:
            row = row_of_line(path, number, raw)
        except BadInput:
            yield number, "not a JSON object"
            continue
        if row is not None and action_of(row) is None:
            yield number, row


def json_array(path: Path) -> Iterator[AnyRow]:
    """The objects of a JSON array, or the one object that a file is."""
    value = json_value(path)
    value = [value] if isinstance(value, dict) else value
    if not isinstance(value, list):
        raise BadInput(f"{path}: expected an array of objects, or a table")
    for number, row in enumerate(value, start=1):
        yield number, row if isinstance(row, dict) else "not a JSON object"


def source_of_parquet(path: Path, fields: EventFields) -> LogSource:
    """The log in a file of Parquet; rows are numbered from 1."""
    from labeler.exchange.tables import batches_of_parquet, parquet_columns, rows_of_parquet

    names, nested = parquet_columns(path)
    asked = [getattr(fields, setting) for setting, _ in EVENT_PARTS.values()]
    is_nested = any(name and name not in names for name in asked)
    if is_ubi(names) or is_nested:
        return source_of_rows(path, "Parquet", rows_of_parquet(path).rows, fields)
    columns, others = columns_of(path, names, fields)
    columns = {part: name for part, name in columns.items() if name not in nested}

    def blocks() -> Iterator[RawBlock]:
        above = 0
        for batch in batches_of_parquet(path, sorted(set(columns.values())), is_shared=False):
            coded = {part: _of_arrow(batch.column(name)) for part, name in columns.items()}
            yield RawBlock(np.arange(above + 1, above + 1 + len(batch)), coded)
            above += len(batch)

    return LogSource("Parquet", columns, blocks(), others)


def _of_arrow(column: Any) -> CodedColumn:
    """A column of pyarrow's; times become seconds, or datetimes where they have no zone."""
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    codes = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)
    return CodedColumn([*_values(column.dictionary), None], np.asarray(codes, dtype=np.int64))


def _values(column: Any) -> list[Any]:
    """The values of a column; a time with a zone as its seconds since 1970, in UTC."""
    import pyarrow as arrow

    if not arrow.types.is_timestamp(column.type):
        return [_text(value) for value in column.to_pylist()]
    seconds = column.cast(arrow.timestamp("us", tz=column.type.tz), safe=False).cast("int64")
    if column.type.tz is not None:
        return [value / 1e6 for value in seconds.to_pylist()]
    epochs = np.asarray(seconds.to_numpy(zero_copy_only=False), dtype="datetime64[us]")
    return list(epochs.tolist())


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
