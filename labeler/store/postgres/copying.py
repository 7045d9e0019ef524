"""Replies of a file sent into the database: those that it could not take in, or all of a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from labeler.errors import LabelerError
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.store.base import Waiting
from labeler.store.columns import REPLY
from labeler.store.keys import checksum
from labeler.store.postgres.rows import StoredRow
from labeler.store.postgres.store import PostgresStore
from labeler.store.sqlite.open import store_problems
from labeler.store.sqlite.rescue import saved_beside

ROWS_AT_ONCE = 500
_ALL = (
    f"SELECT replies.checksum, {REPLY}, wires.checksum, request, body"
    " FROM replies JOIN wires USING (id) ORDER BY id"
)


def copy_file(path: Path, store: PostgresStore) -> int:
    """Send the replies of a store in a file into the database; how many were new there.

    The facts of the file come along, where the database has none of their names: without the secret
    of its marks, replies are not found again. What is not as it was written is passed over.
    """
    with store_problems(path), closing(_opened(path, "ro")) as source:
        return _copy(source, store)


def send_unsent(store: PostgresStore, waiting: Waiting) -> None:
    """Send what earlier runs could not, and remove the files that held it."""
    unsent = store.address.unsent
    if unsent is None:
        return
    for saved in saved_beside(unsent):
        with suppress(LabelerError), store_problems(saved):
            with closing(_opened(saved, "rw")) as source:
                source.execute("BEGIN EXCLUSIVE")
                copied = _copy(source, store)
            saved.unlink()
            waiting.note(f"took in {count_of(copied, 'reply', 'replies')} from {saved}")


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{true_path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)


def _copy(source: sqlite3.Connection, store: PostgresStore) -> int:
    for name, value in source.execute("SELECT name, value FROM facts").fetchall():
        store.learn_once(name, value)
    return sum(store.take_in(rows) for rows in _whole_rows(source))


def _whole_rows(source: sqlite3.Connection) -> Iterator[list[StoredRow]]:
    """The rows that are as they were written, some hundreds at a time."""
    stored = source.execute(_ALL)
    while batch := stored.fetchmany(ROWS_AT_ONCE):
        rows = []
        for reply_sum, *reply, wire_sum, request, body in batch:
            if (reply_sum, wire_sum) == (checksum(*reply), checksum(request, body)):
                rows.append(StoredRow(reply_sum, tuple(reply), wire_sum, request, body))
        if rows:
            yield rows
