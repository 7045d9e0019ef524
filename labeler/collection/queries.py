"""`queries.jsonl` as BEIR writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labeler.collection.corpus import _metadata, _must_be_there, _twice
from labeler.data import Query
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows


def read_queries(path: Path) -> dict[str, Query]:
    """The queries of a `queries.jsonl` by id, in the file's order."""
    queries: dict[str, Query] = {}
    _must_be_there(path)
    for number, row in read_rows(path):
        text = text_of(path, number, row, "text", None)
        query = Query(identifier(path, number, row, "_id"), text, _metadata(path, number, row))
        if query.id in queries:
            raise _twice(path, number, query.id)
        queries[query.id] = query
    return queries


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write a `queries.jsonl`; it reads back as the same queries."""
    rows = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in queries)
    write_rows(path, rows, check=read_queries)
