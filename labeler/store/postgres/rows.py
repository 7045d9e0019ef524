"""The rows of a store in PostgreSQL: many written by one statement, and read back as they were."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.store.base import KeyedReply, Record
from labeler.store.columns import REPLY, values_of
from labeler.store.keys import checksum

if TYPE_CHECKING:
    from pg8000.native import Connection

_COLUMNS = REPLY.split(", ")
_TEXTS = frozenset({"model", "served", "text", "finish_reason", "refusal", "sent", "top_tokens"})
_BYTES = _TEXTS | {"key"}
_REALS = frozenset({"at", "cost"})


def _kind(column: str) -> str:
    """What a column is in JSON: bytes are in hex."""
    if column in _BYTES:
        return f"{column} text"
    return f"{column} {'double precision' if column in _REALS else 'bigint'}"


def _from_json(column: str) -> str:
    return f"decode({column}, 'hex')" if column in _BYTES else column


_INSERT = f"""
WITH given AS (
    SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS row(
        number integer, checksum text, {", ".join(map(_kind, _COLUMNS))},
        wire_sum text, request text, body text
    )
), kept AS (
    INSERT INTO labeler.replies (checksum, {REPLY})
    SELECT decode(checksum, 'hex'), {", ".join(map(_from_json, _COLUMNS))}
    FROM given ORDER BY number
    ON CONFLICT (key) DO NOTHING RETURNING id, key
), wired AS (
    INSERT INTO labeler.wires (id, checksum, request, body)
    SELECT DISTINCT ON (kept.id) kept.id, decode(wire_sum, 'hex'), decode(request, 'hex'),
        decode(body, 'hex')
    FROM kept JOIN given ON decode(given.key, 'hex') = kept.key ORDER BY kept.id, given.number
), cleared AS (
    DELETE FROM labeler.failures WHERE key IN (SELECT key FROM kept)
)
SELECT key FROM kept
"""


class StoredRow(NamedTuple):
    """A reply as it is written: its checksum, its columns, and its request and body with theirs."""

    checksum: bytes
    values: Sequence[Any]
    wire_sum: bytes
    request: str | None
    body: bytes


def row_of(keyed: KeyedReply, *, redacted: bool) -> StoredRow:
    """A reply as a row, without its request's text where that is `redacted`."""
    values = values_of(keyed)
    wire = (None if redacted else keyed.request, keyed.reply.body)
    return StoredRow(checksum(*values), values, checksum(*wire), *wire)


def insert(connection: Connection, rows: Iterable[StoredRow]) -> set[bytes]:
    """Write rows; the keys of those that are the first under their keys, and so were kept."""
    written = json.dumps([_as_json(number, row) for number, row in enumerate(rows)])
    return {bytes(key) for (key,) in connection.run(_INSERT, rows=written) or ()}


def _as_json(number: int, row: StoredRow) -> dict[str, Any]:
    cells = zip(_COLUMNS, row.values, strict=True)
    return {
        "number": number,
        "checksum": row.checksum.hex(),
        **{name: _hex(value) if name in _BYTES else value for name, value in cells},
        "wire_sum": row.wire_sum.hex(),
        "request": _hex(row.request),
        "body": _hex(row.body),
    }


def _hex(value: str | bytes | None) -> str | None:
    if value is None:
        return None
    return (value if isinstance(value, bytes) else bytes_of(value)).hex()


def bytes_of(text: str) -> bytes:
    """A text as it is kept."""
    return text.encode("utf-8", "surrogatepass")


def text_of(value: bytes) -> str:
    """A kept text."""
    return bytes(value).decode("utf-8", "surrogatepass")


def values_in(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row of `REPLY` as it was before it was written."""
    return tuple(
        value
        if value is None
        else text_of(value)
        if name in _TEXTS
        else bytes(value)
        if name == "key"
        else value
        for name, value in zip(_COLUMNS, row, strict=True)
    )


_RECORD = (
    "at, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, cost, request,"
    " body"
)
RECORDS = f"SELECT {_RECORD} FROM labeler.replies JOIN labeler.wires USING (id)"
"""What `record_in` reads."""


def record_in(row: Sequence[Any]) -> Record:
    """All that is kept of a reply."""
    at, served, text, ending, refusal, tokens_in, tokens_out, cost, request, body = row
    texts = text_of(served), text_of(text), text_of(ending)
    refused = None if refusal is None else text_of(refusal)
    asked = None if request is None else text_of(request)
    return Record(at, *texts, refused, tokens_in, tokens_out, cost, asked, bytes(body))
