"""The parts of a `corpus.jsonl`: so many lines each, known by the hash of what is in them.

What is derived of a part, as an index, holds for as long as the part is what it was: documents that
are added behind it change nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from labeler.collection.corpus import document_in
from labeler.data import Document
from labeler.errors import BadInput
from labeler.files.jsonl import row_of_line
from labeler.files.read import byte_chunks, numbered_bytes
from labeler.messages import Advance

LINES_OF_A_PART = 1 << 16

_READ_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """The SHA-256 of a corpus and of each of its parts, and how many lines it has."""

    path: Path
    sha256: str
    parts: tuple[str, ...]
    lines: int
    lines_of_a_part: int = LINES_OF_A_PART

    @classmethod
    def of(
        cls,
        path: Path,
        lines_of_a_part: int = LINES_OF_A_PART,
        advance: Advance = lambda _done, _total: None,
    ) -> CorpusParts:
        """Read a corpus; `advance` counts its bytes."""
        whole, several, size = hashlib.sha256(), _PartHashes(lines_of_a_part), path.stat().st_size
        for number, chunk in enumerate(byte_chunks(path, _READ_AT_ONCE), start=1):
            whole.update(chunk)
            several.add(chunk)
            advance(min(number * _READ_AT_ONCE, size), size)
        parts = several.close()
        return cls(path, whole.hexdigest(), parts, several.lines, lines_of_a_part)

    def documents(
        self,
        parts: Container[int],
        shaped: Callable[[Document], Document] = lambda document: document,
    ) -> Iterator[tuple[int, Iterator[Document]]]:
        """The documents of some parts, part by part in their order; others are not parsed.

        `BadInput` says so at the end of a part that is not what it was, or not there any more.
        """
        size, passed = self.lines_of_a_part, 0
        for part, lines in groupby(numbered_bytes(self.path), lambda line: (line[0] - 1) // size):
            passed = part + 1
            if part in parts:
                yield part, map(shaped, self._documents_in(part, lines))
        if passed < len(self.parts):
            raise self._changed()

    def _documents_in(self, part: int, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
        content = hashlib.sha256()
        for number, raw in lines:
            content.update(raw)
            row = row_of_line(self.path, number, raw)
            if row is not None:
                yield document_in(self.path, number, row)
        if self.parts[part : part + 1] != (content.hexdigest(),):
            raise self._changed()

    def _changed(self) -> BadInput:
        return BadInput(f"{self.path}: it was changed meanwhile; run the command again")


class _PartHashes:
    """Hashes each so many lines of a file that comes in chunks."""

    def __init__(self, lines_of_a_part: int) -> None:
        self._size = lines_of_a_part
        self._hash, self._in_part = hashlib.sha256(), 0
        self._last = b""
        self._ended: list[str] = []
        self.lines = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        start = 0
        while self._in_part + chunk.count(b"\n", start) >= self._size:
            end = start
            for _ in range(self._size - self._in_part):
                end = chunk.index(b"\n", end) + 1
            self._update(chunk[start:end])
            self._end_part()
            start = end
        self._update(chunk[start:])

    def close(self) -> tuple[str, ...]:
        """The hashes of all parts; a last line may have no newline."""
        if self._last:
            self._end_part()
        return tuple(self._ended)

    def _update(self, data: bytes) -> None:
        self._hash.update(data)
        self._in_part += data.count(b"\n")
        self._last = data[-1:] or self._last

    def _end_part(self) -> None:
        self.lines += self._in_part + (self._last != b"\n")
        self._ended.append(self._hash.hexdigest())
        self._hash, self._in_part, self._last = hashlib.sha256(), 0, b""
