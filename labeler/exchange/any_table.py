"""Rows with named columns in whatever kind of file holds them, which its content tells."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange import columns as usual
from labeler.exchange.fields import unbulked
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, XML, head_of, shape_of, tell
from labeler.exchange.tables import (
    Rows,
    delimiter_of,
    first_line,
    json_value,
    rows_of_array,
    rows_of_json_lines,
    rows_of_text,
)
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier
from labeler.files.read import rereadable


def rows_of_any(path: Path, names: str) -> Rows:
    """The rows of a table in text, JSON Lines, an array of JSON or Parquet.

    `names` says in a message which columns would have worked.
    """
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        from labeler.exchange.tables import rows_of_parquet

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
    delimiter = delimiter_of(line)
    if shape == XML or delimiter not in line:
        raise BadInput(f"{path}: expected a table whose first row names its columns: {names}")
    return rows_of_text(path, delimiter)


def _with_all_columns(rows: Rows) -> Rows:
    """The rows with the columns of them all: a row may lack what others have."""
    held = list(rows.rows)
    return Rows(rows.form, tuple(dict.fromkeys(name for _, row in held for name in row)), held)


# What is known of queries beside their texts: a table with their ids, and any other columns.

QueryFacts = dict[str, dict[str, Any]]
"""Query id to the name of a field to its value."""

_IDS = (*usual.QUERY_ID, "id")


def read_query_facts(path: str | os.PathLike[str]) -> QueryFacts:
    """What a table, or a `queries.jsonl`, says of each query; metadata stand beside columns.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kinds.csv"
    >>> _ = path.write_text("query_id,group\\n7,keyword\\n")
    >>> read_query_facts(path)
    {'7': {'group': 'keyword'}}
    """
    path, facts = Path(path), QueryFacts()
    with rereadable(), reading(path) as position:
        rows = rows_of_any(path, "query_id, and others as kind or weight")
        ids = _ids(path, rows.columns)
        id_column = ids.column
        tell(path, rows.kind("facts about queries", rows.columns))
        for number, row in position.follow(usual.checked(path, rows.rows, [ids])):
            query_id = _id_of(path, number, row, id_column)
            if query_id in facts:
                raise position.error(f"the id {query_id!r:.80} stands in an earlier line too")
            inner = row.get("metadata") or {}
            if not isinstance(inner, Mapping):
                raise position.error(f"expected 'metadata' to be an object, found {inner!r:.80}")
            rest = {k: v for k, v in row.items() if k not in (id_column, "metadata")}
            facts[query_id] = {**rest, **inner}
    if not facts:
        raise BadInput(f"{path}: no row in it")
    return facts


def _ids(path: Path, names: tuple[str, ...]) -> usual.RowPart:
    """The column of queries' ids."""
    part = usual.part_of(names, _IDS, "query's id")
    if part is None:
        have = usual.in_words(names)
        problem = f"no column of queries' ids among {have}; expected one called query_id"
        raise BadInput(f"{path}: {problem}")
    return part


def _id_of(path: Path, number: int, row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    held = {column: value.strip() if isinstance(value, str) else value}
    return identifier(path, number, held, column)
