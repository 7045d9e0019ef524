"""Rows with named columns in whatever kind of file holds them, which its content tells."""

from __future__ import annotations

from pathlib import Path

from labeler.errors import BadInput
from labeler.exchange.fields import unbulked
from labeler.exchange.json_files import json_value
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, XML, head_of, shape_of
from labeler.exchange.tables import (
    DELIMITERS,
    Rows,
    first_line,
    rows_of_array,
    rows_of_json_lines,
    rows_of_text,
)


def rows_of_any(path: Path, names: str) -> Rows:
    """The rows of a table in text, JSON Lines, an array of JSON or Parquet.

    `names` says in a message which columns would have worked.
    """
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        from labeler.exchange.parquet import rows_of_parquet

        return rows_of_parquet(path)
    if shape == JSON_LINES:
        rows = rows_of_json_lines(path)
        return _with_all_columns(Rows(rows.form, rows.columns, unbulked(rows.rows)))
    if shape == JSON:
        value = json_value(path)
        value = [value] if isinstance(value, dict) else value  # a row alone
        if not isinstance(value, list):
            raise BadInput(f"{path}: expected an array of objects, or a table")
        return _with_all_columns(rows_of_array(path, value))
    line = first_line(head)
    delimiter = max(DELIMITERS, key=line.count)
    if shape == XML or delimiter not in line:
        raise BadInput(f"{path}: expected a table whose first row names its columns: {names}")
    return rows_of_text(path, delimiter)


def _with_all_columns(rows: Rows) -> Rows:
    """The rows with the columns of them all: a row may lack what others have."""
    held = list(rows.rows)
    return Rows(rows.form, tuple(dict.fromkeys(name for _, row in held for name in row)), held)
