"""The folder in which downloads are kept, and files that are known by their SHA-256."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's cache folder for this package: `LABELER_CACHE`, else the platform's."""
    own = os.environ.get("LABELER_CACHE")
    if own:
        return Path(own).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("labeler", appauthor=False)


@contextmanager
def exclusive(path: Path, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Wait until no other process is fetching the file at `path`, and make others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("ab") as lock:
        if not _locked(lock.fileno(), wait=False):
            tell(f"another process is fetching {path.name}; waiting for it")
            _locked(lock.fileno(), wait=True)
        yield


def _locked(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed; false where another process has it."""
    if sys.platform == "win32":
        import msvcrt

        mode = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK
        lock = partial(msvcrt.locking, descriptor, mode, 1)
    else:
        import fcntl

        mode = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
        lock = partial(fcntl.flock, descriptor, mode)
    while True:
        try:
            lock()
        except OSError:
            if not wait:
                return False
        else:
            return True


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_verified(path: Path, sha256: str) -> bool:
    """Whether `path` is a file with this SHA-256.

    Hashing half a gigabyte takes a second, so a stamp beside the file remembers the size and the
    time of change for which it was done.
    """
    if not path.is_file():
        return False
    stamp = path.with_name(path.name + ".verified")
    status = path.stat()
    line = f"{sha256} {status.st_size} {status.st_mtime_ns}\n"
    with suppress(OSError, UnicodeDecodeError):
        if stamp.read_text(encoding="ascii") == line:
            return True
    if sha256_of(path) != sha256:
        return False
    with suppress(OSError):  # a folder that cannot be written to only costs the hashing
        stamp.write_text(line, encoding="ascii")
    return True
