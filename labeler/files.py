"""The one way to open a text file for reading and the one way to replace a file."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, TextIO, cast

from labeler.errors import BadInput, FileProblem

ABANDONED_SECONDS = 3600.0
"""After so long without a write, a partial file is what a killed process left."""

STANDARD = Path("-")
"""Standard input, where something is read; standard output, where it is written."""


@dataclass(frozen=True)
class _Copies:
    """Copies of what can be read only once, and what removes them."""

    stack: ExitStack
    files: dict[Path, Path] = field(default_factory=dict)


_COPIES: ContextVar[_Copies | None] = ContextVar("copies", default=None)

_LEVEL = 6
"""Of gzip: the default 9 takes three times as long for files that are no smaller."""


@contextmanager
def file_problems(path: Path) -> Iterator[None]:
    """Turn errors of the system, or of a damaged gzip, into one line that names the file."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"{path}: damaged gzip file ({error})") from error
    except OSError as error:
        raise FileProblem(f"{error.filename or path}: {error.strerror or error}") from error


@contextmanager
def rereadable() -> Iterator[None]:
    """Within, standard input and pipes can be read as often as any file: from a copy."""
    with ExitStack() as stack:
        token = _COPIES.set(_Copies(stack))
        try:
            yield
        finally:
            _COPIES.reset(token)


def reads_once(path: Path) -> bool:
    """Whether the second reading of a path would find nothing."""
    if path == STANDARD:
        return True
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def numbered_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, plain or gzip, numbered from 1, as they are, with their line ends."""
    number = 0
    with file_problems(path), _open_for_reading(path) as lines:
        try:
            for number, line in enumerate(lines, start=1):
                yield number, line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise BadInput.at(path, number + 1, f"damaged gzip file ({error})") from error


def byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    """A file, plain or gzip, in blocks of whole lines, about `size` bytes or one line each.

    A last line without a newline gets one.
    """
    with file_problems(path), _open_for_reading(path) as source:
        rest = b""
        while block := source.read(size):
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if end:
                yield block[:end]
        if rest:
            yield rest + b"\n"


def byte_chunks(path: Path, size: int) -> Iterator[bytes]:
    """A file, plain or gzip, `size` bytes at a time."""
    with file_problems(path), _open_for_reading(path) as source:
        while chunk := source.read(size):
            yield chunk


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzip, numbered from 1, without their line ends.

    Only newlines end a line (a carriage return before one goes with it): texts hold U+0085 and
    U+2028, at which `str.splitlines` would break a row. A byte-order mark at the start is dropped.
    """
    for number, raw in numbered_bytes(path):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 (byte {error.start + 1}); save the file as UTF-8"
            raise BadInput.at(path, number, problem) from error
        line = line.removesuffix("\n").removesuffix("\r")
        yield number, line.removeprefix("\ufeff") if number == 1 else line


@contextmanager
def replacing(path: Path, check: Callable[[Path], object] | None = None) -> Iterator[TextIO]:
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
def replacing_bytes(
    path: Path, check: Callable[[Path], object] | None = None
) -> Iterator[IO[bytes]]:
    """A file that takes `path`'s place when the block ends well, whole or not at all.

    Written beside `path` under a temporary name, synced, read back by `check`, then renamed; gzip
    where `path` ends in `.gz`. After an exception, `path` is as it was. What killed processes left
    of earlier attempts is removed. The path `-` is standard output, which gets all or nothing too.
    """
    if path == STANDARD:
        with scratch_file() as whole:
            with whole.open("wb") as out:
                yield out
            if check is not None:
                check(whole)
            with whole.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with file_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        partial = Path(name)
        try:
            _lock(handle)
            with _open_for_writing(partial, compressed=path.suffix == ".gz") as out:
                yield out
            with partial.open("rb+") as written:
                os.fsync(written.fileno())
            if check is not None:
                check(partial)
            partial.chmod(0o666 & ~_umask())
            partial.replace(path)
        finally:
            os.close(handle)
            with suppress(FileNotFoundError):
                partial.unlink()


@contextmanager
def scratch_file() -> Iterator[Path]:
    """A path for a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="labeler-") as folder:
        yield Path(folder) / "scratch"


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


def _remove_abandoned(path: Path) -> None:
    """Remove old partial files of `path`; a young one may be another process's, at work, and so may
    one that is locked, whatever the clock says.
    """
    partial = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]+\.part")
    oldest = time.time() - ABANDONED_SECONDS
    for beside in path.parent.iterdir():
        if partial.fullmatch(beside.name):
            with suppress(OSError):  # gone meanwhile, or another user's
                if beside.stat().st_mtime < oldest and _is_free(beside):
                    beside.unlink()


def _is_free(path: Path) -> bool:
    with path.open("rb") as file:
        return _lock(file.fileno())


def _open_for_reading(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where they begin as gzip's do, whatever its name."""
    plain = _opened(path)
    if plain.peek(2)[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", _Unpacked(plain))
    return plain


def _opened(path: Path) -> BufferedReader:
    copies = _COPIES.get()
    if not reads_once(path) or copies is None:
        return _stream(path)
    if path not in copies.files:
        copy = copies.stack.enter_context(scratch_file())
        with _stream(path) as source, copy.open("wb") as out:
            shutil.copyfileobj(source, out)
        copies.files[path] = copy
    return copies.files[path].open("rb")


def _stream(path: Path) -> BufferedReader:
    return cast("BufferedReader", sys.stdin.buffer) if path == STANDARD else path.open("rb")


class _Unpacked(gzip.GzipFile):
    """A gzip file that closes the file below it."""

    def __init__(self, packed: BufferedReader) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self.packed = packed

    def close(self) -> None:
        super().close()
        self.packed.close()


@contextmanager
def _open_for_writing(path: Path, *, compressed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as plain:
        if not compressed:
            yield plain
            return
        with gzip.GzipFile("", "wb", _LEVEL, plain, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
