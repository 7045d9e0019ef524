"""Vectors of texts in a file that only grows, so that no text is encoded twice.

A file belongs to one encoder. A line of JSON opens it, padded to a fixed length; then come records
of one length each: a hash of the text, a checksum, and the vector in 32-bit floats. A batch is in
the file when it was added, so a kill loses none but the one under way; a power loss may cost those
of the last second. A record that was cut off, or that fails its checksum, is none: its text is
encoded again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.errors import BadInput
from labeler.files.boundary import count
from labeler.files.cache import exclusive_in_loop
from labeler.files.read import check_regular, file_problems
from labeler.messages import Clock, Note

Vectors = NDArray[np.float32]

FORMAT = "labeler vectors 1"
HEAD = 1024
"""Bytes of the line that opens a file."""

MOST_DIMENSIONS = 65_536
SYNC_SECONDS = 1.0
"""How often what was added is synced to the disk: to wait for it each time would slow down all."""

_KEY_BYTES = 16
_READ_AT_ONCE = 4096


def key_of_text(text: str) -> bytes:
    """The hash under which a text's vector is kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


@dataclass(slots=True)
class VectorFile:
    """The vectors of an encoder in a file, and which record is whose; `dimensions` is 0 at first.

    `append_to` is set while the file is open to be added to.
    """

    path: Path
    encoder: str
    dimensions: int = 0
    _rows: dict[bytes, int] = field(default_factory=dict)
    _records: int = 0
    _append_to: FileIO | None = None
    _clock: Clock = time.monotonic
    _synced_at: float = 0.0

    @classmethod
    def read(cls, path: Path, encoder: str) -> VectorFile:
        """What a file holds; an empty one where there is none."""
        vectors = cls(path, encoder)
        with file_problems(path):
            vectors._read_anew()
        return vectors

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors under these keys, `(keys, dimensions)`; `KeyError` where one has none."""
        if not keys:
            return np.zeros((0, self.dimensions), np.float32)
        rows = [self._rows[key] for key in keys]
        with file_problems(self.path):
            records = self._mapped()
            held: bytes = records["key"][rows].tobytes()
            vectors: Vectors = records["vector"][rows]
        if held != b"".join(keys):
            raise self._changed()
        return vectors

    @asynccontextmanager
    async def appending(self, note: Note, is_stopped: Callable[[], bool]) -> AsyncIterator[None]:
        """Open the file to be added to; another process that adds to it is waited for meanwhile.

        `Stopped` where that is stopped.
        """
        _head(self.encoder, MOST_DIMENSIONS)  # fails before anything is paid for
        async with AsyncExitStack() as stack:
            with file_problems(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = self.path.with_name(f".{self.path.name}")
                problem = f"another process encodes texts for {self.path}; waiting for it"
                waiting = exclusive_in_loop(lock, is_stopped, lambda _: note(problem))
                await stack.enter_async_context(waiting)
                self._read_anew()
                file = stack.enter_context(self.path.open("ab", buffering=0))
                size = HEAD + self._records * _record(self.dimensions).itemsize
                file.truncate(size if self.dimensions else 0)  # what a kill left of a record
            self._append_to, self._synced_at = file, self._clock()
            try:
                yield
            finally:
                self._append_to = None
                with file_problems(self.path):
                    os.fsync(file.fileno())

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors, a row each; they are in the file when this returns.

        Where they cannot be written, the file is as it was before, and others may be added.
        """
        file, dimensions = self._append_to, vectors.shape[1]
        if file is None:
            raise RuntimeError(f"{self.path} is not open to be added to; use `appending`")
        self._check_length(dimensions)
        records = np.empty(len(keys), _record(dimensions))
        records["key"] = np.frombuffer(b"".join(keys), f"V{_KEY_BYTES}")
        records["vector"] = vectors
        records["check"] = list(_checks(records))
        head = b"" if self.dimensions else _head(self.encoder, dimensions)
        with file_problems(self.path):
            end = _append(file, head + records.tobytes())
            self._records = (end - HEAD) // records.dtype.itemsize
            self.dimensions = dimensions
            first = self._records - len(keys)
            self._rows |= {key: first + at for at, key in enumerate(keys)}
            if self._clock() - self._synced_at >= SYNC_SECONDS:
                os.fsync(file.fileno())
                self._synced_at = self._clock()

    def _check_length(self, dimensions: int) -> None:
        """Refuse vectors that the file cannot hold, or that others in it cannot be compared to."""
        if not 0 < dimensions <= MOST_DIMENSIONS:
            problem = f"vectors have 1 to {MOST_DIMENSIONS:,} numbers, new ones {dimensions:,}"
            raise BadInput(f"{self.path}: {problem}; use another encoder")
        if self.dimensions and dimensions != self.dimensions:
            problem = f"its vectors have {self.dimensions:,} numbers, new ones {dimensions:,}"
            raise BadInput(
                f"{self.path}: {problem}; if another encoder bears that name now, move it away"
            )

    def _read_anew(self) -> None:
        self.dimensions, self._records, self._rows = 0, 0, {}
        if not self.path.exists():
            return
        check_regular(self.path)
        with self.path.open("rb") as file:
            self.dimensions = _dimensions(self.path, file.read(HEAD), self.encoder)
        size = max(0, self.path.stat().st_size - HEAD)
        self._records = size // _record(self.dimensions).itemsize if self.dimensions else 0
        records = self._mapped() if self._records else ()
        for start in range(0, len(records), _READ_AT_ONCE):
            some = np.array(records[start : start + _READ_AT_ONCE])
            for at, check in enumerate(_checks(some)):
                if check == some["check"][at]:
                    self._rows[some["key"][at].tobytes()] = start + at

    def _mapped(self) -> Any:
        """The records, which are read from the disk where they are looked at."""
        record, shape = _record(self.dimensions), (self._records,)
        try:
            return np.memmap(self.path, dtype=record, mode="r", offset=HEAD, shape=shape)
        except ValueError:  # it is shorter than when it was read
            raise self._changed() from None

    def _changed(self) -> BadInput:
        return BadInput(f"{self.path}: it was changed meanwhile; run the command again")


