"""Rows with named columns in whatever kind of file holds them, which its content tells.

Search responses, `_bulk` files and arrays in objects are freed of what a program wraps them in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.contents import Contents
from labeler.exchange.fields import action_of
from labeler.exchange.formats import of_rows, recognised
from labeler.exchange.ratings import stripped
from labeler.exchange.shapes import HEAD, JSON, JSON_LINES, XML, head_of, shape_of
from labeler.exchange.tables import (
    Row,
    Rows,
    delimiter_of,
    described,
    first_line,
    in_words,
    json_value,
    numbered_objects,
    part_of,
    rows_of_columns,
    rows_of_text,
)
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows
from labeler.files.read import rereadable
from labeler.messages import tell
from labeler.trec.values import QUERY_ID

_HIT = "_source"
_LINES = (".jsonl", ".ndjson")


def rows_of_any(path: Path, names: str) -> Rows:
    """The rows of a table in text, JSON Lines, an array of JSON or Parquet.

    `names` says in a message which columns would have worked.
    """
    rows = structured_rows(path)
    if rows is not None:
        return with_all_columns(rows)
    head = head_of(path)
    line = first_line(head)
    delimiter = delimiter_of(line)
    if shape_of(path, head) == XML or delimiter not in line:
        raise BadInput(f"{path}: expected a table whose first row names its columns: {names}")
    return rows_of_text(path, delimiter)


def with_all_columns(rows: Rows) -> Rows:
    """The rows with the columns of them all: a row may lack what others have."""
    if rows.columns:
        return rows
    held = list(rows.rows)
    columns = dict.fromkeys(name for _, row in held for name in row)
    return replace(rows, columns=tuple(columns), rows=held)


def structured_rows(path: Path) -> Rows | None:
    """The rows of JSON, JSON Lines or Parquet, without what a search engine wraps them in.

    `None` of a table of text, or of text.
    """
    head = head_of(path)
    shape = shape_of(path, head)
    contents = None if shape == JSON else of_rows(path, shape, head)
    if contents is not None:
        return _of_contents(path, contents)
    if (columns := rows_of_columns(path, shape)) is not None:
        return columns
    if shape == JSON_LINES:
        return _of_lines(path)
    return _of_json(path, head) if shape == JSON else None


def _of_lines(path: Path) -> Rows:
    return Rows(path, "JSON Lines", (), _unwrapped(path, read_rows(path)))


def _of_json(path: Path, head: bytes) -> Rows:
    is_of_lines = path.name.removesuffix(".gz").endswith(_LINES)
    try:
        value = json_value(path)
    except BadInput:
        if not is_of_lines:
            raise
        return _of_lines(path)  # which names the line that is none
    is_one_line = is_of_lines or (len(head) < HEAD and b"\n" not in head.strip())
    rows = rows_of_json(path, value)
    if rows is None and isinstance(value, dict) and is_one_line:
        rows = Rows(path, "JSON Lines", (), _unwrapped(path, [(1, value)]))
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; expected an array of documents, or hits")
    return rows


def rows_of_json(path: Path, value: Any) -> Rows | None:
    """The objects of a JSON value that is a list of them, or that holds one."""
    contents = recognised(value)
    if contents is not None:
        return _of_contents(path, contents)
    rows = _listed(value)
    if rows is None:
        return None
    return Rows(path, "JSON", (), _unwrapped(path, numbered_objects(path, rows)))


def _of_contents(path: Path, contents: Contents) -> Rows:
    records = contents.documents or contents.refuse(path, "documents")
    return Rows(path, contents.kind, (), enumerate(map(dict, records), start=1))


def _listed(value: Any) -> list[Any] | None:
    """The documents of a JSON value; `None` where it holds no list of them."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if len(value) > 1 and all(isinstance(text, str) for text in value.values()):
        are_ids = all(len(id_.split()) == 1 and any(map(str.isdigit, id_)) for id_ in value)
        return [{"_id": id_, "text": text} for id_, text in value.items()] if are_ids else None
    lists = [inner for inner in value.values() if _are_objects(inner)]
    if len(lists) == 1:
        return list(lists[0])
    return _keyed(value) if _are_objects(list(value.values())) else None


def _keyed(value: Mapping[str, Mapping[str, Any]]) -> list[Any] | None:
    """The documents of `{id: {…}}`, whose objects have the same keys throughout."""
    keys = [frozenset(row) for row in value.values()]
    if len(keys) < 2 or keys[0] != keys[-1] or len(set(keys)) > 2:
        return None
    return [{"_id": id_, **row} for id_, row in value.items()]


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _unwrapped(path: Path, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows without lines of actions, and in place of hits what these hold."""
    action: Mapping[str, Any] | None = None
    for number, row in rows:
        inner = action_of(row)
        if inner is not None:
            action = None if "delete" in row else inner
            continue
        source = _of_hit(row)
        if action is not None:
            update = source.get("doc")
            source = update if len(source) == 1 and isinstance(update, dict) else source
            if "_id" in action and "_id" not in source:
                source = {"_id": action["_id"], **source}
        action = None
        if not source:
            raise BadInput.at(path, number, "a hit without what was indexed (_source, fields)")
        yield number, source


def _of_hit(row: dict[str, Any]) -> dict[str, Any]:
    """What a hit holds, with its id; other rows as they are."""
    is_hit = "_id" in row and ("_index" in row or "_score" in row or _HIT in row)
    if not is_hit:
        return row
    source = row.get(_HIT)
    if not isinstance(source, dict):
        fields = row.get("fields")
        source = fields if isinstance(fields, dict) else None
    if source is None:
        rest = {k: v for k, v in row.items() if not is_plumbing(k)}
        return {} if not rest else {"_id": row["_id"], **rest}
    return {**source, "_id": row["_id"]} if source else {}


_PLUMBING = frozenset(
    ("score", "sort", "@timestamp", "@version", "highlight", "matched_queries", "inner_hits")
)


def is_plumbing(name: str) -> bool:
    """Whether a field is a search engine's own, and says nothing of the document."""
    return name.startswith("_") or name in _PLUMBING


# What is known of queries beside their texts: a table with their ids, and any other columns.

QueryFacts = dict[str, dict[str, Any]]
"""Query id to the name of a field to its value."""

_IDS = (*QUERY_ID, "id")


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
        ids = part_of(rows.columns, _IDS, "query's id")
        if ids is None:
            problem = f"no column of queries' ids among {in_words(rows.columns)}"
            raise BadInput(f"{path}: {problem}; expected one called query_id")
        tell(path, rows.kind("facts about queries", rows.columns))
        for number, row in position.follow(rows.checked([ids])):
            query_id = stripped_id(path, number, row, ids.column)
            if query_id in facts:
                raise position.error(f"the id {query_id!r:.80} stands in an earlier line too")
            facts[query_id] = with_metadata(path, number, row, ids.column)
    if not facts:
        raise BadInput(f"{path}: no row in it")
    return facts


def stripped_id(path: Path, number: int, row: Mapping[str, Any], column: str) -> str:
    """The id in a column, without white space around it."""
    return identifier(path, number, {**row, column: stripped(row.get(column))}, column)


def with_metadata(path: Path, number: int, row: Mapping[str, Any], *used: str) -> dict[str, Any]:
    """The columns of a row but those used, and beside them what its `metadata` hold."""
    inner = row.get("metadata") or {}
    if not isinstance(inner, dict):
        raise BadInput.at(path, number, f"expected 'metadata' to be an object, found {inner!r:.80}")
    return {**{k: v for k, v in row.items() if k not in (*used, "metadata")}, **inner}
