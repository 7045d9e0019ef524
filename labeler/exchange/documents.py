"""Rows of documents as other tools write them: search responses, `_bulk` files, arrays, tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.fields import action_of
from labeler.exchange.shapes import HEAD, JSON, JSON_LINES, PARQUET, head_of, shape_of
from labeler.exchange.tables import (
    Row,
    Rows,
    described,
    json_value,
    rows_of_array,
    rows_of_parquet,
)
from labeler.files.jsonl import read_rows

_HIT = "_source"
_LINES = (".jsonl", ".ndjson")


def document_rows(path: Path) -> Rows | None:
    """The rows of JSON, JSON Lines or Parquet, without what a search engine wraps them in.

    `None` of a table of text, or of text.
    """
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        return rows_of_parquet(path)
    if shape == JSON_LINES:
        return _of_lines(path)
    return _of_json(path, head) if shape == JSON else None


def _of_lines(path: Path) -> Rows:
    rows = read_rows(path)
    first = next(rows, (1, {}))
    form = "JSON Lines"
    if action_of(first[1]) is not None:
        form = "a _bulk file"
    elif isinstance(first[1].get(_HIT), dict):
        form = "OpenSearch hits"
    return Rows(form, (), _unwrapped(path, chain([first] if first[1] else [], rows)))


def _of_json(path: Path, head: bytes) -> Rows:
    is_of_lines = path.name.removesuffix(".gz").endswith(_LINES)
    try:
        value = json_value(path)
    except BadInput:
        if not is_of_lines:
            raise
        return _of_lines(path)  # which names the line that is none
    rows, form = _listed(value)
    is_one_line = is_of_lines or (len(head) < HEAD and b"\n" not in head.strip())
    if rows is None and isinstance(value, dict) and is_one_line:
        return _of_lines(path)
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; expected an array of documents, or hits")
    return Rows(form, (), _unwrapped(path, rows_of_array(path, rows).rows))


def _listed(value: Any) -> tuple[list[Any] | None, str]:
    """The documents of a JSON value, and what it is; `None` where it holds no list of them."""
    if isinstance(value, dict):
        return _of_object(value)
    if not isinstance(value, list):
        return None, ""
    nested = [row for part in value if _is_response(part) for row in part["hits"]["hits"]]
    return (nested, "search responses") if nested else (value, "a JSON array")


def _of_object(value: dict[str, Any]) -> tuple[list[Any] | None, str]:
    if _is_response(value):
        return value["hits"]["hits"], "a search response"
    if isinstance(value.get("responses"), list):
        return _listed(value["responses"])
    response = value.get("response")
    if isinstance(response, dict) and isinstance(response.get("docs"), list):
        return response["docs"], "Solr's response"
    lists = [name for name, inner in value.items() if _are_objects(inner)]
    if len(lists) == 1:
        return value[lists[0]], f"a JSON array called {lists[0]!r:.40}"
    return _keyed(value) if _are_objects(list(value.values())) else (None, "")


def _keyed(value: Mapping[str, Mapping[str, Any]]) -> tuple[list[Any] | None, str]:
    """The documents of `{id: {…}}`, whose objects have the same keys throughout."""
    keys = [frozenset(row) for row in value.values()]
    if len(keys) < 2 or keys[0] != keys[-1] or len(set(keys)) > 2:
        return None, ""
    return [{"_id": id_, **row} for id_, row in value.items()], "JSON ({id: {…}})"


def _is_response(part: Any) -> bool:
    hits = part.get("hits") if isinstance(part, dict) else None
    return isinstance(hits, dict) and isinstance(hits.get("hits"), list)


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
