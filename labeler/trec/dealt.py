"""Pieces of bytes laid aside in a temporary file, to be read again part by part."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from labeler.files.read import file_problems

PARTS = 256
"""So many parts a file is dealt out to."""


class Dealt:
    """The pieces of `PARTS` parts, in one file, each part's in the order in which they came."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._end = file, 0
        self._places = [array("q") for _ in range(PARTS)]  # starts and sizes in turn
        self.sizes = [0] * PARTS

    def add(self, part: int, piece: bytes) -> None:
        """One more piece of a part."""
        self._file.write(piece)
        self._places[part].extend((self._end, len(piece)))
        self._end += len(piece)
        self.sizes[part] += len(piece)

    def neighbours(self, size: int) -> Iterator[list[int]]:
        """The parts that hold something, as many together as have about `size` bytes."""
        parts, total = list[int](), 0
        for part in filter(self.sizes.__getitem__, range(PARTS)):
            parts.append(part)
            total += self.sizes[part]
            if total >= size:
                yield parts
                parts, total = [], 0
        if parts:
            yield parts

    def pieces(self, parts: Sequence[int]) -> Iterator[bytes]:
        """The pieces of some parts."""
        for part in parts:
            places = self._places[part]
            for start, size in zip(places[::2], places[1::2], strict=True):
                self._file.seek(start)
                yield self._file.read(size)


@contextmanager
def dealing() -> Iterator[Dealt]:
    """Parts without a piece yet; their file is gone at the end.

    Where it cannot be written, as the disk is full, the error names the folder.
    """
    folder = Path(tempfile.gettempdir())
    with file_problems(folder), tempfile.TemporaryFile(prefix="labeler-") as file:
        yield Dealt(file)
