"""Locks that are files, and work that one process does for all while others wait for it."""

from __future__ import annotations

import errno
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.errors import Stopped
from labeler.files.paths import make_private
from labeler.messages import Note

if TYPE_CHECKING:
    from filelock import FileLock

_POLL_SECONDS = 0.1
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def lock_file(path: Path, **more: Any) -> FileLock:
    """A lock that is a file: of all threads of this process, and never a mere file's presence."""
    from filelock import FileLock  # takes long to load

    return FileLock(path, thread_local=False, fallback_to_soft=False, **more)


def is_acquired(lock: FileLock) -> bool:
    """Take a lock, if nobody holds it; whether that went well."""
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


@contextmanager
def exclusive(path: Path, tell: Note = lambda _: None) -> Iterator[None]:
    """Wait until no other process is fetching the file at `path`, and make others wait.

    On a file system without locks nobody waits.
    """
    with _lock_of(path) as lock:
        for seconds in _waits(lock, path, tell):
            time.sleep(seconds)
        yield


@asynccontextmanager
async def exclusive_in_loop(
    path: Path, is_stopped: Callable[[], bool], tell: Note = lambda _: None
) -> AsyncIterator[None]:
    """The same in asynchronous work, which goes on meanwhile; `Stopped` where that is stopped."""
    import asyncio

    with _lock_of(path) as lock:
        for seconds in _waits(lock, path, tell):
            await asyncio.sleep(seconds)
            if is_stopped():
                raise Stopped(f"stopped while another process held {lock.lock_file}")
        yield


@contextmanager
def _lock_of(path: Path) -> Iterator[FileLock]:
    make_private(path.parent)
    lock = lock_file(path.with_name(path.name + ".lock"))
    try:
        yield lock
    finally:
        lock.release()


def _waits(lock: FileLock, path: Path, tell: Note) -> Iterator[float]:
    """The seconds to wait before each further try, until nobody else holds a lock."""
    try:
        if is_acquired(lock):
            return
        tell(f"another process is fetching {path.name}; waiting for it")
        yield _POLL_SECONDS
        while not is_acquired(lock):
            yield _POLL_SECONDS
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
