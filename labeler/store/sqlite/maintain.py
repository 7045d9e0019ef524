"""Looking after a store in a file: check it, count it, forget replies, and give back their room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labeler.store.base import (
    FORGOTTEN_AT_ONCE,
    REPLY,
    ROWS_AT_ONCE,
    ModelCount,
    Verified,
    timestamp_of,
)
from labeler.store.keys import checksum
from labeler.store.sqlite.store import SqliteStore


def verify(store: SqliteStore) -> Verified:
    """Check the file's structure, and every row against its checksum."""
    with store.reading() as connection:
        report = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    problems = [line for line in report if line != "ok"]
    count = 0
    for number, stored_sum, *values in _rows(store, f"checksum, {REPLY}", "replies"):
        count += 1
        if stored_sum != checksum(*values):
            problems.append(f"reply {number} ({values[0].hex()[:16]}…)")
    for number, stored_sum, *values in _rows(store, "checksum, request, body", "wires"):
        if stored_sum != checksum(*values):
            problems.append(f"request or body of reply {number}")
    return Verified(count, tuple(problems))


def _rows(store: SqliteStore, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a table, a few at a time, in the order in which they were written."""
    last = 0
    query = f"SELECT id, {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT {ROWS_AT_ONCE}"
    while True:
        with store.reading() as connection:
            rows = connection.execute(query, (last,)).fetchall()
        if not rows:
            return
        yield from rows
        last = rows[-1][0]


def statistics(store: SqliteStore) -> list[ModelCount]:
    """What is kept, by model, most replies first."""
    query = (
        "SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost), min(at),"
        " max(at) FROM replies GROUP BY model ORDER BY 2 DESC, 1"
    )
    with store.reading() as connection:
        return [ModelCount(*row) for row in connection.execute(query)]


def prune(store: SqliteStore, model: str | None, before: str | None) -> int:
    """Forget the replies of a model, or from before a day (`2026-01-31`); how many.

    Each transaction forgets some of them, so that processes that judge meanwhile wait for none
    long.
    """
    conditions, values = ["id > ?"], list[Any]()
    if model is not None:
        conditions.append("model = ?")
        values.append(model)
    if before is not None:
        conditions.append("at < ?")
        values.append(timestamp_of(before))
    query = f"SELECT id FROM replies WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?"
    forgotten, last = 0, 0
    while True:
        with store.writing() as connection:
            ids = connection.execute(query, (last, *values, FORGOTTEN_AT_ONCE)).fetchall()
            connection.executemany("DELETE FROM wires WHERE id = ?", ids)
            connection.executemany("DELETE FROM replies WHERE id = ?", ids)
        if not ids:
            return forgotten
        forgotten, last = forgotten + len(ids), ids[-1][0]


def collect_garbage(store: SqliteStore) -> tuple[int, int]:
    """Give unused room back to the disk; the file's bytes before and after."""
    with store.reading() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = store.path.stat().st_size
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, store.path.stat().st_size
