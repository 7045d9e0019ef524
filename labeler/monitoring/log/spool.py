"""Rows of a log on disk, in parts of which each has all rows of some users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from labeler.files.temporary import scratch_file
from labeler.monitoring.log.rows import PARTS, ROW, Rows

AT_ONCE = 1 << 17
"""Rows that are worth reading together."""


class _Segment(NamedTuple):
    """Where rows of one part stand in the file, and the texts of their queries below them."""

    start: int
    rows: int
    texts: int


@dataclass
class Spool:
    """A scratch file to which rows are added, and from which a part is read at a time."""

    _stack: ExitStack = field(default_factory=ExitStack)
    _segments: dict[int, list[_Segment]] = field(default_factory=dict)
    _file: BinaryIO | None = None
    _size: int = 0

    def _opened(self) -> BinaryIO:
        if self._file is None:
            path: Path = self._stack.enter_context(scratch_file())
            self._file = self._stack.enter_context(path.open("w+b"))
        return self._file

    def add(self, rows: Rows, texts: Sequence[str]) -> None:
        """Add rows, whose `text` counts from 0 in these texts."""
        file = self._opened()
        file.seek(self._size)
        order = np.argsort(rows["part"], kind="stable")
        ends = np.searchsorted(rows["part"][order], np.arange(PARTS + 1))
        for part in range(PARTS):
            own = rows[order[ends[part] : ends[part + 1]]]
            if len(own):
                numbers, own["text"] = _renumbered(own["text"])
                words = "\n".join(texts[number] for number in numbers).encode("utf-8", "replace")
                self._segments.setdefault(part, []).append(
                    _Segment(self._size, len(own), len(words))
                )
                self._size += file.write(own.tobytes()) + file.write(words)

    def parts(self) -> Iterator[tuple[Rows, list[str]]]:
        """The rows of some users at a time in the order in which they were added, and their texts.

        Small parts are read together.
        """
        held: list[_Segment] = []
        for part in sorted(self._segments):
            held += self._segments[part]
            if sum(segment.rows for segment in held) >= AT_ONCE:
                yield self._part(sorted(held))
                held = []
        if held:
            yield self._part(sorted(held))

    def _part(self, segments: Sequence[_Segment]) -> tuple[Rows, list[str]]:
        file, held = self._opened(), []
        numbers: dict[str, int] = {}
        for start, count, texts in segments:
            file.seek(start)
            rows = np.frombuffer(file.read(count * ROW.itemsize), dtype=ROW).copy()
            raw = file.read(texts).decode("utf-8")
            own = [numbers.setdefault(text, len(numbers)) for text in raw.split("\n")]
            rows["text"] = np.array([*own, -1], dtype=np.int32)[rows["text"]]
            held.append(rows)
        return np.concatenate(held), list(numbers)

    def close(self) -> None:
        """Remove the file."""
        self._stack.close()


def _renumbered(texts: Rows) -> tuple[list[int], Rows]:
    """The texts that occur, and the number of each row's among them; -1 stays -1."""
    numbers, codes = np.unique(texts, return_inverse=True)
    has_none = bool(len(numbers)) and numbers[0] == -1
    return numbers[int(has_none) :].tolist(), codes.astype(np.int32) - int(has_none)
