"""The rows of a store in a file: written once under their keys, and copied as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from labeler.store.base import KeyedReply
from labeler.store.columns import REPLY, values_of
from labeler.store.keys import checksum

ROWS_OF_A_CHUNK = 500
_MARKS = ",".join("?" * (REPLY.count(",") + 1))
_INSERT_REPLY = f"INSERT OR IGNORE INTO replies (checksum, {REPLY}) VALUES (?, {_MARKS})"
_INSERT_WIRE = "INSERT OR REPLACE INTO wires VALUES (?, ?, ?, ?)"


def insert(connection: sqlite3.Connection, keyed_reply: KeyedReply, *, redacted: bool) -> bool:
    """Whether the reply is the first under its key, and so was kept."""
    values = values_of(keyed_reply)
    done = connection.execute(_INSERT_REPLY, (checksum(*values), *values))
    if done.rowcount != 1:
        return False
    request = None if redacted else keyed_reply.request
    wire = (request, keyed_reply.reply.body)
    connection.execute(_INSERT_WIRE, (done.lastrowid, checksum(*wire), *wire))
    connection.execute("DELETE FROM failures WHERE key = ?", (keyed_reply.key,))
    return True


def insert_facts(connection: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    """Insert facts; one of a name that is there stays as it is."""
    connection.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", facts.items())


def copy_facts(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy the facts of a store into another one, but for those whose names are there."""
    insert_facts(target, dict(source.execute("SELECT name, value FROM facts")))


def copy_rows(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """Copy the replies of a store into another one, as they are; how many were new there.

    What cannot be read of the source, or is not as it was written, is passed over.
    """
    columns = f"id, replies.checksum, {REPLY}, wires.checksum, request, body"
    query = f"SELECT {columns} FROM replies JOIN wires USING (id) WHERE id > ? AND id <= ?"
    copied, last = 0, _last_number(source)
    for start in range(0, last, ROWS_OF_A_CHUNK):
        rows: list[tuple[Any, ...]] = []
        with suppress(sqlite3.DatabaseError):
            rows = source.execute(query, (start, start + ROWS_OF_A_CHUNK)).fetchall()
        copied += insert_whole(target, rows)
    return copied


def insert_whole(target: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
    """Insert replies of another store with what came over the wire; how many were new.

    What is not as it was written is passed over.
    """
    copied = 0
    for _, reply_sum, *reply, wire_sum, request, body in rows:
        if (reply_sum, wire_sum) != (checksum(*reply), checksum(request, body)):
            continue
        done = target.execute(_INSERT_REPLY, (reply_sum, *reply))
        if done.rowcount == 1:
            copied += 1
            target.execute(_INSERT_WIRE, (done.lastrowid, wire_sum, request, body))
    return copied


def _last_number(connection: sqlite3.Connection) -> int:
    with suppress(sqlite3.DatabaseError):
        row = connection.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()
        return int(row[0])
    return 0
