"""The tables of a store, by version, and how one version becomes the next."""

from __future__ import annotations

import sqlite3

from labeler.store.keys import checksum

APPLICATION_ID = 0x6C61626C  # "labl"
VERSION = 2

REPLY = (
    "key, model, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, at, cost,"
    " top_tokens"
)
"""The columns of a reply that its checksum covers, in the order in which it does."""

TABLES = """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    checksum BLOB NOT NULL,
    model TEXT NOT NULL,
    served TEXT NOT NULL,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    refusal TEXT,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at REAL NOT NULL,
    cost REAL,
    top_tokens TEXT
) STRICT;
CREATE TABLE wires (
    id INTEGER PRIMARY KEY,
    checksum BLOB NOT NULL,
    request TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE failures (
    key BLOB PRIMARY KEY,
    at REAL NOT NULL,
    status TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE owners (
    id INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,
    until REAL NOT NULL,
    until_wall REAL NOT NULL
) STRICT;
CREATE TABLE leases (
    key BLOB PRIMARY KEY,
    owner INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a store of an older version to `VERSION`, inside the caller's transaction."""
    if version == 1:
        _from_1_to_2(connection)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    """Move the wide texts to a table of their own; add checksums, failures, facts and leases."""
    connection.execute("ALTER TABLE replies RENAME TO old")
    for statement in filter(str.strip, TABLES.split(";")):
        connection.execute(statement)
    read = REPLY.replace("cost", "NULL")
    for number, row in enumerate(connection.execute(f"SELECT {read} FROM old ORDER BY rowid"), 1):
        marks = ",".join("?" * len(row))
        values = (number, checksum(*row), *row)
        connection.execute(
            f"INSERT INTO replies (id, checksum, {REPLY}) VALUES (?, ?, {marks})", values
        )
    wires = connection.execute("SELECT request, body FROM old ORDER BY rowid")
    for number, (request, body) in enumerate(wires, 1):
        row = (number, checksum(request, body), request, body)
        connection.execute("INSERT INTO wires VALUES (?, ?, ?, ?)", row)
    connection.execute("DROP TABLE old")
