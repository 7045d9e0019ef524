"""Folders that others may write to, as a cache of several users: what lies there proves nothing.

A file there may be a link that somebody planted, or may be exchanged at any moment. So a file is
made under a name that is free, and never through a link; and no note of ours is believed there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from labeler.errors import FileProblem

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Neither through a link, nor waiting for the other end of a named pipe."""


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone.

    `FileProblem` where a link of another user stands in its place.
    """
    for path in (*reversed(folder.parents), folder):
        path.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() and not _is_trusted(folder.lstat().st_uid):
        raise FileProblem(f"{folder}: a link that another user made; remove it")


def is_private(folder: Path) -> bool:
    """Whether nobody else can put files into a folder; true where the system knows no owners."""
    if not hasattr(os, "geteuid"):
        return True
    status = folder.stat()
    return _is_trusted(status.st_uid) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_trusted(user: int) -> bool:
    """Whether a user is this one, or the system's own."""
    return not hasattr(os, "geteuid") or user in {os.geteuid(), 0}


def is_own_file(path: Path) -> bool:
    """Whether there is a plain file of this user's, which no other name leads to."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return is_plain and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def new_file(path: Path) -> IO[bytes]:
    """An empty file at `path`, in place of whatever stood there, to be written."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666), "wb")


def file_to_append(path: Path) -> IO[bytes]:
    """The file at `path`, to be added to; a new one where it is a link, or not this user's own."""
    if not is_own_file(path):
        return new_file(path)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | _NO_LINK), "ab")


def lock_file(path: Path) -> IO[bytes]:
    """The file at `path`, made where it is missing, to be locked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileProblem(f"{path}: not a file; remove it")
    return os.fdopen(descriptor, "rb+")
