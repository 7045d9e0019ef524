"""Replace files whole or not at all: written beside the old one, read back, then renamed."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, cast

from labeler.errors import FileProblem
from labeler.files.paths import true_path, worded
from labeler.files.read import STANDARD, file_problems, scratch_file, sha256_of

# Outputs that are no regular files: pipes, terminals and open descriptors are written through.

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
    with file_problems(path):
        try:
            kind = stat.S_IFMT(path.stat().st_mode)
        except FileNotFoundError:
            return False
    if kind in _NO_OUTPUT:
        raise FileProblem(f"{path}: {_NO_OUTPUT[kind]}; results go to a file, a pipe or a terminal")
    return kind != stat.S_IFREG


def own_descriptor(path: Path) -> int | None:
    """The number of the open file that a path such as `/dev/stdout` or `/dev/fd/63` names.

    None for other paths. What a shell has opened is written where the shell has it: opening its
    name anew would cut off what a redirected file already holds, and fails for sockets.
    """
    folders = {f"/proc/{os.getpid()}/fd", "/dev/fd"}
    name = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(name))
        last = os.path.basename(name)
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
            raise FileProblem(worded(error, path)) from error


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
            for stream in filter(None, (sys.stdout, sys.stderr)):  # None where it was closed
                stream.flush()  # what was printed so far stands before what follows
            copy = os.dup(descriptor)
        sink = os.fdopen(copy, "wb", buffering=0)
    with sink:
        yield sink


# What was written to paths that a user named, kept as hashes, so that no other file is replaced.
#
# One small file a path, in the user's folder for state, holds the SHA-256 of what was written there
# last and before that. It is renewed before the output is renamed to its path: after a kill at any
# moment, what stands at the path is among the two.

_HASHES = 2


@dataclass(frozen=True, slots=True)
class _Named:
    """The path that a user named, without links, and whether anything there may be replaced."""

    path: str
    force: bool


_NOBODYS = _Named("", force=False)
_NAMED: ContextVar[_Named] = ContextVar("named", default=_NOBODYS)


@contextmanager
def recording(path: Path, *, force: bool = False) -> Iterator[None]:
    """Keep a record of what the block writes to a path."""
    token = _NAMED.set(_Named(os.path.realpath(path), force))
    try:
        yield
    finally:
        _NAMED.reset(token)


def about_to_replace(target: Path, content: Path) -> None:
    """Record that `content` will be renamed to `target`, where the user named that path.

    Where no record can be kept, there is none, and what stands there will not be replaced again
    unless that is forced.
    """
    if _NAMED.get().path == str(target):
        _record(target, content)


def may_be_replaced(path: Path) -> None:
    """Record that what stands at a path is kept elsewhere, so that nothing is lost with it."""
    if path.is_file():
        _record(true_path(path), path)


def _record(target: Path, content: Path) -> None:
    with suppress(OSError):
        record = _record_of(target)
        hashes = list(dict.fromkeys((sha256_of(content), *_hashes(record))))[:_HASHES]
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = record.with_name(f"{record.name}.{os.getpid()}")
        beside.write_text("".join(f"{line}\n" for line in hashes), encoding="ascii")
        beside.replace(record)


def is_as_written(path: Path) -> bool:
    """Whether a file holds what was written to its path before, under that path's record."""
    with suppress(OSError):
        hashes = _hashes(_record_of(true_path(path)))
        return bool(hashes) and sha256_of(path) in hashes
    return False


def _hashes(record: Path) -> list[str]:
    try:
        return record.read_text(encoding="ascii").split()
    except (FileNotFoundError, UnicodeDecodeError):
        return []


def _record_of(target: Path) -> Path:
    """The record of a path, in one of 256 folders; its name does not tell the path."""
    name = hashlib.sha256(os.fsencode(target)).hexdigest()
    return state_folder() / "outputs" / name[:2] / name[2:34]


def state_folder() -> Path:
    """The user's folder for state; `OSError` where there is none."""
    from platformdirs import user_state_path

    folder = user_state_path("labeler", appauthor=False)
    if not folder.is_absolute():  # without a home, "~" would be a folder of the current one
        raise FileNotFoundError(f"{folder}: no home")
    return folder


