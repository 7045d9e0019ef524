"""Leases: which process is asking what, so that several can share the work and none does twice.

All of it runs inside the caller's transaction. Time is the machine's monotonic clock, which every
process on it shares and nobody can set; the wall clock counts only between machines.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from labeler.store.base import LEASE_SECONDS, Failed
from labeler.store.holder import LeaseHolder, has_ended

KEYS_OF_A_QUERY = 500


class Now(NamedTuple):
    """The monotonic clock and the wall clock, in seconds."""

    monotonic: float
    wall: float


def now() -> Now:
    """The time on both clocks."""
    return Now(time.monotonic(), time.time())


def register(connection: sqlite3.Connection, holder: LeaseHolder, moment: Now) -> int:
    """Register a process; the number under which it holds leases."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    columns = "(place, process, started, until, until_wall)"
    connection.execute(f"INSERT INTO owners {columns} VALUES (?, ?, ?, ?, ?)", (*holder, *until))
    return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])


def renew(connection: sqlite3.Connection, owner: int, moment: Now) -> None:
    """Renew the leases of a process, so that they do not expire."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    connection.execute("UPDATE owners SET until = ?, until_wall = ? WHERE id = ?", (*until, owner))


def unregister(connection: sqlite3.Connection, owner: int) -> None:
    """Release all leases of a process, and forget it."""
    connection.execute("DELETE FROM leases WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


class Watch:
    """The leases of other processes as they were first seen, by this process' own clock.

    Whoever is alive renews its leases. So none is honored longer than it can last from the moment
    when it was first seen as it is, whatever the clock said by which it was dated.
    """

    def __init__(self) -> None:
        self._first_seen: dict[tuple[int, Now], float] = {}

    def release_dead(
        self, connection: sqlite3.Connection, current: LeaseHolder, moment: Now
    ) -> None:
        """Release the leases of processes that are gone."""
        seen = self._first_seen
        self._first_seen = {}
        for number, *rest in connection.execute("SELECT * FROM owners").fetchall():
            holder, until = LeaseHolder(*rest[:3]), Now(*rest[3:])
            first = seen.get((number, until), moment.monotonic)
            self._first_seen[number, until] = first
            is_old = moment.monotonic - first > LEASE_SECONDS
            if is_old or _is_gone(holder, until, current, moment):
                unregister(connection, number)


def holder_of(connection: sqlite3.Connection, key: bytes) -> LeaseHolder | None:
    """Who holds the lease on a key."""
    query = (
        "SELECT place, process, started FROM leases JOIN owners ON owners.id = leases.owner"
        " WHERE key = ?"
    )
    row = connection.execute(query, (key,)).fetchone()
    return LeaseHolder(*row) if row else None


def _is_gone(holder: LeaseHolder, until: Now, current: LeaseHolder, moment: Now) -> bool:
    """Whether a process has ended: on this machine that can be looked up, elsewhere time tells."""
    if holder.machine != current.machine:
        return until.wall < moment.wall
    if until.monotonic < moment.monotonic:
        return True
    return has_ended(holder)


def claim(connection: sqlite3.Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    rows = ((key, owner) for key in keys)
    connection.executemany("INSERT OR IGNORE INTO leases VALUES (?, ?)", rows)
    return held_by(connection, owner, keys)


def held_by(connection: sqlite3.Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    held = set[bytes]()
    for some, marks in in_parts(keys):
        query = f"SELECT key FROM leases WHERE owner = ? AND key IN ({marks})"
        held |= {key for (key,) in connection.execute(query, (owner, *some))}
    return held


def release(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """End the leases on these keys."""
    connection.executemany("DELETE FROM leases WHERE key = ?", ((key,) for key in keys))


def last_failure(connection: sqlite3.Connection) -> float:
    """The time of the last failure, 0 where there is none."""
    row = connection.execute("SELECT coalesce(max(abs(at)), 0) FROM failures").fetchone()
    return float(row[0])


def fresh_failures(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> dict[bytes, tuple[float, Failed]]:
    """When and how the calls under these keys failed, where none began since."""
    failures = dict[bytes, tuple[float, Failed]]()
    for some, marks in in_parts(keys):
        query = f"SELECT key, at, status, detail FROM failures WHERE at > 0 AND key IN ({marks})"
        for key, at, status, detail in connection.execute(query, some):
            failures[key] = (at, Failed(key, status, detail))
    return failures


def mark_asked_again(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """Note that these keys are asked again, so that how they failed is of an earlier call."""
    query = "UPDATE failures SET at = -at WHERE key = ? AND at > 0"
    connection.executemany(query, ((key,) for key in keys))


def in_parts(keys: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], str]]:
    """As many keys as one query takes, with a question mark for each."""
    for start in range(0, len(keys), KEYS_OF_A_QUERY):
        some = keys[start : start + KEYS_OF_A_QUERY]
        yield some, ",".join("?" * len(some))
