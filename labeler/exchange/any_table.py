"""Rows with named columns in whatever kind of file holds them, which its content tells.

Search responses, `_bulk` files, Vespa's feeds and arrays in objects are freed of what a program
wraps them in.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, BadRow
from labeler.exchange.contents import DOCUMENTS, are_ids, objects
from labeler.exchange.fields import action_of
from labeler.exchange.formats import Held, held_by
from labeler.exchange.ratings import stripped
from labeler.exchange.responses import indexed, indexed_by_vespa, is_hit
from labeler.exchange.shapes import HEAD, JSON_LINES, XML, is_of_lines
from labeler.exchange.tables import (
    Rows,
    delimiter_of,
    described,
    first_line,
    in_words,
    numbered_objects,
    part_of,
    rows_of_text,
)
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject, NumberedRow, RowValues, identifier
from labeler.files.read import rereadable
from labeler.messages import tell
from labeler.trec.values import QUERY_ID


def rows_of_any(path: Path, names: str) -> Rows:
    """The rows of a table in text, JSON Lines, an array of JSON or Parquet.

    `names` says in a message which columns would have worked.
    """
    held = held_by(path)
    rows = rows_in(held)
    if rows is not None:
        return with_all_columns(rows)
    line = first_line(held.head)
    delimiter = delimiter_of(line)
    if held.shape == XML or delimiter not in line:
        raise BadInput(f"{path}: expected a table whose first row names its columns: {names}")
    return rows_of_text(path, delimiter)


def with_all_columns(rows: Rows) -> Rows:
    """The rows with the columns of them all: a row may lack what others have."""
    if rows.columns:
        return rows
    held = list(rows.rows)
    columns = dict.fromkeys(name for _, row in held for name in row)
    return replace(rows, columns=tuple(columns), rows=held)


def rows_in(held: Held) -> Rows | None:
    """The rows of JSON, JSON Lines or Parquet, without what a search engine wraps them in.

    `None` of a table of text, or of text.
    """
    path, rows = held.path, held.rows
    if held.contents is not None:
        return held.records(held.contents, DOCUMENTS)
    if held.value is not None:
        return _of_json(held)
    if rows is None or held.shape != JSON_LINES:
        return rows
    return _unwrapped(path, "JSON Lines", rows.rows)


def _of_json(held: Held) -> Rows:
    path, value = held.path, held.value
    rows = listed(path, value)
    is_one_line = is_of_lines(path) or (len(held.head) < HEAD and b"\n" not in held.head.strip())
    if rows is None and isinstance(value, dict) and is_one_line:
        rows = _unwrapped(path, "JSON Lines", [(1, value)])
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; expected an array of documents, or hits")
    return rows


def listed(path: Path, value: Any) -> Rows | None:
    """The objects of a JSON value that is a list of them, or that holds one."""
    rows = _listed(value)
    return None if rows is None else _unwrapped(path, "JSON", numbered_objects(path, rows))


def _listed(value: Any) -> list[Any] | None:
    """The documents of a JSON value; `None` where it holds no list of them."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if len(value) > 1 and all(isinstance(text, str) for text in value.values()):
        texts = [{"_id": id_, "text": text} for id_, text in value.items()]
        return texts if are_ids(value) else None
    lists = [*filter(None, map(objects, value.values()))]
    if len(lists) == 1:
        return lists[0]
    return _keyed(value) if objects([*value.values()]) else None


def _keyed(value: Mapping[str, RowValues]) -> list[Any] | None:
    """The documents of `{id: {…}}`, whose objects have the same keys throughout."""
    keys = [frozenset(row) for row in value.values()]
    if len(keys) < 2 or keys[0] != keys[-1] or len(set(keys)) > 2:
        return None
    return [{"_id": id_, **row} for id_, row in value.items()]


def _unwrapped(path: Path, form: str, rows: Iterable[NumberedRow]) -> Rows:
    """The rows without lines of actions, and in place of hits what these hold."""
    left = Counter[str]()
    return Rows(path, form, (), _documents(path, rows, left), left=left)


def _documents(
    path: Path, rows: Iterable[NumberedRow], left: Counter[str]
) -> Iterator[NumberedRow]:
    action: RowValues | None = None
    count = 0
    for number, row in rows:
        inner = action_of(row)
        removes = row.keys() == {"remove"} or (inner is not None and "delete" in row)
        updates = str(row.get("update")).startswith("id:") and "fields" in row
        if removes or updates:
            left["update" if updates else "removal"] += 1
        if removes or updates or inner is not None:
            action = None if removes else inner
            continue
        source = indexed_by_vespa(row) or (indexed(row) if is_hit(row) else row)
        if action is not None:
            update = source.get("doc")
            source = update if len(source) == 1 and isinstance(update, dict) else source
            if "_id" in action and "_id" not in source:
                source = {"_id": action["_id"], **source}
        action = None
        if not source:
            raise BadInput.at(path, number, "a hit without what was indexed (_source, fields)")
        count += 1
        yield number, source
    if left and not count:
        problem = "nothing but updates and removals, of which no document can be made"
        raise BadInput(f"{path}: {problem}")


def is_fed(held: Held) -> bool:
    """Whether rows are wrapped as a search engine takes or gives documents."""
    rows = held.rows.rows if held.rows else enumerate(_listed(held.value) or ())
    _, first = next(iter(rows), (0, {}))
    return action_of(first) is not None or bool(indexed_by_vespa(first)) or is_hit(first)


# What is known of queries beside their texts: a table with their ids, and any other columns.

QueryFacts = dict[str, JsonObject]
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
            facts[query_id] = with_metadata(row, ids.column)
    if not facts:
        raise BadInput(f"{path}: no row in it")
    return facts


def stripped_id(path: Path, number: int, row: RowValues, column: str) -> str:
    """The id in a column, without white space around it."""
    return identifier(path, number, {**row, column: stripped(row.get(column))}, column)


def with_metadata(row: RowValues, *used: str) -> JsonObject:
    """The columns of a row but those used, and beside them what its `metadata` hold."""
    inner = row.get("metadata") or {}
    if not isinstance(inner, dict):
        raise BadRow(f"expected 'metadata' to be an object, found {inner!r:.80}")
    return {**{k: v for k, v in row.items() if k not in (*used, "metadata")}, **inner}
