"""Rows of JSON and of Parquet in blocks, nested ones too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from labeler.errors import BadInput
from labeler.exchange.fields import EventFields, action_of, value_at
from labeler.exchange.json_files import json_value
from labeler.exchange.log_columns import EVENT_PARTS
from labeler.files.jsonl import row_of_line
from labeler.files.read import numbered_bytes
from labeler.monitoring.log import ubi
from labeler.monitoring.log.columns import CodedColumn, LogSource, RawBlock, columns_of

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
    if any(ubi.is_ubi(row) for row in objects):
        settings = {part: setting for part, (setting, _) in EVENT_PARTS.items()}
        own = ubi.named_fields(fields, settings)
        parts = dict.fromkeys([*ubi.PARTS, *own])
        columns = {part: part for part in parts}
        flat = (_flattened(block, own) for block in blocks)
        return LogSource(ubi.KIND, columns, (_block(rows, columns) for rows in flat))
    columns, others = columns_of(path, names, fields)
    return LogSource(kind, columns, (_block(rows, columns) for rows in blocks), others)


def _flattened(rows: Sequence[AnyRow], own: Mapping[str, str]) -> list[AnyRow]:
    return [(n, ubi.parts_of_ubi(r, own) if isinstance(r, dict) else r) for n, r in rows]


def _block(rows: Sequence[AnyRow], columns: Mapping[str, str]) -> RawBlock:
    good = [(number, row) for number, row in rows if isinstance(row, dict)]
    bad = [(number, row) for number, row in rows if isinstance(row, str)]
    coded = {
        part: CodedColumn.of([value_at(row, name) for _, row in good])
        for part, name in columns.items()
        if part != ubi.HITS
    }
    hits: dict[int, Sequence[Any]] = {}
    if ubi.HITS in columns:
        held = ((at, row[ubi.HITS]) for at, (_, row) in enumerate(good))
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
    from labeler.exchange.parquet import batches_of_parquet, parquet_columns, rows_of_parquet

    names, nested = parquet_columns(path)
    asked = [getattr(fields, setting) for setting, _ in EVENT_PARTS.values()]
    is_nested = any(name and name not in names for name in asked)
    if ubi.is_ubi(names) or is_nested:
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
