"""Replies copied from one store's file into another's, as they were written."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from labeler.files.paths import true_path
from labeler.store.columns import REPLY
from labeler.store.sqlite.leases import in_parts
from labeler.store.sqlite.open import store_problems
from labeler.store.sqlite.rows import copy_facts, copy_rows, insert_whole
from labeler.store.sqlite.store import SqliteStore, open_store


def copy_file(source: Path, target: SqliteStore) -> int:
    """Copy all replies of a store's file, and its facts, into an open store; how many were new."""
    with open_store(source) as other, other.reading() as rows, target.writing() as connection:
        copy_facts(rows, connection)
        return copy_rows(rows, connection)


def copy_keys(source: Path, target: Path, keys: Sequence[bytes]) -> None:
    """Copy the replies under some keys into a store's file, which is made where there is none."""
    columns = f"id, replies.checksum, {REPLY}, wires.checksum, request, body"
    address = f"{true_path(source).as_uri()}?mode=ro"
    opened = closing(sqlite3.connect(address, uri=True))
    with store_problems(source), opened as rows, open_store(target) as store:
        for some, marks in in_parts(keys):
            query = f"SELECT {columns} FROM replies JOIN wires USING (id) WHERE key IN ({marks})"
            with store.writing() as connection:
                insert_whole(connection, rows.execute(query, some).fetchall())
