"""Arrays in one file: written a piece at a time, whole or not at all, and read where they lie.

The arrays' bytes stand one after another; a table of contents in JSON closes the file, then its
length and a checksum of all bytes. So a file is known to be whole before anything of it is used.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
from numpy.typing import NDArray

from labeler.files.atomic import replacing_bytes
from labeler.files.jsonl import JsonObject, RowValues

Array = NDArray[Any]

_MAGIC = b"labeler arrays 1"
_TAIL = struct.Struct(f"<QI{len(_MAGIC)}s")
_LONGEST_TABLE = 1 << 20
_ALIGNED = 64
_TYPES = ("|u1", "<i4", "<i8", "<f4")
_READ_AT_ONCE = 1 << 22


@dataclass(slots=True)
class ArraysWriter:
    """Writes arrays into a file; `about` is what is noted of them as a whole."""

    out: IO[bytes]
    about: JsonObject
    _table: dict[str, tuple[str, list[int], int]] = field(default_factory=dict)
    _size: int = 0
    _checksum: int = 0

    def add(self, name: str, pieces: Iterable[Array]) -> None:
        """Write an array that comes in pieces, of one type and all of one width."""
        self._put(bytes(-self._size % _ALIGNED))
        start = self._size
        rows = 0
        kind = "|u1"
        width = []
        for piece in pieces:
            kind = piece.dtype.str
            width = list(piece.shape[1:])
            rows += len(piece)
            self._put(np.ascontiguousarray(piece).data.cast("B") if piece.size else b"")
        self._table[name] = kind, [rows, *width], start

    def add_texts(self, name: str, texts: Iterable[str]) -> None:
        """Write texts, to be read as a `StoredTexts`."""
        encoded = [text.encode() for text in texts]
        self.add(name, [np.frombuffer(b"".join(encoded), np.uint8)])
        self.add(f"{name} end", [np.cumsum(list(map(len, encoded)), dtype=np.int64)])

    def close(self) -> None:
        """Write the table of contents."""
        table = json.dumps({"about": self.about, "arrays": self._table}).encode()
        self._put(table)
        self.out.write(_TAIL.pack(len(table), self._checksum, _MAGIC))

    def _put(self, data: bytes | memoryview) -> None:
        self.out.write(data)
        self._size += len(data)
        self._checksum = zlib.crc32(data, self._checksum)


@contextmanager
def writing_arrays(path: Path, about: RowValues) -> Iterator[ArraysWriter]:
    """A file of arrays, which takes its place when the block ends well, whole or not at all."""
    with replacing_bytes(path) as out:
        writer = ArraysWriter(out, dict(about))
        yield writer
        writer.close()


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays of a file, which stay there: only what is looked at comes into the memory."""

    path: Path
    about: RowValues
    _table: Mapping[str, tuple[str, tuple[int, ...], int]]

    def __getitem__(self, name: str) -> Array:
        kind, shape, start = self._table[name]
        return self._mapped(kind, shape, start)

    def rows(self, name: str, first: int, last: int) -> Array:
        """Some rows of an array, in a view of their own: what it held goes when it goes."""
        kind, shape, start = self._table[name]
        last = min(last, shape[0])
        size = np.dtype(kind).itemsize * math.prod(shape[1:])
        return self._mapped(kind, (max(0, last - first), *shape[1:]), start + first * size)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array."""
        return self._table[name][1]

    def texts(self, name: str) -> StoredTexts:
        """The texts that were written under a name."""
        return StoredTexts(self[name].data, self[f"{name} end"].data)

    def _mapped(self, kind: str, shape: tuple[int, ...], start: int) -> Array:
        if 0 in shape:
            return np.zeros(shape, kind)
        return np.asarray(np.memmap(self.path, dtype=kind, mode="r", offset=start, shape=shape))


class TextsOnDemand(Sequence[str]):
    """Texts that are made when they are asked for, one at a time or a slice of them."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.at(number) for number in range(*index.indices(len(self)))]
        return self.at(index)

    @abstractmethod
    def at(self, index: int) -> str:
        """The text of one place, from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTexts(TextsOnDemand):
    """Texts in a file, each decoded when it is asked for."""

    blob: memoryview
    ends: memoryview

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, index: int) -> str:
        """The text of one place, from 0."""
        if not 0 <= index < len(self.ends):
            raise IndexError(index)
        return str(self.blob[self.ends[index - 1] if index else 0 : self.ends[index]], "utf-8")


def open_arrays(path: Path, about: RowValues) -> Arrays | None:
    """The arrays of a file; None where there is none, or one that is not whole or about others."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            table = _table_of(file)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        return None
    if table is None or table["about"] != about:
        return None
    arrays = {name: (kind, tuple(shape), at) for name, (kind, shape, at) in table["arrays"].items()}
    return Arrays(path, table["about"], arrays)


def _table_of(file: IO[bytes]) -> JsonObject | None:
    """The table of contents, where every byte is as it was written."""
    size = file.seek(0, 2) - _TAIL.size
    file.seek(max(0, size))
    length, checksum, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC or length > min(_LONGEST_TABLE, size) or _checksum(file, size) != checksum:
        return None
    file.seek(size - length)
    table: JsonObject = json.loads(file.read(length))
    for kind, shape, start in table["arrays"].values():
        bytes_needed = math.prod(shape) * np.dtype(kind).itemsize
        if kind not in _TYPES or min(shape) < 0 or not 0 <= start <= size - bytes_needed:
            return None
    return table


def _checksum(file: IO[bytes], size: int) -> int:
    file.seek(0)
    checksum = 0
    left = size
    for chunk in iter(partial(file.read, _READ_AT_ONCE), b""):
        checksum = zlib.crc32(chunk[:left], checksum)
        left -= min(left, len(chunk))
    return checksum