Check = Callable[[Path], object]
"""Reads a file back, and raises where it is not as it should be."""

ABANDONED_SECONDS = 3600.0
"""A partial file that was not written to for so long was left by a killed process."""


_LEVEL = 6
"""The level of gzip: the default 9 takes three times as long for files that are no smaller."""


@contextmanager
def replacing(path: Path, check: Check | None = None) -> Iterator[TextIO]:
    """A text file that takes `path`'s place when the block ends well, whole or not at all.

    As `replacing_bytes`, in UTF-8.
    """
    with replacing_bytes(path, check) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()


@contextmanager
def replacing_bytes(path: Path, check: Check | None = None) -> Iterator[IO[bytes]]:
    """A file that takes `path`'s place when the block ends well, whole or not at all.

    Written beside `path` under a temporary name, synced, read back by `check`, then renamed; gzip
    where `path` ends in `.gz`. After an exception, `path` is as it was. What killed processes left
    of earlier attempts is removed.

    A link stays, and the file that it leads to is replaced; an old file's permissions and, where
    the system lets it, its owner stay. What is no regular file is written through when all is
    there: a pipe, a terminal, `/dev/stdout`, and the path `-`, which is standard output.
    """
    if is_special(path):
        with scratch_file() as whole:
            with _open_for_writing(whole, compressed=path.suffix == ".gz") as out:
                yield out
            if check is not None:
                check(whole)
            with whole.open("rb") as written:
                write_through(path, written)
        return
    with file_problems(path):
        target = true_path(path)
        refuse_read_only(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.parent, target.name)
        prefix = f".{target.name}."
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=target.parent)
        partial = Path(name)
        try:
            _lock(handle)
            with _open_for_writing(partial, compressed=path.suffix == ".gz") as out:
                yield out
            with partial.open("rb+") as written:
                os.fsync(written.fileno())
            if check is not None:
                check(partial)
            _take_permissions(target, partial)
            about_to_replace(target, partial)
            partial.replace(target)
        finally:
            os.close(handle)
            with suppress(FileNotFoundError):
                partial.unlink()


def refuse_read_only(path: Path) -> None:
    """`FileProblem` where there is a file that must not be written, unless that is forced.

    One without any permission to write is left alone by the superuser as well, who protects files
    in the same way.
    """
    named = _NAMED.get()
    is_forced = named.force and named.path == str(path)
    if is_forced or not path.exists():
        return
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise FileProblem(f"{path}: the file is read-only")


def _take_permissions(target: Path, partial: Path) -> None:
    """Give a new file the permissions of the old one, or those of any new file."""
    try:
        old = target.stat()
    except FileNotFoundError:
        partial.chmod(usual_mode())
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(partial, old.st_uid, -1)
        try:
            os.chown(partial, -1, old.st_gid)
        except PermissionError:  # another group must get no more than everybody does
            mode = mode & ~0o070 | (mode & 0o007) << 3
    partial.chmod(mode)


def _lock(handle: int) -> bool:
    """Whether nobody else holds a file; it is then held until the handle is closed.

    Always true where files cannot be locked.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove old partial files of a folder, or of the file in it that is called so.

    A young one may be another process's, at work, and so may one that is locked, whatever the clock
    says.
    """
    partial = re.compile(rf"\.{re.escape(name) or '.+'}\.[a-z0-9_]+\.part")
    oldest = time.time() - ABANDONED_SECONDS
    for beside in folder.iterdir():
        if partial.fullmatch(beside.name):
            with suppress(OSError):  # gone meanwhile, or another user's
                with beside.open("rb") as file:
                    is_free = beside.stat().st_mtime < oldest and _lock(file.fileno())
                if is_free:
                    beside.unlink()


@contextmanager
def _open_for_writing(path: Path, *, compressed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as plain:
        if not compressed:
            yield plain
            return
        with gzip.GzipFile("", "wb", _LEVEL, plain, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def usual_mode() -> int:
    """The permissions of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
