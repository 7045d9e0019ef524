"""Outputs that are no regular files: pipes, terminals and open descriptors are written through."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from labeler.errors import FileProblem
from labeler.files.read import STANDARD, file_problems

_MOST_LINKS = 40
_NO_OUTPUT = {
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
}


def is_special(path: Path) -> bool:
    """Whether writing to a path goes through it, to a pipe, a device or a descriptor.

    Raises `FileProblem` where nothing can be written: a directory, a socket or a block device.
    """
    if path == STANDARD or own_descriptor(path) is not None:
        return True
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileProblem(f"{path}: {error.strerror or error}") from error
    if kind in _NO_OUTPUT:
        expected = "results go to a file, a pipe or a terminal"
        raise FileProblem(f"{path}: {_NO_OUTPUT[kind]}; {expected}")
    return kind != stat.S_IFREG


def own_descriptor(path: Path) -> int | None:
    """The number of the open file that a path such as `/dev/stdout` or `/dev/fd/63` names.

    None for other paths. What a shell has opened is written where the shell has it: opening its
    name anew would cut off what a redirected file already holds, and fails for sockets.
    """
    folders = {f"/proc/{os.getpid()}/fd", "/dev/fd"}
    name = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        folder, last = os.path.realpath(os.path.dirname(name)), os.path.basename(name)
        if folder in folders and last.isdecimal():
            return int(last)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


def write_through(path: Path, source: IO[bytes]) -> None:
    """Copy a stream to what a path names, which is neither replaced nor cut.

    A reader that goes away early raises `BrokenPipeError`, as standard output does.
    """
    with _opened(path) as sink:
        try:
            shutil.copyfileobj(source, sink)
            sink.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileProblem(f"{path}: {error.strerror or error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path == STANDARD:
        yield sys.stdout.buffer
        return
    descriptor = own_descriptor(path)
    with file_problems(path):
        if descriptor is None:
            copy = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
        else:
            _flush_standard()
            copy = os.dup(descriptor)
        sink = os.fdopen(copy, "wb", buffering=0)
    with sink:
        yield sink


def _flush_standard() -> None:
    """Write out what was printed so far, so that it stands before what follows."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it is where the descriptor was closed
            stream.flush()
