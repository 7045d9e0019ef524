"""Leases: which process is asking what, so that several can share the work and none does twice.

All of it runs inside the caller's transaction. Time is the machine's monotonic clock, which every
process on it shares and nobody can set; the wall clock counts only between machines.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LEASE_SECONDS = 60.0
"""How long a lease outlives the last sign of life of a process that cannot be looked up."""

KEYS_OF_A_QUERY = 500


class Now(NamedTuple):
    """The monotonic clock and the wall clock, in seconds."""

    monotonic: float
    wall: float


def now() -> Now:
    """What the clocks say."""
    return Now(time.monotonic(), time.time())


class Lessee(NamedTuple):
    """A process: the machine (its boot, its process namespace), its number, when it began."""

    place: str
    process: int
    started: str


def this_process() -> Lessee:
    """The process that runs this."""
    boot = _read("/proc/sys/kernel/random/boot_id")
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    place = f"{socket.gethostname()} {boot} {namespace}"
    return Lessee(place, os.getpid(), _started(os.getpid()))


def _started(process: int) -> str:
    """When a process began, in the kernel's ticks; empty where that cannot be known."""
    return (_read(f"/proc/{process}/stat").rpartition(")")[2].split() or [""] * 20)[19]


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""


def enter(connection: sqlite3.Connection, here: Lessee, moment: Now) -> int:
    """Register a process; the number under which it holds leases."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    columns = "(place, process, started, until, until_wall)"
    connection.execute(f"INSERT INTO owners {columns} VALUES (?, ?, ?, ?, ?)", (*here, *until))
    return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])


def renew(connection: sqlite3.Connection, owner: int, moment: Now) -> None:
    """Give a sign of life."""
    until = (moment.monotonic + LEASE_SECONDS, moment.wall + LEASE_SECONDS)
    connection.execute("UPDATE owners SET until = ?, until_wall = ? WHERE id = ?", (*until, owner))


def leave(connection: sqlite3.Connection, owner: int) -> None:
    """Give back all leases of a process."""
    connection.execute("DELETE FROM leases WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def bury(connection: sqlite3.Connection, here: Lessee, moment: Now) -> None:
    """Give back the leases of processes that are gone."""
    for number, *rest in connection.execute("SELECT * FROM owners").fetchall():
        if _is_gone(Lessee(*rest[:3]), Now(*rest[3:]), here, moment):
            leave(connection, number)


def _is_gone(owner: Lessee, until: Now, here: Lessee, moment: Now) -> bool:
    if owner.place != here.place:
        return until.wall < moment.wall
    if until.monotonic < moment.monotonic:
        return True
    try:
        os.kill(owner.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return owner.started != _started(owner.process)


def claim(connection: sqlite3.Connection, owner: int, keys: Iterable[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    wanted = list(keys)
    rows = ((key, owner) for key in wanted)
    connection.executemany("INSERT OR IGNORE INTO leases VALUES (?, ?)", rows)
    return held_by(connection, owner, wanted)


def held_by(connection: sqlite3.Connection, owner: int, keys: Iterable[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    wanted, mine = list(keys), set[bytes]()
    for start in range(0, len(wanted), KEYS_OF_A_QUERY):
        some = wanted[start : start + KEYS_OF_A_QUERY]
        marks = ",".join("?" * len(some))
        query = f"SELECT key FROM leases WHERE owner = ? AND key IN ({marks})"
        mine |= {key for (key,) in connection.execute(query, (owner, *some))}
    return mine


def give_back(connection: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    """End the leases on these keys."""
    connection.executemany("DELETE FROM leases WHERE key = ?", ((key,) for key in keys))


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
