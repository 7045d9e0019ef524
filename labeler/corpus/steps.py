"""How far the reading of files has come: a step for each file, and more for large ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from labeler.messages import Advance

_BYTES_OF_A_STEP = 1 << 22


class FileSteps:
    """Counts the steps of files; a file of rows has one more for each four megabytes."""

    def __init__(self, files: Sequence[Path], advance: Advance) -> None:
        self._sizes = [_steps_of(path) for path in files]
        self._total = sum(self._sizes)
        self._advance = advance
        self._file = self._done = self._characters = 0

    def passed(self, characters: int) -> None:
        """Count what was read of a file."""
        before = self._characters // _BYTES_OF_A_STEP
        self._characters += characters
        inside = min(self._characters // _BYTES_OF_A_STEP, self._sizes[self._file] - 1)
        if inside > before:
            self._advance(self._done + inside, self._total)

    def end_file(self) -> None:
        """Count a file that was read, whether there was anything in it or not."""
        self._done += self._sizes[self._file]
        self._file, self._characters = self._file + 1, 0
        self._advance(self._done, self._total)


def _steps_of(path: Path) -> int:
    with suppress(OSError):
        return 1 + path.stat().st_size // _BYTES_OF_A_STEP
    return 1
