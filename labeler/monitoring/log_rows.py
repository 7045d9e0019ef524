"""Rows of a log: from its files, in one form of numbers, and on disk, read back by user."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Integers
from labeler.errors import BadInput
from labeler.exchange.fields import action_of, value_at
from labeler.exchange.logs import COUNT, ColumnNames, parts_of
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, XML, head_of, shape_of
from labeler.exchange.tables import (
    DELIMITERS,
    column_of,
    delimiter_of,
    first_cells,
    first_line,
    json_value,
    rows_of_parquet,
)
from labeler.files.jsonl import row_of_line
from labeler.files.read import numbered_bytes
from labeler.monitoring.log_values import (
    CLICKED,
    SEARCHED,
    SHOWN,
    Clock,
    identity,
    is_program,
    kind_of_action,
    name_of,
    rank_of,
    spread,
    thumb_of,
    whole_number,
)
from labeler.queries.traffic import normalized

if TYPE_CHECKING:
    from pandas import DataFrame, Series

BLOCK = 1 << 15
"""Rows that are held at a time; those of the first block say which columns there are."""
WRONG = "more or fewer columns than the first row"

_AnyRow = tuple[int, dict[str, Any] | str]
"""The number of a row, and the row, or what is wrong with it."""


class RawBlock(NamedTuple):
    """Some rows of a log: their lines, the cells of each part, and the lines that are no rows."""

    lines: Sequence[int]
    cells: Mapping[str, Sequence[Any]]
    bad: Sequence[tuple[int, str]]

    def mapped(
        self, part: str, value_of: Callable[[Any], Any], dtype: Any, missing: Any = 0
    ) -> Any:
        """What a function makes of each row's part, called once a value; `missing` without it."""
        if part not in self.cells:
            return np.full(len(self.lines), missing, dtype)
        values = {cell: value_of(cell) for cell in dict.fromkeys(self.cells[part])}
        return np.array([values[cell] for cell in self.cells[part]], dtype)


class LogSource(NamedTuple):
    """A log as it is read: what kind of file, which column holds each part, and its blocks."""

    kind: str
    columns: Mapping[str, str]
    blocks: Iterator[RawBlock]


def source_of(path: Path, fields: ColumnNames) -> LogSource:
    """The log in a file, of whatever kind its content tells."""
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        return _source_of_rows(path, "Parquet", iter(rows_of_parquet(path).rows), fields)
    if shape == JSON_LINES or (shape == JSON and head.lstrip()[:1] == b"{" and b"\n{" in head):
        return _source_of_rows(path, JSON_LINES, _json_lines(path), fields)
    if shape == JSON:
        return _source_of_rows(path, JSON, _json_array(path), fields)
    line = first_line(head)
    delimiter = delimiter_of(line)
    if shape == XML or delimiter not in line:
        raise BadInput(
            f"{path}: expected a log whose first row names its columns: time, session, query, "
            "and for clicks doc_id, rank and clicked"
        )
    names = [name.strip() for name in first_cells(line.removeprefix("\ufeff"))[delimiter]]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise BadInput.at(path, 1, f"two columns have the name {twice!r:.60}")
    columns = columns_of(path, names, fields)
    blocks = _blocks_of_text(path, delimiter, names, columns)
    return LogSource(DELIMITERS[delimiter], columns, blocks)


def _source_of_rows(
    path: Path, kind: str, rows: Iterator[_AnyRow], fields: ColumnNames
) -> LogSource:
    """The log that objects make, each with its line, or what is wrong with that line."""
    first = list(islice(rows, BLOCK))
    names = tuple(dict.fromkeys(chain.from_iterable(r for _, r in first if isinstance(r, dict))))
    if not names:
        raise BadInput(f"{path}: no row in it")
    columns = columns_of(path, names, fields)

    def blocks() -> Iterator[RawBlock]:
        for some in chain([first], iter(lambda: list(islice(rows, BLOCK)), [])):
            good = [(number, row) for number, row in some if isinstance(row, dict)]
            bad = [(number, row) for number, row in some if isinstance(row, str)]
            cells = {part: [_value(row, name) for _, row in good] for part, name in columns.items()}
            yield RawBlock([number for number, _ in good], cells, bad)

    return LogSource(kind, columns, blocks())


