"""The folder in which downloads are kept, and files that are known by their SHA-256."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from labeler.files.home import expanded
from labeler.files.shared import is_own_file, is_private, lock_file, make_private, new_file


def cache_folder() -> Path:
    """Return the user's cache folder for this package: `LABELER_CACHE`, else the platform's."""
    own = os.environ.get("LABELER_CACHE")
    if own:
        return expanded(own)
    from platformdirs import user_cache_path

    folder = user_cache_path("labeler", appauthor=False)
    # a variable that names a relative one counts for nothing, as platformdirs knows from 4.12 on
    return folder if folder.is_absolute() else expanded("~/.cache/labeler")


@contextmanager
def exclusive(path: Path, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Wait until no other process is fetching the file at `path`, and make others wait."""
    make_private(path.parent)
    with lock_file(path.with_name(path.name + ".lock")) as lock:
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

    Hashing half a gigabyte takes about half a second, so a stamp beside the file remembers its size
    and times, of which nobody can set that of the inode. In a folder that others can write to, no
    stamp is believed, and none is written.
    """
    if not path.is_file():
        return False
    if not is_private(path.parent):
        return sha256_of(path) == sha256
    stamp = path.with_name(path.name + ".verified")
    status = path.stat()
    line = f"{sha256} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n".encode()
    with suppress(OSError):
        if is_own_file(stamp) and stamp.read_bytes() == line:
            return True
    if sha256_of(path) != sha256:
        return False
    with suppress(OSError), new_file(stamp) as out:  # a folder that is read-only costs the hashing
        out.write(line)
    return True
