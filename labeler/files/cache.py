"""The folder in which downloads are kept, and files that are known by their SHA-256."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from labeler.errors import Stopped
from labeler.files.paths import expanded, lock_file, make_private
from labeler.messages import Note

_POLL_SECONDS = 0.1
_LOCKED_BY_OTHERS = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""The last two are Windows' and some network file systems'."""

_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


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
def exclusive(path: Path, tell: Note = lambda _: None) -> Iterator[None]:
    """Wait until no other process is fetching the file at `path`, and make others wait.

    On a file system without locks nobody waits.
    """
    make_private(path.parent)
    with lock_file(_lock_path(path)) as lock:
        for seconds in _waits(lock.fileno(), path, tell):
            time.sleep(seconds)
        yield


@asynccontextmanager
async def exclusive_in_loop(
    path: Path, is_stopped: Callable[[], bool], tell: Note = lambda _: None
) -> AsyncIterator[None]:
    """The same in asynchronous work, which goes on meanwhile; `Stopped` where that is stopped."""
    import asyncio

    make_private(path.parent)
    with lock_file(_lock_path(path)) as lock:
        for seconds in _waits(lock.fileno(), path, tell):
            await asyncio.sleep(seconds)
            if is_stopped():
                raise Stopped(f"stopped while another process held {_lock_path(path)}")
        yield


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _waits(descriptor: int, path: Path, tell: Note) -> Iterator[float]:
    """The seconds to wait before each further try, until an open file is locked."""
    if _is_lockable(descriptor):
        return
    tell(f"another process is fetching {path.name}; waiting for it")
    yield _POLL_SECONDS
    while not _is_lockable(descriptor):
        yield _POLL_SECONDS


def _is_lockable(descriptor: int) -> bool:
    """Whether no other process has an open file, which is then locked until it is closed.

    Always true on a file system without locks. What else fails, fails.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED_BY_OTHERS:
            return False
        if error.errno not in _WITHOUT_LOCKS:
            raise
    return True


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_verified(path: Path, sha256: str) -> bool:
    """Whether `path` is a file with this SHA-256; half a gigabyte takes about half a second."""
    return path.is_file() and sha256_of(path) == sha256