def columns_of(path: Path, names: Sequence[str], fields: ColumnNames) -> dict[str, str]:
    """The column of each part of a row that these columns hold."""
    columns = {what: part.column for what, part in parts_of(path, names, fields).items()}
    counted = column_of(names, COUNT)
    if counted and not {"user", "session", "search"} & columns.keys():
        raise BadInput(
            f"{path}: {counted!r} counts searches; expected a row for each search or event"
        )
    return columns


def _value(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column; lists and objects are none."""
    value = value_at(row, name)
    return None if isinstance(value, list | dict) else value


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


def _blocks_of_text(
    path: Path, delimiter: str, names: Sequence[str], columns: Mapping[str, str]
) -> Iterator[RawBlock]:
    """The rows of a table of text below its header.

    A line is a row, so that one that is none is one bad line, and no others with it.
    """
    lines, width = numbered_bytes(path), len(names)
    next(raw for _, raw in lines if raw.strip(b"\xef\xbb\xbf \t\r\n"))
    for block in iter(lambda: list(islice(lines, BLOCK)), []):
        # all cells in one list: a list for each row would take twice the time
        cells, good, bad = list[str](), list[int](), list[tuple[int, str]]()
        for number, raw in block:
            own = _cells(raw, delimiter)
            if isinstance(own, str):
                bad.append((number, own))
            elif len(own) == width:
                cells += own
                good.append(number)
            elif raw.strip():
                bad.append((number, WRONG))
        of_part = {part: cells[names.index(name) :: width] for part, name in columns.items()}
        yield RawBlock(good, of_part, bad)


def _cells(raw: bytes, delimiter: str) -> list[str] | str:
    """The cells of a line, or why it is no row."""
    try:
        line = raw.decode("utf-8").rstrip("\r\n")
        if delimiter == "\t" or not ('"' in line or "\r" in line):
            return line.split(delimiter)
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except UnicodeDecodeError:
        return "not UTF-8"
    except csv.Error:
        return "a quote left open" if raw.count(b'"') % 2 else WRONG


# Rows in one form of numbers.

GROUPS = 400
"""How many groups users are put in, at random; figures are resampled by group."""
AT_ONCE = 1 << 17
"""Rows that are worth reading together, each group whole."""
MOST_VARIANTS = 1000
NO_DATE = "a date that cannot be read"
ROW = np.dtype(
    [
        *(("place", "i8"), ("time", "f8"), ("client", "i8"), ("session", "i8"), ("search", "i8")),
        *(("document", "i8"), ("text", "i4"), ("rank", "i4")),
        *(("kind", "u1"), ("bot", "u1"), ("variant", "i2"), ("group", "u2")),
    ]
)
"""A row in 62 bytes: of names only hashes, 0 where there is none; `place` is its file and line."""

Rows = NDArray[Any]


class LeftOutRows(NamedTuple):
    """Rows of a log that were left out for one reason, and the file and line of the first."""

    reason: str
    rows: int
    first: str


@dataclass
class RowTally:
    """Counts the rows that are left out, by reason; `first` holds the place of the first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, places: Integers) -> None:
        """Count the rows at these places."""
        if len(places):
            self.counts[reason] += len(places)
            self.first[reason] = min(self.first.get(reason, 1 << 62), int(places.min()))

    def without(self, frame: DataFrame, flags: Series[bool], reason: str) -> DataFrame:
        """The rows without the flagged ones, which are counted."""
        self.add(reason, frame["place"][flags].to_numpy())
        return frame[~flags]

    def left_out(self, files: Sequence[Path]) -> tuple[LeftOutRows, ...]:
        """The reasons, the most frequent first."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        places = ((reason, rows, divmod(self.first[reason], 1 << 32)) for reason, rows in ordered)
        return tuple(
            LeftOutRows(reason, rows, f"{files[file]}:{line}")
            for reason, rows, (file, line) in places
        )


@dataclass
class RowReader:
    """Brings blocks of rows into one form, and counts what it leaves out."""

    clock: Clock
    tally: RowTally = field(default_factory=RowTally)
    texts: dict[str, int] = field(default_factory=dict)
    variants: dict[str, int] = field(default_factory=dict)
    ranks: Counter[int] = field(default_factory=Counter)
    total: int = 0
    dated: int = 0

    def read(self, block: RawBlock, file: int) -> Rows:
        """The rows of a block that can be read."""
        rows = np.zeros(len(block.lines), ROW)
        rows["place"] = (file << 32) + np.array(block.lines, np.int64)
        self.total += len(rows) + len(block.bad)
        for line, reason in block.bad:
            self.tally.add(reason, np.array([(file << 32) + line]))
        keep = np.ones(len(rows), bool)
        for reason, flags in self._filled_in(block, rows):
            self.tally.add(reason, rows["place"][keep & flags])
            keep &= ~flags
        self.dated += int(np.isfinite(rows["time"]).sum())
        if "rank" in block.cells:
            self.ranks.update(rows["rank"][keep & (rows["document"] != 0)].tolist())
        return rows[keep]

    def _filled_in(self, block: RawBlock, rows: Rows) -> Iterator[tuple[str, Any]]:
        """Fill in what rows say; by reason, which cannot be read."""
        rows["time"] = block.mapped("time", self.clock, np.float64, np.nan)
        if "time" in block.cells:
            yield NO_DATE, np.isinf(rows["time"])
            yield "no date", np.isnan(rows["time"])
        rows["document"] = block.mapped("document", identity, np.int64)
        kinds = block.mapped("action", kind_of_action, np.int64)
        rows["kind"] = np.where(kinds > 0, kinds, np.where(rows["document"] != 0, SHOWN, SEARCHED))
        if (kinds < 0).any():
            names = block.mapped("action", name_of, object)
            for name in dict.fromkeys(names[kinds < 0]):
                yield f"another action ({name[:40]})", (kinds < 0) & (names == name)
        clicks = block.mapped("clicks", whole_number, np.float64)
        yield "clicks that are no whole number", np.isnan(clicks)
        rows["kind"] |= np.where(clicks > 0, CLICKED, 0).astype(np.uint8)
        rows["kind"] |= block.mapped("thumbs", thumb_of, np.uint8)
        self._names(block, rows)
        rows["rank"] = block.mapped("rank", rank_of, np.int32, -1)
        rows["text"] = block.mapped("query", self._text, np.int32, -1)
        yield "no query", (rows["text"] < 0) & (rows["search"] == 0)

    def _names(self, block: RawBlock, rows: Rows) -> None:
        """Fill in users, sessions, searches, variants, bots, and groups."""
        for name in ("session", "search"):
            rows[name] = block.mapped(name, identity, np.int64)
        users = block.mapped("user", identity, np.int64)
        rows["client"] = np.where(users != 0, users, rows["session"])
        rows["variant"] = block.mapped("variant", self._variant, np.int16)
        rows["bot"] = block.mapped("agent", is_program, np.uint8)
        places = np.full(len(rows), -1, np.int64)
        for part in ("user", "session", "search", "query"):  # the first that is named counts
            if (places < 0).any():
                places = np.where(places >= 0, places, block.mapped(part, spread, np.int64, -1))
        rows["group"] = np.maximum(places, 0) % GROUPS

    def _text(self, value: Any) -> int:
        """The number of a query, or -1 where there is none."""
        text = _one_form(value if isinstance(value, str) else name_of(value))
        return self.texts.setdefault(text, len(self.texts)) if text else -1

    def _variant(self, value: Any) -> int:
        """The number of a variant; 0 of none, and of names that come after all too many."""
        name = name_of(value)
        if not name or (name not in self.variants and len(self.variants) >= MOST_VARIANTS):
            return 0
        return self.variants.setdefault(name, len(self.variants) + 1)


@lru_cache(maxsize=1 << 16)
def _one_form(value: str) -> str:
    return normalized(value.replace("\0", " "))


def rows_by_user(path: Path) -> Iterator[Rows]:
    """The rows of a scratch file, all those of some users at a time."""
    rows: Rows = np.memmap(path, ROW, "r")
    order = np.argsort(rows["group"], kind="stable")
    begins = np.flatnonzero(np.diff(rows["group"][order], prepend=GROUPS))
    cuts = np.unique(np.searchsorted(begins, np.arange(AT_ONCE, len(rows), AT_ONCE)))
    for places in np.split(order, begins[cuts[cuts < len(begins)]]):
        yield np.asarray(rows[places])
