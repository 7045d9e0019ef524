"""Read files, plain or gzip, by line or by block, with errors that name them.

Nothing here holds more than a line, a block, or what its caller allows: a packed file is unpacked
as it is read, and one that unpacks to far more than texts do is refused.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import stat
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from labeler.errors import BadInput, FileProblem, TooLarge
from labeler.files.boundary import DAMAGED, needing, problem_of
from labeler.files.paths import worded
from labeler.messages import tell

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Decode text, or say in one line why that is impossible and what would help.

_MARKS_OF_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_MARKS_OF_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_TOLD_BY = 1 << 12
"""So many bytes tell the encoding of a file without a mark."""


def decoded(path: Path, raw: bytes, *, windows: bool = True) -> str:
    """Decode a file's bytes, without a byte-order mark, as UTF-8, UTF-16 or Windows-1252.

    `BadInput` where they are neither, or not UTF-8 without `windows`. Of another encoding it is
    told.
    """
    encoding = utf_16_of(raw)
    if encoding:
        tell(path, "UTF-16, read as such")
        raw = raw.decode(encoding, "replace").encode()
    refuse_other_encodings(path, raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        text = _of_windows(path, line, raw, f"not UTF-8 (byte 0x{raw[error.start]:02x})", windows)
    if not text.strip():
        raise BadInput(f"{path}: empty")
    return text


def utf_16_of(head: bytes) -> str:
    """The encoding of a text in UTF-16, with a mark or without one; empty of other bytes.

    Without a mark, plain letters have a NUL byte on one and the same side: nine in ten are enough.
    """
    if head.startswith(_MARKS_OF_UTF_32):
        return ""
    if head.startswith(_MARKS_OF_UTF_16):
        return "utf-16"
    even = head[:_TOLD_BY:2]
    odd = head[1:_TOLD_BY:2]
    if len(odd) < 2:
        return ""
    for zeros, letters, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros.count(0) > 0.9 * len(zeros) and not letters.count(0):
            return name
    return ""


_ACCENTED = 4
"""Letters; where more of a text and more than half are no plain ones, it is not Windows-1252."""


def _of_windows(path: Path, line: int, raw: bytes, problem: str, windows: bool) -> str:
    """The text of bytes that are no UTF-8: in Windows-1252, where nothing in them is in UTF-8."""
    text = ""
    with suppress(UnicodeDecodeError):
        text = raw.decode("cp1252") if windows else ""
    letters = [letter for letter in text if letter.isalpha()]
    accented = sum(letter > "\x7f" for letter in letters)
    is_western = accented <= max(_ACCENTED, len(letters) / 2)  # Cyrillic and Greek are all above
    in_utf_8 = len(raw.decode("utf-8", "ignore")) > sum(byte < 0x80 for byte in raw)
    if not text or in_utf_8 or not is_western:
        raise BadInput.at(path, line, f"{problem}; save the file as UTF-8")
    tell(path, f"line {line}: not UTF-8, read as Windows-1252")
    return text


def refuse_other_encodings(path: Path, raw: bytes) -> None:
    """`BadInput` where a file's first bytes are another encoding's, or no text's at all."""
    if raw.startswith((*_MARKS_OF_UTF_32, *_MARKS_OF_UTF_16)):
        encoding = "UTF-32" if raw.startswith(_MARKS_OF_UTF_32) else "UTF-16"
        raise BadInput(
            f"{path}: {encoding}, not UTF-8; this converts it: iconv -f {encoding} -t utf-8 "
            f"'{path.name}' > 'utf8-{path.name}'"
        )
    if b"\0" in raw:
        raise BadInput(f"{path}: not a text file (it holds NUL bytes)")


# Temporary files.


@contextmanager
def scratch_file() -> Iterator[Path]:
    """Give a path for a file, which is gone at the end, on Linux however the process ends.

    There the file has no name in any folder: the path leads to it through the open descriptor.
    """
    if os.path.isdir("/proc/self/fd"):
        with tempfile.TemporaryFile(prefix="labeler-") as file:
            yield Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix="labeler-") as folder:
        yield Path(folder) / "scratch"


LONGEST_LINE = 1 << 26
"""The most bytes of a line, 64 MB: whole documents are lines of JSON Lines.

An object in it may take 27 times as much memory where it holds nothing but empty objects, 1.7 GB.
"""

TIMES = 200
_UNPACKED_AT_LEAST = 1 << 28
"""A packed file may hold 256 MB, and more than that up to 200 times its size: texts shrink to a
third or a twentieth, zeros to a thousandth."""

_BUFFER = 1 << 17


def most_unpacked(packed: int) -> int:
    """The most bytes that `packed` bytes may unpack to."""
    return max(_UNPACKED_AT_LEAST, TIMES * packed)


