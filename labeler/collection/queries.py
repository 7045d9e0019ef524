"""`queries.jsonl` as BEIR writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labeler.collection.lock import check_locked
from labeler.collection.rows import check_exists, metadata_of, repeated_id
from labeler.data import Query
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows, text_of, write_rows


def read_queries(path: Path) -> dict[str, Query]:
    """The queries of a `queries.jsonl` by id, in the file's order."""
    queries: dict[str, Query] = {}
    check_exists(path)
    with reading(path) as position:
        for number, row in position.follow(read_rows(path)):
            query_id, text = (
                identifier(path, number, row, "_id"),
                text_of(path, number, row, "text", None),
            )
            if query_id in queries:
                raise repeated_id(path, number, query_id)
            queries[query_id] = Query(query_id, text, metadata_of(path, number, row))
    return queries


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write a `queries.jsonl`; it reads back as the same queries."""
    check_locked(path.parent)
    rows = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in queries)
    write_rows(path, rows, check=read_queries)
