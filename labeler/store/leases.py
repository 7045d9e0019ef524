"""Leases: which process is asking what, so that several share the work and none does it twice.

A lease is on the key of a request. It ends with the reply, with a failure, or with its process.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from labeler.store.base import Statements

LEASE_SECONDS = 60.0
"""How long a lease lasts unrenewed, where its process cannot be looked up."""


# Who holds a lease: a process, told from all others of this and of other machines.


class LeaseHolder(NamedTuple):
    """A process: the machine (its boot, its process namespace), its number, when it began."""

    machine: str
    process: int
    started: str


def this_process() -> LeaseHolder:
    """The process that runs this."""
    boot = _read("/proc/sys/kernel/random/boot_id")
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    machine = f"{socket.gethostname()} {boot} {namespace}"
    return LeaseHolder(machine, os.getpid(), started_at(os.getpid()))


def started_at(process: int) -> str:
    """When a process began, in the kernel's ticks; empty where that cannot be known."""
    return (_read(f"/proc/{process}/stat").rpartition(")")[2].split() or [""] * 20)[19]


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""


def has_ended(holder: LeaseHolder) -> bool:
    """Whether a process of this machine has ended; false where that cannot be looked up."""
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return holder.started != started_at(holder.process)


# The leases of a database; all of it runs inside the caller's transaction.


def claimed(to: Statements, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    given = "WITH given (key) AS ({keys}) INSERT INTO leases SELECT key, CAST(:owner AS bigint)"
    to.run(f"{given} FROM given WHERE true ON CONFLICT DO NOTHING", keys, owner=owner)
    return held_by(to, owner, keys)


def held_by(to: Statements, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    query = "SELECT key FROM leases WHERE owner = :owner AND key IN ({keys})"
    return {row[0] for row in to.run(query, keys, owner=owner)}


def release(to: Statements, keys: Iterable[bytes]) -> None:
    """End the leases on these keys."""
    to.run("DELETE FROM leases WHERE key IN ({keys})", list(keys))