def _record(dimensions: int) -> np.dtype[Any]:
    return np.dtype([("key", f"V{_KEY_BYTES}"), ("check", "<u4"), ("vector", "<f4", (dimensions,))])


def _append(file: FileIO, content: bytes) -> int:
    """Write at the end of a file, all or nothing; where it then ends."""
    border = file.seek(0, os.SEEK_END)
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except BaseException:  # of Ctrl-C too, no part of a record stays, on which others would follow
        file.truncate(border)
        raise
    return border + len(content)


def _checks(records: Any) -> Iterable[int]:
    """The checksum of each record, over its key and its vector."""
    keys, vectors = records["key"], records["vector"]
    return (
        zlib.crc32(vectors[at].tobytes(), zlib.crc32(keys[at].tobytes()))
        for at in range(len(records))
    )


def _head(encoder: str, dimensions: int) -> bytes:
    line = json.dumps({"format": FORMAT, "encoder": encoder, "dimensions": dimensions}).encode()
    if len(line) >= HEAD:
        raise BadInput(f"the encoder's name and address are longer than {HEAD:,} bytes")
    return line.ljust(HEAD - 1) + b"\n"


def _dimensions(path: Path, head: bytes, encoder: str) -> int:
    """The length of the vectors of a file; 0 where a kill cut off its first line."""
    if len(head) < HEAD:
        return 0
    try:
        values = json.loads(head)
        dimensions = count(values["dimensions"]) or 0
        is_ours = values["format"] == FORMAT and 0 < dimensions <= MOST_DIMENSIONS
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise BadInput(f"{path}: no vectors that labeler keeps; move it away")
    if values.get("encoder") != encoder:
        whose = f"{values.get('encoder')!r:.100}"
        raise BadInput(f"{path}: the vectors of another encoder, {whose}; move it away")
    return dimensions
