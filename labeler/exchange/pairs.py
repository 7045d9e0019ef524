"""Tables of queries and documents in pairs, whatever holds them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.columns import is_of_a_pair, names_a_pair
from labeler.exchange.json_files import json_value
from labeler.exchange.parquet import rows_of_parquet
from labeler.exchange.shapes import JSON_LINES, PARQUET, TEXT, XML
from labeler.exchange.tables import (
    Rows,
    first_cells,
    first_line,
    frame_rows,
    rows_of_array,
    rows_of_json_lines,
    rows_of_text,
)

_FIRST_KEY = re.compile(rb'\s*\{\s*"([^"\\]{1,40})"')


def rows_of_pairs(path: Path, shape: str, head: bytes, example: str) -> Rows | None:
    """The rows of a table; `None` of TREC's columns, and of JSON that is no table.

    `example` are the names of columns that a message proposes.
    """
    if shape == XML:
        raise BadInput(f"{path}: XML or HTML; expected TREC's columns, a table or JSON")
    if shape == PARQUET:
        return rows_of_parquet(path)
    if shape == JSON_LINES:
        return rows_of_json_lines(path)
    if shape == TEXT:
        return _of_text(path, first_line(head), example)
    first = _FIRST_KEY.match(head)
    if first is not None and not is_of_a_pair(first[1].decode("utf-8", "replace")):
        return None
    return json_rows(path, json_value(path))


def _of_text(path: Path, line: str, example: str) -> Rows | None:
    for delimiter, cells in first_cells(line).items():
        if names_a_pair(cells):
            return rows_of_text(path, delimiter)
    if len(line.split()) < 3 and ("," in line or ";" in line):
        problem = f"a table whose first row names no columns of a query and a document: {line:.60}"
        raise BadInput.at(path, 1, f"{problem}; write such a row above it, as {example}")
    return None


def json_rows(path: Path, value: Any) -> Rows | None:
    """The rows of a data frame by column, of an array of objects, or of one object of a pair."""
    frame = frame_rows(value)
    if frame is not None and names_a_pair(list(value)):
        return rows_of_array(path, frame)
    if isinstance(value, dict) and names_a_pair(list(value)):
        return rows_of_array(path, [value])
    if value == []:
        raise BadInput(f"{path}: an empty array; expected a query and a document in each row")
    return rows_of_array(path, value) if isinstance(value, list) else None