STANDARD = Path("-")
"""The path that stands for standard input in reading and for standard output in writing."""


@dataclass(frozen=True)
class _Copies:
    """The copies of inputs that can be read only once, the stack that removes them, and values."""

    stack: ExitStack
    files: dict[Path, Path] = field(default_factory=dict)
    made: dict[Path, Any] = field(default_factory=dict)


_COPIES: ContextVar[_Copies | None] = ContextVar("copies", default=None)


@contextmanager
def file_problems(path: Path) -> Iterator[None]:
    """Turn errors of the system, or of a damaged gzip, into one line that names the file."""
    try:
        yield
    except DAMAGED as error:
        raise BadInput(f"{path}: {problem_of(error)}") from error
    except OSError as error:
        raise FileProblem(worded(error, path)) from error


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
    if copies is None:
        return path
    if path not in copies.files and path != STANDARD and not _is_special(path):
        return path
    if path not in copies.files:
        if path != STANDARD and path.is_char_device() and path.name != "stdin":
            raise BadInput(f"{path}: a device, not a file")  # which may have no end
        copy = copies.stack.enter_context(scratch_file())
        with _stream(path) as source, copy.open("wb") as out:
            shutil.copyfileobj(source, out)
        copies.files[path] = copy
    return copies.files[path]


def read_instead(path: Path, fill: Callable[[Path], None]) -> None:
    """Let a path be read from a file that `fill` writes, until the block of `rereadable` ends."""
    copies = _COPIES.get()
    assert copies is not None, "whoever reads in place of a path does so in `rereadable`"
    copy = copies.stack.enter_context(scratch_file())
    fill(copy)
    copies.files[path] = copy
    copies.made.pop(path, None)


def made_once(path: Path, make: Callable[[Path], Any]) -> Any:
    """What is made of a file, which is made once until the block of `rereadable` ends."""
    copies = _COPIES.get()
    made = copies.made if copies else {}
    if path not in made:
        made[path] = make(path)
    return made[path]


def check_regular(path: Path) -> None:
    """Raise `FileProblem` where a path leads to a pipe, a device or a socket.

    Whoever opens one may wait for ever. What a person names may be one; a collection's files not.
    """
    with suppress(OSError):
        if _is_special(path):
            raise FileProblem(f"{path}: expected a file, found a pipe, a device or a socket")


def _is_special(path: Path) -> bool:
    """Whether a path leads to a pipe, a device or a socket, which can be read only once."""
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def numbered_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, plain or gzip, numbered from 1, as they are, with their line ends.

    Raises `TooLarge` at a line of more than `LONGEST_LINE` bytes.
    """
    number = 0
    with file_problems(path), _open_for_reading(path) as source:
        lines = iter(partial(source.readline, LONGEST_LINE + 1), b"")
        try:
            for number, line in enumerate(lines, start=1):
                if len(line) > LONGEST_LINE:
                    most = in_megabytes(LONGEST_LINE)
                    problem = f"a line of more than {most}; is this a file of lines?"
                    raise TooLarge.at(path, number, problem)
                yield number, line
        except DAMAGED as error:
            raise BadInput.at(path, number + 1, problem_of(error)) from error


def in_megabytes(size: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{size / (1 << 20):,.3g} MB"


def byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    """A file, plain or gzip, in blocks of whole lines, about `size` bytes or one line each.

    A last line without a newline gets one. Raises `TooLarge` as `numbered_bytes`.
    """
    with file_problems(path), _open_for_reading(path) as source:
        rest = list[bytes]()
        held = 0
        while block := source.read(size):
            end = block.rfind(b"\n") + 1
            if end:
                yield b"".join([*rest, block[:end]])
                rest = []
                held = 0
            rest.append(block[end:])
            held += len(block) - end
            if held > LONGEST_LINE:
                deque(numbered_bytes(path), maxlen=0)  # which says in which line that is
        if held:
            yield b"".join([*rest, b"\n"])


def read_bytes(path: Path, most: int) -> bytes:
    """All bytes of a file, plain or gzip; `TooLarge` where there are more than `most`."""
    chunks = []
    size = 0
    for chunk in byte_chunks(path, _BUFFER):
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise TooLarge(f"{path}: more than the {in_megabytes(most)} that a document may have")
    return b"".join(chunks)


def byte_chunks(path: Path, size: int) -> Iterator[bytes]:
    """A file, plain or gzip, `size` bytes at a time."""
    with file_problems(path), _open_for_reading(path) as source:
        while chunk := source.read(size):
            yield chunk


def numbered_lines(path: Path, *, windows: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a text, plain or packed, numbered from 1, without their line ends.

    Only newlines end a line (a carriage return before one goes with it): texts hold U+0085 and
    U+2028, at which `str.splitlines` would break a row. A byte-order mark at the start is dropped.
    """
    for number, raw in numbered_bytes(path):
        yield number, decoded_line(path, number, raw, windows=windows).removesuffix("\r")


