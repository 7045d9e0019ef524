"""Who holds a lease: a process, told from all others of this and of other machines."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


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
