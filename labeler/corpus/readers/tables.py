"""Read documents from the rows of a table: CSV, TSV, Parquet, JSON, JSON Lines, BEIR's too."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from labeler.corpus.blocks import SourceDocument, SourceText
from labeler.corpus.readers.outline import read_plaintext
from labeler.errors import BadInput, BadRow
from labeler.exchange.contents import QUERIES, role_of
from labeler.exchange.documents import (
    ALL,
    IDS,
    TEXTS,
    TITLES,
    USUAL,
    check_has_text,
    paths_of,
    takes_all_columns,
)
from labeler.exchange.fields import FieldNames, value_at
from labeler.exchange.formats import held_by, rows_in, table_rows
from labeler.exchange.responses import is_plumbing
from labeler.exchange.tables import rows_of_json_lines
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject, NumberedRow, RowIndex, RowValues, identifier
from labeler.messages import count_of, tell

ROWS = (".jsonl", ".ndjson", ".json", ".parquet", ".arrow")
"""The endings of files of rows that are no tables of text."""

_OF_QUERIES = frozenset(("_id", "id", "text", "metadata"))


def documents_of_file(path: Path, kind: str, fields: FieldNames) -> Iterator[SourceDocument]:
    """The documents of a file of rows: CSV, TSV, JSON Lines, JSON or Parquet."""
    held = held_by(path)
    read = rows_in(held)
    if read is None and kind in ROWS:
        read = rows_of_json_lines(path)
    read = read or table_rows(held, kind)
    rows = iter(read.rows)
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path}: empty")
    if role_of(path.name) == QUERIES and _OF_QUERIES.issuperset(map(str.casefold, first[1])):
        raise BadInput(
            f"{path}: queries by its name, and with texts alone; name it as documents if it holds "
            "those"
        )
    check_has_text(path, first[1], fields)
    yield from documents_of_rows(path, chain([first], rows), fields)
    all_of_them = takes_all_columns(first[1], fields)
    more = "; none is called the text, so all are, each with its name" if all_of_them else ""
    left = "".join(f"; left: {count_of(number, what)}" for what, number in read.left.items())
    columns = ", ".join(paths_of(first[1]))
    tell(path, f"documents from {read.form} (columns {columns}){more}{left}")


def documents_of_rows(
    path: Path, rows: Iterable[NumberedRow], fields: FieldNames = USUAL
) -> Iterator[SourceDocument]:
    """The documents of rows, their columns known by name, or as `fields` calls them.

    A row's id stays as it is, and the row whole, even an empty one (public corpora have them, and
    qrels that name them); without one, its text is cut into passages. Where a column is called the
    title and none the text, or where `fields` says `*`, all others are the text, each with its
    name.
    """
    ids, lines = RowIndex(), array("q")
    with reading(path) as position:
        for number, row in position.follow(rows):
            document = _document(path, number, row, fields)
            if document.id is not None:
                first = ids.add(document.id)
                if first < len(lines):
                    raise position.error(
                        f"the id {document.id!r:.80} stands in line {lines[first]} too"
                    )
                lines.append(number)
            yield document


def _document(path: Path, number: int, row: JsonObject, fields: FieldNames) -> SourceDocument:
    row = _named(row, fields)
    names = {name.casefold(): name for name in reversed(row)}
    id_key, title_key, text_key = (
        next((names[name] for name in usual if name in names), None)
        for usual in (IDS, TITLES, TEXTS)
    )
    if len(names) < len(row):
        _refuse_alike(row, (id_key, title_key, text_key))
    row_id = identifier(path, number, row, id_key) if id_key else None
    title = _string(row, title_key) if title_key else ""
    if text_key and fields.text_field != ALL:
        text = _string(row, text_key)
        rest = {k: v for k, v in row.items() if k not in (id_key, title_key, text_key)}
    else:
        text, rest = _text_of_columns(row, {id_key, title_key})
        _refuse_hidden_text(_length(row) - _length(rest), rest)
    if row_id is None and not (text.strip() or title.strip()):
        raise BadRow("a document without text and title")
    blocks = [] if row_id is not None else read_plaintext(text or title)[1]
    spans_in = SourceText(text, own=False) if text and row_id is None else None
    return SourceDocument(title, blocks, number, row_id, text, _metadata(rest), spans_in)


def _named(row: JsonObject, fields: FieldNames) -> JsonObject:
    """The row with its named fields under the usual names, and without what these were called."""
    named = {"_id": fields.id_field, "title": fields.title_field, "text": fields.text_field}
    named = {usual: name for usual, name in named.items() if name not in ("", ALL)}
    values = {}
    for usual, called in named.items():
        value = value_at(row, called)
        is_of_queries = usual == "_id" and fields.query_field
        if value is None and usual != "title" and not is_of_queries:
            parameter = f"{usual.removeprefix('_')}_field"
            raise BadRow(
                f"no field {called!r}; the row has {', '.join(paths_of(row)) or 'none'}",
                parameter=parameter,
            )
        if value is not None or not is_of_queries:
            is_whole = usual == "_id" and isinstance(value, float) and value.is_integer()
            values[usual] = int(value) if is_whole else value
    taken = {*named.values(), *named, *(n for n in row if n.casefold() in named)}
    return {**values, **{name: value for name, value in row.items() if name not in taken}}


def _refuse_hidden_text(length: int, rest: RowValues) -> None:
    """`BadInput` of a row whose texts are nested for the greater part: nobody can guess which."""
    nested = {name: value for name, value in rest.items() if name.casefold() != "metadata"}
    if _length(nested) > length:
        raise BadRow(
            f"the text is nested, in {', '.join(paths_of(nested))}; which is it?",
            parameter="text_field",
        )


def _length(value: Any) -> int:
    """The length of all strings in a nested value; what a search engine adds is none."""
    if isinstance(value, Mapping):
        return sum(_length(inner) for name, inner in value.items() if not is_plumbing(name))
    if isinstance(value, list):
        return sum(map(_length, value))
    return len(value.strip()) if isinstance(value, str) else 0


def _refuse_alike(row: RowValues, keys: Iterable[str | None]) -> None:
    """`BadInput` where a column that is read differs from another one in letter case alone."""
    for key in filter(None, keys):
        first, *others = (name for name in row if name.casefold() == key.casefold())
        if others:
            raise BadRow(f"{first!r:.80} and {others[0]!r:.80} are one name; rename or remove one")


def _string(row: RowValues, key: str) -> str:
    value = row[key]
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value)  # Solr's fields, and those that OpenSearch returns, are lists
    if not isinstance(value, str):
        raise BadRow(f"expected {key!r} to be a string, found {value!r:.40}")
    return value


def _text_of_columns(row: RowValues, used_keys: set[str | None]) -> tuple[str, JsonObject]:
    shown = {
        k: v
        for k, v in row.items()
        if k not in used_keys and isinstance(v, str | int | float) and not is_plumbing(k)
    }
    text = "\n".join(f"{key}: {value}" for key, value in shown.items() if str(value).strip())
    return text, {k: v for k, v in row.items() if k not in used_keys and k not in shown}


def _metadata(rest: JsonObject) -> JsonObject:
    """Return a row's `metadata` together with its columns that have no other use."""
    inner = rest.pop("metadata", None) or {}
    if not isinstance(inner, dict):
        raise BadRow("expected 'metadata' to be an object")
    values = {**inner, **{key: value for key, value in rest.items() if value not in ("", None)}}
    return {key: _as_json(key, value) for key, value in values.items()}


def _as_json(key: str, value: Any) -> Any:
    """A value of a row as JSON has it: dates, times and exact numbers as text."""

    def text_of(inner: Any) -> str:
        if isinstance(inner, date | time | timedelta | Decimal | UUID):
            return str(inner)
        raise BadRow(f"expected text or numbers in {key!r}, found {type(inner).__name__}")

    is_plain = isinstance(value, str | bool | int | float)
    return value if is_plain else json.loads(json.dumps(value, default=text_of))
