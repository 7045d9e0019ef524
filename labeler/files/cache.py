"""Files that one process fetches for all."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from labeler.errors import Stopped
from labeler.files.paths import lock_file, make_private
from labeler.messages import Note

_POLL_SECONDS = 0.1
_LOCKED_BY_OTHERS = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""The last two are Windows' and some network file systems'."""

_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


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
    if is_lockable(descriptor):
        return
    tell(f"another process is fetching {path.name}; waiting for it")
    yield _POLL_SECONDS
    while not is_lockable(descriptor):
        yield _POLL_SECONDS


def is_lockable(descriptor: int) -> bool:
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
