"""`queries.jsonl` as BEIR writes it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from labeler.collection.layout import check_locked
from labeler.collection.rows import Row, records, repeated_id
from labeler.data import Query
from labeler.errors import Misuse
from labeler.files.jsonl import write_rows
from labeler.files.read import numbered_lines


def read_queries(path: Path) -> dict[str, Query]:
    """The queries of a `queries.jsonl` by id, in the file's order."""
    queries: dict[str, Query] = {}
    for number, query in records(path, lambda row: (row.number, query_in(row))):
        if query.id in queries:
            raise repeated_id(path, number, query.id)
        queries[query.id] = query
    return queries


def query_texts(path: Path) -> dict[str, str]:
    """The texts of the queries of a `queries.jsonl` by id."""
    return {query.id: query.text for query in read_queries(path).values()}


def query_in(row: Row) -> Query:
    """The query of a row."""
    return Query(row.id("_id"), row.text("text", None), row.object("metadata"))


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Write a `queries.jsonl`; it reads back as the same queries."""
    check_locked(path.parent)
    rows = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in queries)
    write_rows(path, rows, check=read_queries)


# Ids that people name.


def parse_ids(text: str | None, parameter: str) -> dict[str, str] | None:
    """Ids with commas, or a file with one a line; None where nothing was named.

    Each id comes with the place where it stands, `FILE:LINE` or nothing. `parameter` is the one
    that the text was given for.
    """
    if text is None:
        return None
    path = Path(text)
    if os.path.isfile(text):  # which says no of a list that is too long for a name
        lines = ((n, line.split()) for n, line in numbered_lines(path))
        origins = {words[0]: f"{path}:{n}" for n, words in lines if words and words[0][0] != "#"}
    else:
        origins = dict.fromkeys(filter(None, (part.strip() for part in text.split(","))), "")
    if not origins:
        raise Misuse(f"{text!r} names no id", parameter=parameter)
    return origins
