"""Queries of one's own: one a line, as TSV, or as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labeler.collection.rows import metadata_of, repeated_id
from labeler.data import Query
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows, text_of
from labeler.files.read import numbered_lines

_IDS = ("_id", "id", "query_id", "qid")
_TEXTS = ("text", "query", "question")
_ORIGIN = {"origin": "real"}


def read_query_list(path: Path) -> dict[str, Query]:
    """The queries of a file by id, in the file's order.

    `.jsonl`: objects with `text` (or `query`, `question`), perhaps an `_id`; the rest is metadata.
    `.tsv`: id and text, perhaps a first row with the columns' names, which may then name more.
    Anything else: a query a line. Queries without an id are called `q1`, `q2` … in order.
    """
    name = path.name.casefold().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        rows: Iterable[tuple[int, dict[str, Any]]] = read_rows(path)
    elif name.endswith(".tsv"):
        rows = _tsv_rows(path)
    else:
        rows = _lines(path)
    queries = _numbered(path, rows)
    if not queries:
        raise BadInput(f"{path}: no query in it; expected one a line, TSV or JSON Lines")
    return queries


def _numbered(path: Path, rows: Iterable[tuple[int, dict[str, Any]]]) -> dict[str, Query]:
    queries: dict[str, Query] = {}
    texts: dict[str, str] = {}
    with reading(path) as position:
        for count, (number, row) in enumerate(position.follow(rows), start=1):
            query = _query(path, number, row, f"q{count}")
            if query.id in queries:
                raise repeated_id(path, number, query.id)
            if texts.setdefault(query.text, query.id) != query.id:
                same = f"the same query as {texts[query.text]!r}: {query.text[:60]!r}"
                raise position.error(f"{same}; keep one of them")
            queries[query.id] = query
    return queries


def _query(path: Path, number: int, row: dict[str, Any], fallback: str) -> Query:
    id_key = _key(path, number, row, _IDS)
    text_key = _key(path, number, row, _TEXTS) or "text"
    text = " ".join(text_of(path, number, row, text_key, None).split())
    if not text:
        raise BadInput.at(path, number, "a query without text")
    query_id = identifier(path, number, row, id_key) if id_key else fallback
    rest = {k: v for k, v in row.items() if k not in (id_key, text_key, "metadata")}
    return Query(query_id, text, {**_ORIGIN, **rest, **metadata_of(path, number, row)})


def _key(path: Path, number: int, row: dict[str, Any], names: Sequence[str]) -> str | None:
    """The one of these names that a row has; `BadInput` where it has two that say different."""
    keys = [name for name in names if name in row]
    if any(row[key] != row[keys[0]] for key in keys):
        both = " and ".join(map(repr, keys))
        raise BadInput.at(path, number, f"{both} could each be the query's; rename or remove one")
    return keys[0] if keys else None


def _lines(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        if "\t" in line.strip():
            problem = "a tab in a line; where the file holds ids and texts, call it .tsv"
            raise BadInput.at(path, number, problem)
        if line.strip():
            yield number, {"text": line}


def _tsv_rows(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """The rows by column: named by the first row where that names an id and a text."""
    names = ["_id", "text"]
    for position, (number, line) in enumerate(
        (number, line) for number, line in numbered_lines(path) if line.strip()
    ):
        cells = [cell.strip() for cell in line.split("\t")]
        header = [cell.casefold() for cell in cells]
        if position == 0 and set(header) & set(_IDS) and set(header) & set(_TEXTS):
            names = header
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise BadInput.at(path, number, f"two columns have the name {twice!r}")
            continue
        if len(cells) != len(names):
            problem = f"expected {len(names)} columns ({', '.join(names)}), found {len(cells)}"
            raise BadInput.at(path, number, problem)
        yield number, dict(zip(names, cells, strict=True))