def decoded_line(path: Path, number: int, raw: bytes, *, windows: bool = False) -> str:
    """One line of a UTF-8 file without its newline, and the first without a byte-order mark.

    With `windows` a line that is no UTF-8 may be in Windows-1252, which is told.
    """
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if number == 1:
            refuse_other_encodings(path, raw)
        line = _of_windows(path, number, raw, f"not UTF-8 (byte {error.start + 1})", windows)
    line = line.removesuffix("\n")
    return line.removeprefix("\ufeff") if number == 1 else line


def _open_for_reading(path: Path) -> BufferedReader:
    """The file's bytes, unpacked where they begin as packed ones do, and UTF-8 of UTF-16."""
    plain = _stream(file_of(path))
    try:
        for _ in range(_PACKED_AT_MOST):
            head = plain.peek(4)
            opener = next(
                (each for magic, each in _UNPACKERS.items() if head.startswith(magic)), None
            )
            if opener is not None:
                plain = BufferedReader(_Unpacked(path, plain, opener), _BUFFER)
        encoding = utf_16_of(plain.peek(_TOLD_BY))
    except BaseException:  # of a damaged file: whoever reads it did not get it to close
        plain.close()
        raise
    if not encoding:
        return plain
    tell(path, "UTF-16, read as such")
    return _in_utf_8(path, plain, encoding)


_PACKED_AT_MOST = 2
"""So many times a file may be packed: ranx packs what is packed by LZ4 already."""


def _lz4(packed: BufferedReader) -> IO[bytes]:
    with needing("files packed with LZ4 need a package: pip install lz4; or unpack it: lz4 -d"):
        import lz4.frame
    return cast("IO[bytes]", lz4.frame.LZ4FrameFile(packed))


_UNPACKERS: dict[bytes, Callable[[BufferedReader], IO[bytes]]] = {
    b"\x1f\x8b": lambda packed: cast("IO[bytes]", gzip.GzipFile(fileobj=packed, mode="rb")),
    b"BZh": lambda packed: cast("IO[bytes]", bz2.BZ2File(packed)),
    b"\xfd7zXZ\0": lambda packed: cast("IO[bytes]", lzma.LZMAFile(packed)),  # noqa: SIM115  _Unpacked closes it
    b"\x04\x22\x4d\x18": _lz4,
}
"""What unpacks a file, by the bytes that it begins with."""


def _in_utf_8(path: Path, source: BufferedReader, encoding: str) -> BufferedReader:
    """A text in UTF-16 as UTF-8 without a byte-order mark, in a file that is gone once closed."""
    recoded = cast("BufferedReader", tempfile.TemporaryFile(prefix="labeler-"))  # noqa: SIM115  whoever reads it closes it
    try:
        with TextIOWrapper(source, encoding, newline="") as text:
            for part in iter(partial(text.read, _BUFFER), ""):
                recoded.write(part.encode("utf-8"))
        recoded.seek(0)
    except BaseException as error:
        recoded.close()
        if isinstance(error, UnicodeDecodeError):
            raise BadInput(f"{path}: not UTF-16 ({error.reason})") from error
        raise
    return recoded


def _stream(path: Path) -> BufferedReader:
    return cast("BufferedReader", sys.stdin.buffer) if path == STANDARD else path.open("rb")


class _Unpacked(RawIOBase):
    """The content of a packed file, as long as that is not too much for the file's size."""

    def __init__(
        self, path: Path, packed: BufferedReader, opener: Callable[[BufferedReader], IO[bytes]]
    ) -> None:
        self.path = path
        self.packed = packed
        self.content = opener(packed)
        self.size = 0

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def close(self) -> None:
        """Close the file, too."""
        super().close()
        self.content.close()
        self.packed.close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer as far as one read of the packed file goes."""
        try:
            count = int(self.content.readinto(buffer))  # type: ignore[attr-defined]  # each has it
        except RuntimeError as error:  # of LZ4
            raise BadInput(f"{self.path}: damaged LZ4 file ({error})") from error
        self.size += count
        # what cannot say how much of it was read is not held to it
        packed = self.packed.tell() if self.packed.seekable() else self.size
        if self.size > most_unpacked(packed):
            raise TooLarge(
                f"{self.path}: unpacks to more than {TIMES} times its size; unpack it first if "
                "it should"
            )
        return count


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
