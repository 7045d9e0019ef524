"""Read files, plain or gzip, by line or by block, with errors that name them."""

from __future__ import annotations

import gzip
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from labeler.errors import BadInput, FileProblem
from labeler.files.temporary import scratch_file

STANDARD = Path("-")
"""The path that stands for standard input in reading and for standard output in writing."""


@dataclass(frozen=True)
class _Copies:
    """The copies of inputs that can be read only once, and the stack that removes them."""

    stack: ExitStack
    files: dict[Path, Path] = field(default_factory=dict)


_COPIES: ContextVar[_Copies | None] = ContextVar("copies", default=None)


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
    """Let standard input and pipes be read as often as any file, from one copy, until the end.

    A block inside such a block shares its copies.
    """
    if _COPIES.get() is not None:
        yield
        return
    with ExitStack() as stack:
        token = _COPIES.set(_Copies(stack))
        try:
            yield
        finally:
            _COPIES.reset(token)


def file_of(path: Path) -> Path:
    """The file that holds a path's bytes: itself, or the copy of what can be read only once."""
    copies = _COPIES.get()
    if copies is None or not _reads_once(path):
        return path
    if path not in copies.files:
        copy = copies.stack.enter_context(scratch_file())
        with _stream(path) as source, copy.open("wb") as out:
            shutil.copyfileobj(source, out)
        copies.files[path] = copy
    return copies.files[path]


def _reads_once(path: Path) -> bool:
    """Whether a path can be read only once, as standard input and pipes can."""
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
        yield number, text_of_line(path, number, raw)


def text_of_line(path: Path, number: int, raw: bytes) -> str:
    """One line of a UTF-8 file as `numbered_lines` gives it."""
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte {error.start + 1}); save the file as UTF-8"
        raise BadInput.at(path, number, problem) from error
    line = line.removesuffix("\n").removesuffix("\r")
    return line.removeprefix("\ufeff") if number == 1 else line


def _open_for_reading(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where they begin as gzip's do, whatever its name."""
    plain = _stream(file_of(path))
    if plain.peek(2)[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", _Unpacked(plain))
    return plain


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
