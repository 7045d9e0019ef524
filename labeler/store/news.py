"""News of failed calls: which of them another process need not try again.

A failure's time is made negative once its key is asked again: it is then the last run's.
All of it runs inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from labeler.store.leases import KEYS_OF_A_QUERY


def last_failure(connection: sqlite3.Connection) -> float:
    """The time of the last failure, 0 where there is none."""
    row = connection.execute("SELECT coalesce(max(abs(at)), 0) FROM failures").fetchone()
    return float(row[0])


def fresh_failures(
    connection: sqlite3.Connection, keys: Iterable[bytes]
) -> dict[bytes, tuple[float, str, str]]:
    """When and how the calls under these keys failed, where none began since."""
    wanted, found = list(keys), dict[bytes, tuple[float, str, str]]()
    for start in range(0, len(wanted), KEYS_OF_A_QUERY):
        some = wanted[start : start + KEYS_OF_A_QUERY]
        marks = ",".join("?" * len(some))
        query = f"SELECT key, at, status, detail FROM failures WHERE at > 0 AND key IN ({marks})"
        found |= {key: (at, *said) for key, at, *said in connection.execute(query, some)}
    return found


def grow_old(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """Say that these keys are asked again."""
    query = "UPDATE failures SET at = -at WHERE key = ? AND at > 0"
    connection.executemany(query, ((key,) for key in keys))
