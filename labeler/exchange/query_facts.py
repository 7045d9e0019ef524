"""What is known of queries beside their texts: a table with their ids, and any other columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange import columns as usual
from labeler.exchange.any_table import rows_of_any
from labeler.exchange.taken import tell
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier
from labeler.files.read import rereadable

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
